package nlb

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"golang.org/x/sync/errgroup"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

const (
	// listPage is the most objects that a page of Elastic Load Balancing has.
	listPage = 400
	// tagsAtOnce is the most objects that DescribeTags and AddTags take.
	tagsAtOnce = 20
	// readsAtOnce bounds the calls that reading one load balancer makes side by side.
	readsAtOnce = 4
)

// readOne reads one Service's load balancer past the snapshot: with all its settings, or only what exists.
func (s *Store) readOne(ctx context.Context, key lbcommon.Key, full bool) (err error) {
	s.mu.Lock()
	doubted := s.doubted[serviceName(key)]
	delete(s.doubted, serviceName(key)) // a write that fails from now on is in doubt again
	if doubted {
		s.listedAt = s.listedAt.Add(-listAge) // something may exist that no list has shown yet
	}
	s.mu.Unlock()
	defer func() {
		if err != nil && doubted {
			s.doubt(key)
		}
	}()
	if err := s.lists(ctx); err != nil {
		return err
	}
	// What a list showed a moment ago can be deleted, and what it did not show can be created. That nothing
	// is left, or how something is set, takes a read of its own.
	if arn, ok := s.justListed(key); ok && (arn == "") == full {
		return s.readRest(ctx, key, arn, full)
	}
	arn, err := s.readBalancer(ctx, key)
	if err != nil {
		return err
	}
	if arn != "" {
		if err := s.readGroups(ctx, arn); err != nil {
			return err
		}
	}
	return s.readRest(ctx, key, arn, full)
}

// justListed returns the ARN of the Service's load balancer, "" for none, if the shared lists showed it a
// moment ago. Creating one that they do not show yet is refused, or answered with that one.
func (s *Store) justListed(key lbcommon.Key) (arn string, ok bool) {
	recent := s.listedWithin(confirmAge)
	s.mu.Lock()
	defer s.mu.Unlock()
	arn = s.find(key)
	return arn, recent
}

// readBalancer reads the load balancer itself and returns its ARN, or "" if there is none.
func (s *Store) readBalancer(ctx context.Context, key lbcommon.Key) (string, error) {
	s.mu.Lock()
	arn := s.find(key)
	known, before := s.balancers[arn], s.writes
	s.mu.Unlock()
	in := &elbv2.DescribeLoadBalancersInput{LoadBalancerArns: []string{arn}}
	if arn == "" {
		in = &elbv2.DescribeLoadBalancersInput{Names: []string{DefaultName(key)}}
	}
	out, err := s.options.API.DescribeLoadBalancers(ctx, in)
	err = awserr.Wrap("DescribeLoadBalancers", err)
	found := err == nil && len(out.LoadBalancers) > 0 && out.LoadBalancers[0].Type == types.LoadBalancerTypeEnumNetwork
	switch {
	case cloudapi.Is(err, cloudapi.NotFound), err == nil && !found:
		if arn == "" || !known.made.IsZero() && s.options.Clock.Since(known.made) < settleTime {
			return arn, nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.balancers, arn)
		return "", nil
	case err != nil:
		return "", err
	}
	b := toBalancer(out.LoadBalancers[0])
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.balancers[b.ARN]; old.writtenAt <= before {
		old.Balancer = b
		s.balancers[b.ARN] = old
	}
	return b.ARN, nil
}

// readGroups reads the target groups of a load balancer.
func (s *Store) readGroups(ctx context.Context, balancer string) error {
	before := s.countWrites()
	list, err := s.describeGroups(ctx, &elbv2.DescribeTargetGroupsInput{LoadBalancerArn: &balancer})
	if cloudapi.Is(err, cloudapi.NotFound) {
		return nil // it has just been made, or has just gone; what is known of it counts
	}
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range list {
		seen[g.ARN] = true
		s.takeGroup(g, before)
	}
	for arn, g := range s.groups {
		if !seen[arn] && g.writtenAt <= before && slices.Contains(g.Balancers, balancer) {
			g.Balancers = slices.DeleteFunc(slices.Clone(g.Balancers), func(b string) bool { return b == balancer })
			s.groups[arn] = g
		}
	}
	return nil
}

