package observe

import (
	"context"
	"slices"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// refresh makes sure that the shared lists are fresh.
func (s *Store) refresh(ctx context.Context) error {
	if err := s.balancers.Refresh(ctx); err != nil {
		return err
	}
	return s.groups.Refresh(ctx)
}

// readService reads one Service's load balancer, bypassing the snapshot: with all its settings, or only the
// existing objects.
func (s *Store) readService(ctx context.Context, key lbcommon.Key, full bool) error {
	r := s.state.Begin()
	if err := s.refresh(ctx); err != nil {
		return err
	}
	arn := s.findBalancer(key)
	// An object in a recent list can be deleted, and one that the list lacks can be created: if it exists after
	// all, AWS rejects the creation or returns that object. Only another read proves that nothing is left, or the
	// value of a setting.
	if !s.justListed() || (arn == "") != full {
		var err error
		if arn, err = s.readBalancer(ctx, arn, key); err != nil {
			return err
		}
		if arn != "" {
			if err := s.readGroups(ctx, arn); err != nil {
				return err
			}
		}
	}
	if err := s.readSettings(ctx, key, arn, full); err != nil {
		return err
	}
	s.state.Confirm(serviceName(key), r)
	return nil
}

// justListed reports whether the shared lists were read a moment ago.
func (s *Store) justListed() bool {
	balancers, balancersListed := s.balancers.Listed()
	groups, groupsListed := s.groups.Listed()
	now := s.options.Clock.Now()
	return balancersListed && groupsListed && now.Sub(balancers.At()) < confirmAge && now.Sub(groups.At()) < confirmAge
}

// readBalancer reads the load balancer itself and returns its ARN, or "" if there is none.
func (s *Store) readBalancer(ctx context.Context, arn string, key lbcommon.Key) (string, error) {
	in := &elbv2.DescribeLoadBalancersInput{LoadBalancerArns: []string{arn}}
	if arn == "" {
		in = &elbv2.DescribeLoadBalancersInput{Names: []string{model.DefaultName(key)}}
	}
	r := s.state.Begin()
	out, err := s.api.DescribeLoadBalancers(ctx, in)
	err = awserr.Wrap("DescribeLoadBalancers", err)
	switch {
	case err != nil && !cloudapi.Is(err, cloudapi.NotFound):
		return "", err
	case err == nil && len(out.LoadBalancers) > 0 && out.LoadBalancers[0].Type == types.LoadBalancerTypeEnumNetwork:
		b := ToBalancer(out.LoadBalancers[0])
		s.balancers.Merge(r, b.ARN, b)
		return b.ARN, nil
	case arn == "":
		return "", nil
	}
	s.balancers.MergeMissing(r, arn)
	if _, exists := s.balancers.Get(arn); exists { // it settles
		return arn, nil
	}
	return "", nil
}

// readGroups reads the target groups of a load balancer.
func (s *Store) readGroups(ctx context.Context, balancer string) error {
	r := s.state.Begin()
	list, err := s.describeGroups(ctx, &elbv2.DescribeTargetGroupsInput{LoadBalancerArn: &balancer})
	if cloudapi.Is(err, cloudapi.NotFound) {
		return nil // The load balancer was created or deleted a moment ago; the snapshot takes precedence.
	}
	if err != nil {
		return err
	}
	for _, g := range list {
		s.groups.Merge(r, g.ARN, g)
	}
	for _, g := range s.groups.Lookup(indexBalancer + balancer) {
		if !slices.ContainsFunc(list, func(read model.TargetGroup) bool { return read.ARN == g.ARN }) {
			s.groups.Merge(r, g.ARN, g.Unlinked(balancer))
		}
	}
	return nil
}

// readSettings reads the tags and, if full, every setting of the existing objects.
func (s *Store) readSettings(ctx context.Context, key lbcommon.Key, balancer string, full bool) error {
	groups := s.groupsOf(key, balancer)
	arns := slices.Clone(groups)
	if balancer != "" {
		arns = append(arns, balancer)
	}
	if !full {
		return s.readTags(ctx, arns)
	}
	work, workCtx := newReads(ctx)
	if balancer != "" {
		work.Go(func() error { return s.readListeners(workCtx, balancer, s.describeFullListeners) })
		work.Go(func() error { return s.readAttributes(workCtx, balancer) })
	}
	for _, arn := range groups {
		work.Go(func() error { return s.ReadTargets(workCtx, arn) })
		work.Go(func() error { return s.readGroupAttributes(workCtx, arn) })
	}
	if err := work.Wait(); err != nil {
		return err
	}
	listeners, _ := s.listeners.Get(balancer)
	for _, l := range listeners {
		arns = append(arns, l.ARN)
	}
	return s.readTags(ctx, arns)
}

// readDetails reads the details of a Service's load balancer that lists lack, unless they are cached or its
// applied record proves them.
func (s *Store) readDetails(ctx context.Context, key lbcommon.Key, want *model.Desired) error {
	arn := s.findBalancer(key)
	s.prove(arn, want)
	work, ctx := newReads(ctx)
	if arn != "" && (!s.listeners.Fresh(arn) || !s.attributes.Fresh(arn)) {
		work.Go(func() error { return s.readListeners(ctx, arn, s.describeListeners) })
		work.Go(func() error { return s.readAttributes(ctx, arn) })
	}
	for _, group := range s.groupsOf(key, arn) {
		if !s.targets.Fresh(group) {
			work.Go(func() error { return s.ReadTargets(ctx, group) })
		}
	}
	return work.Wait()
}

func (s *Store) readListeners(ctx context.Context, balancer string,
	describe func(context.Context, string) ([]model.Listener, error)) error {
	return readDetail(ctx, s, s.listeners, balancer, describe, s.balancerMissing)
}

func (s *Store) readAttributes(ctx context.Context, balancer string) error {
	return readDetail(ctx, s, s.attributes, balancer, s.describeAttributes, s.balancerMissing)
}

// ReadTargets reads the targets of a target group into the snapshot. It removes a target group that does not exist.
func (s *Store) ReadTargets(ctx context.Context, group string) error {
	return readDetail(ctx, s, s.targets, group, s.describeTargets, s.groupMissing)
}

func (s *Store) readGroupAttributes(ctx context.Context, group string) error {
	return readDetail(ctx, s, s.groupAttributes, group, s.describeGroupAttributes, s.groupMissing)
}

// readDetail reads the details of one object. Missing handles its deletion.
func readDetail[T any](ctx context.Context, s *Store, t *snapshot.Table[T], arn string,
	describe func(context.Context, string) (T, error),
	missing func(r snapshot.Reading, arn string, err error) error) error {
	r := s.state.Begin()
	value, err := describe(ctx, arn)
	switch {
	case cloudapi.Is(err, cloudapi.NotFound):
		return missing(r, arn, err)
	case err != nil:
		return err
	}
	t.Merge(r, arn, value)
	return nil
}

// balancerMissing ignores that AWS does not show a load balancer yet that we created.
func (s *Store) balancerMissing(_ snapshot.Reading, arn string, err error) error {
	if s.balancers.Settling(arn) {
		return nil
	}
	return err
}

// groupMissing removes a target group that does not exist, unless it settles.
func (s *Store) groupMissing(r snapshot.Reading, arn string, _ error) error {
	s.groups.MergeMissing(r, arn)
	return nil
}
