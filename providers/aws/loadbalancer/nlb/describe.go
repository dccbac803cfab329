package nlb

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

const (
	// listPage is the largest page of Elastic Load Balancing.
	listPage = 400
	// tagsAtOnce is the maximum number of objects in DescribeTags and AddTags.
	tagsAtOnce = 20
	// readsAtOnce bounds the parallel calls that read one load balancer.
	readsAtOnce = 4
)

// listBalancers returns all network load balancers, and reads the unknown tags of those in the VPC.
func (s *Store) listBalancers(ctx context.Context) ([]model.Balancer, error) {
	pages := elbv2.NewDescribeLoadBalancersPaginator(s.options.API, &elbv2.DescribeLoadBalancersInput{
		PageSize: aws.Int32(listPage),
	})
	var list []model.Balancer
	var arns []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("DescribeLoadBalancers", err)
		}
		for _, in := range page.LoadBalancers {
			if in.Type != types.LoadBalancerTypeEnumNetwork {
				continue
			}
			b := toBalancer(in)
			list = append(list, b)
			if b.VPC == s.options.VPC && !s.tags.Fresh(b.ARN) {
				arns = append(arns, b.ARN)
			}
		}
	}
	slices.Sort(arns)
	return list, s.readTags(ctx, arns)
}

// listGroups returns all target groups, and reads the unknown tags of orphans in the VPC: those in use are
// found through their load balancer.
func (s *Store) listGroups(ctx context.Context) ([]model.TargetGroup, error) {
	list, err := s.describeGroups(ctx, &elbv2.DescribeTargetGroupsInput{PageSize: aws.Int32(listPage)})
	if err != nil {
		return nil, err
	}
	var arns []string
	for _, g := range list {
		if len(g.Balancers) == 0 && g.VPC == s.options.VPC && !s.tags.Fresh(g.ARN) {
			arns = append(arns, g.ARN)
		}
	}
	slices.Sort(arns)
	return list, s.readTags(ctx, arns)
}

func (s *Store) describeGroups(ctx context.Context, in *elbv2.DescribeTargetGroupsInput) ([]model.TargetGroup, error) {
	pages := elbv2.NewDescribeTargetGroupsPaginator(s.options.API, in)
	return awserr.Collect(ctx, "DescribeTargetGroups", pages,
		func(page *elbv2.DescribeTargetGroupsOutput) []model.TargetGroup {
			return awserr.Convert(page.TargetGroups, toGroup)
		})
}

// describeListeners returns the listeners of a load balancer by port, without details that need a call for
// each.
func (s *Store) describeListeners(ctx context.Context, balancer string) ([]model.Listener, error) {
	pages := elbv2.NewDescribeListenersPaginator(s.options.API, &elbv2.DescribeListenersInput{
		LoadBalancerArn: &balancer, PageSize: aws.Int32(listPage),
	})
	list, err := awserr.Collect(ctx, "DescribeListeners", pages,
		func(page *elbv2.DescribeListenersOutput) []model.Listener {
			return awserr.Convert(page.Listeners, toListener)
		})
	if err != nil {
		return nil, err
	}
	sorting.Func(list, func(a, b model.Listener) int { return cmp.Compare(a.Port, b.Port) })
	return list, nil
}

// describeFullListeners returns the listeners of a load balancer with their certificates and attributes.
func (s *Store) describeFullListeners(ctx context.Context, balancer string) ([]model.Listener, error) {
	list, err := s.describeListeners(ctx, balancer)
	if err != nil {
		return nil, err
	}
	work, ctx := newReads(ctx)
	for i := range list {
		work.Go(func() error { return s.completeListener(ctx, &list[i]) })
	}
	return list, work.Wait()
}