// readRest reads tags and, if asked, every setting of what exists.
func (s *Store) readRest(ctx context.Context, key lbcommon.Key, balancer string, full bool) error {
	s.mu.Lock()
	groups := s.groupsOf(key, balancer)
	s.mu.Unlock()
	arns := slices.Clone(groups)
	if balancer != "" {
		arns = append(arns, balancer)
	}
	if !full {
		return s.readTags(ctx, arns)
	}
	var reads errgroup.Group
	reads.SetLimit(readsAtOnce)
	if balancer != "" {
		reads.Go(func() error { return s.readListeners(ctx, balancer, true) })
		reads.Go(func() error { return s.readAttributes(ctx, balancer) })
	}
	for _, arn := range groups {
		reads.Go(func() error { return s.readTargets(ctx, arn) })
		reads.Go(func() error { return s.readGroupAttributes(ctx, arn) })
	}
	if err := reads.Wait(); err != nil {
		return err
	}
	s.mu.Lock()
	for _, l := range s.balancers[balancer].listeners {
		arns = append(arns, l.ARN)
	}
	s.mu.Unlock()
	return s.readTags(ctx, arns)
}

// readDetails reads what lists don't tell of a Service's load balancer, unless it is known.
func (s *Store) readDetails(ctx context.Context, key lbcommon.Key) error {
	now := s.options.Clock.Now()
	var work []func() error
	s.mu.Lock()
	arn := s.find(key)
	s.trust(key, arn)
	if b, ok := s.balancers[arn]; ok && (b.detailAt.IsZero() || now.Sub(b.detailAt) >= detailAge) {
		work = append(work,
			func() error { return s.readListeners(ctx, arn, false) },
			func() error { return s.readAttributes(ctx, arn) })
	}
	for _, group := range s.groupsOf(key, arn) {
		if g := s.groups[group]; g.detailAt.IsZero() || now.Sub(g.detailAt) >= detailAge {
			work = append(work, func() error { return s.readTargets(ctx, group) })
		}
	}
	s.mu.Unlock()
	var reads errgroup.Group
	reads.SetLimit(readsAtOnce)
	for _, read := range work {
		reads.Go(read)
	}
	return reads.Wait()
}

// readListeners reads the listeners of a load balancer: with what only calls of their own tell, if full.
func (s *Store) readListeners(ctx context.Context, balancer string, full bool) error {
	before, now := s.countWrites(), s.options.Clock.Now()
	pages := elbv2.NewDescribeListenersPaginator(s.options.API, &elbv2.DescribeListenersInput{LoadBalancerArn: &balancer, PageSize: aws.Int32(listPage)})
	list := []Listener{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err = awserr.Wrap("DescribeListeners", err); err != nil {
			return s.ignoreNew(balancer, err)
		}
		for _, l := range page.Listeners {
			list = append(list, toListener(l))
		}
	}
	slices.SortFunc(list, func(a, b Listener) int { return cmp.Compare(a.Port, b.Port) })
	if full {
		var reads errgroup.Group
		reads.SetLimit(readsAtOnce)
		for i := range list {
			reads.Go(func() error { return s.readListener(ctx, &list[i]) })
		}
		if err := reads.Wait(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.balancers[balancer]; r.writtenAt <= before {
		r.listeners, r.detailAt = list, now
		s.balancers[balancer] = r
	}
	return nil
}

// ignoreNew drops an error that says that there is no such load balancer, if we made it a moment ago.
func (s *Store) ignoreNew(balancer string, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := s.balancers[balancer].made
	if cloudapi.Is(err, cloudapi.NotFound) && !made.IsZero() && s.options.Clock.Since(made) < settleTime {
		return nil
	}
	return err
}

// readListener completes a listener. One that goes meanwhile stays as it is.
func (s *Store) readListener(ctx context.Context, l *Listener) error {
	if l.Protocol == string(types.ProtocolEnumTls) {
		certificates, err := s.describeCertificates(ctx, l.ARN)
		if err != nil && !cloudapi.Is(err, cloudapi.NotFound) {
			return err
		}
		l.Certificates = append(l.Certificates[:min(1, len(l.Certificates)):1], certificates...)
		l.CertificatesRead = err == nil
	}
	if l.Protocol != string(types.ProtocolEnumTcp) {
		return nil
	}
	out, err := s.options.API.DescribeListenerAttributes(ctx, &elbv2.DescribeListenerAttributesInput{ListenerArn: &l.ARN})
	if err = awserr.Wrap("DescribeListenerAttributes", err); err != nil {
		if cloudapi.Is(err, cloudapi.NotFound) {
			return nil
		}
		return err
	}
	l.Attributes = map[string]string{}
	for _, a := range out.Attributes {
		l.Attributes[aws.ToString(a.Key)] = aws.ToString(a.Value)
	}
	return nil
}

// readAttributes reads the attributes of a load balancer.
func (s *Store) readAttributes(ctx context.Context, balancer string) error {
	before := s.countWrites()
	out, err := s.options.API.DescribeLoadBalancerAttributes(ctx, &elbv2.DescribeLoadBalancerAttributesInput{LoadBalancerArn: &balancer})
	if err = awserr.Wrap("DescribeLoadBalancerAttributes", err); err != nil {
		return s.ignoreNew(balancer, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.balancers[balancer]; r.writtenAt <= before {
		r.attributes = attributeMap(out.Attributes)
		s.balancers[balancer] = r
	}
	return nil
}

// readTargets reads the targets of a target group. A group that is gone has none.
func (s *Store) readTargets(ctx context.Context, group string) error {
	before, now := s.countWrites(), s.options.Clock.Now()
	out, err := s.options.API.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: &group})
	if err = awserr.Wrap("DescribeTargetHealth", err); err != nil {
		return s.groupMayBeGone(group, err)
	}
	targets := map[Target]types.TargetHealthStateEnum{}
	for _, d := range out.TargetHealthDescriptions {
		if d.Target != nil && d.TargetHealth != nil {
			targets[Target{ID: aws.ToString(d.Target.Id), Port: aws.ToInt32(d.Target.Port)}] = d.TargetHealth.State
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.groups[group]; ok && r.writtenAt <= before {
		r.Targets, r.detailAt = targets, now
		s.groups[group] = r
	}
	return nil
}

func (s *Store) readGroupAttributes(ctx context.Context, group string) error {
	before := s.countWrites()
	out, err := s.options.API.DescribeTargetGroupAttributes(ctx, &elbv2.DescribeTargetGroupAttributesInput{TargetGroupArn: &group})
	if err = awserr.Wrap("DescribeTargetGroupAttributes", err); err != nil {
		return s.groupMayBeGone(group, err)
	}
	attributes := map[string]string{}
	for _, a := range out.Attributes {
		attributes[aws.ToString(a.Key)] = aws.ToString(a.Value)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.groups[group]; ok && r.writtenAt <= before {
		r.Attributes = attributes
		s.groups[group] = r
	}
	return nil
}

// groupMayBeGone forgets a target group that AWS says is gone, unless we made it a moment ago.
func (s *Store) groupMayBeGone(group string, err error) error {
	if !cloudapi.Is(err, cloudapi.NotFound) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if made := s.groups[group].made; made.IsZero() || s.options.Clock.Since(made) >= settleTime {
		delete(s.groups, group)
	}
	return nil
}

// readTags reads the tags of objects, as many at once as AWS allows. When one of them is gone,
// AWS answers for none; then each is asked about alone.
func (s *Store) readTags(ctx context.Context, arns []string) error {
	var reads errgroup.Group
	reads.SetLimit(readsAtOnce)
	for chunk := range slices.Chunk(arns, tagsAtOnce) {
		reads.Go(func() error { return s.readTagsOf(ctx, chunk) })
	}
	return reads.Wait()
}

func (s *Store) readTagsOf(ctx context.Context, arns []string) error {
	now := s.options.Clock.Now()
	out, err := s.options.API.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: arns})
	err = awserr.Wrap("DescribeTags", err)
	switch {
	case cloudapi.Is(err, cloudapi.NotFound) && len(arns) == 1:
		return nil
	case cloudapi.Is(err, cloudapi.NotFound):
		half := len(arns) / 2
		return errors.Join(s.readTagsOf(ctx, arns[:half]), s.readTagsOf(ctx, arns[half:]))
	case err != nil:
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range out.TagDescriptions {
		tags := map[string]string{}
		for _, tag := range d.Tags {
			tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
		}
		s.tags[aws.ToString(d.ResourceArn)] = tagRecord{tags: tags, readAt: now}
	}
	return nil
}