// completeListener adds certificates and attributes. A listener that is deleted in the meantime is returned
// unchanged.
func (s *Store) completeListener(ctx context.Context, l *model.Listener) error {
	switch l.Protocol {
	case model.ProtocolTLS:
		certificates, err := s.describeCertificates(ctx, l.ARN)
		if err != nil {
			return cloudapi.IgnoreNotFound(err)
		}
		l.Certificates = append(l.Certificates[:min(1, len(l.Certificates)):1], certificates...)
		l.CertificatesRead = true
	case model.ProtocolTCP:
		out, err := s.options.API.DescribeListenerAttributes(ctx, &elbv2.DescribeListenerAttributesInput{ListenerArn: &l.ARN})
		if err != nil {
			return cloudapi.IgnoreNotFound(awserr.Wrap("DescribeListenerAttributes", err))
		}
		l.Attributes = toMap(out.Attributes, func(a types.ListenerAttribute) (key, value *string) { return a.Key, a.Value })
	}
	return nil
}

// describeCertificates returns the additional certificates of a listener, sorted.
func (s *Store) describeCertificates(ctx context.Context, listener string) ([]string, error) {
	pages := elbv2.NewDescribeListenerCertificatesPaginator(s.options.API, &elbv2.DescribeListenerCertificatesInput{
		ListenerArn: &listener, PageSize: aws.Int32(listPage),
	})
	var list []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("DescribeListenerCertificates", err)
		}
		for _, c := range page.Certificates {
			if !aws.ToBool(c.IsDefault) {
				list = append(list, aws.ToString(c.CertificateArn))
			}
		}
	}
	slices.Sort(list)
	return list, nil
}

func (s *Store) describeAttributes(ctx context.Context, balancer string) (map[string]string, error) {
	out, err := s.options.API.DescribeLoadBalancerAttributes(ctx, &elbv2.DescribeLoadBalancerAttributesInput{
		LoadBalancerArn: &balancer,
	})
	if err != nil {
		return nil, awserr.Wrap("DescribeLoadBalancerAttributes", err)
	}
	return toMap(out.Attributes, func(a types.LoadBalancerAttribute) (key, value *string) { return a.Key, a.Value }), nil
}

func (s *Store) describeGroupAttributes(ctx context.Context, group string) (map[string]string, error) {
	out, err := s.options.API.DescribeTargetGroupAttributes(ctx, &elbv2.DescribeTargetGroupAttributesInput{
		TargetGroupArn: &group,
	})
	if err != nil {
		return nil, awserr.Wrap("DescribeTargetGroupAttributes", err)
	}
	return toMap(out.Attributes, func(a types.TargetGroupAttribute) (key, value *string) { return a.Key, a.Value }), nil
}

func (s *Store) describeTargets(ctx context.Context, group string) (model.Health, error) {
	out, err := s.options.API.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: &group})
	if err != nil {
		return nil, awserr.Wrap("DescribeTargetHealth", err)
	}
	health := model.Health{}
	for _, d := range out.TargetHealthDescriptions {
		if d.Target != nil && d.TargetHealth != nil {
			health[model.Target{ID: aws.ToString(d.Target.Id), Port: aws.ToInt32(d.Target.Port)}] = d.TargetHealth.State
		}
	}
	return health, nil
}

// describeTags returns the tags of objects by ARN. If one of them does not exist, AWS rejects the whole call,
// and the objects are read in halves.
func (s *Store) describeTags(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	out, err := s.options.API.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: arns})
	err = awserr.Wrap("DescribeTags", err)
	switch {
	case cloudapi.Is(err, cloudapi.NotFound) && len(arns) == 1:
		return nil, nil
	case cloudapi.Is(err, cloudapi.NotFound):
		half := len(arns) / 2
		read, err := s.describeTags(ctx, arns[:half])
		others, otherErr := s.describeTags(ctx, arns[half:])
		if read == nil {
			return others, errors.Join(err, otherErr)
		}
		maps.Copy(read, others)
		return read, errors.Join(err, otherErr)
	case err != nil:
		return nil, err
	}
	read := make(map[string]map[string]string, len(out.TagDescriptions))
	for _, d := range out.TagDescriptions {
		read[aws.ToString(d.ResourceArn)] = toMap(d.Tags, func(t types.Tag) (key, value *string) { return t.Key, t.Value })
	}
	return read, nil
}

// toMap returns a list of pairs as a map.
func toMap[T any](list []T, pair func(T) (key, value *string)) map[string]string {
	m := make(map[string]string, len(list))
	for _, item := range list {
		key, value := pair(item)
		m[aws.ToString(key)] = aws.ToString(value)
	}
	return m
}
