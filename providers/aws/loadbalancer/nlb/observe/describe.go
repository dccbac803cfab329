package observe

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
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

const (
	// listPage is the largest page of Elastic Load Balancing.
	listPage = 400
	// maxConcurrentReads bounds the parallel calls that read one load balancer.
	maxConcurrentReads = 4
)

// describer makes the calls that read, and converts their responses. It is stateless.
type describer struct{ api api.ELBV2 }

// newReads returns a group of parallel reads of one load balancer.
func newReads(ctx context.Context) (*panics.Group, context.Context) {
	group, ctx := panics.WithContext(ctx)
	group.SetLimit(maxConcurrentReads)
	return group, ctx
}

// describeBalancers returns all network load balancers.
func (d describer) describeBalancers(ctx context.Context) ([]model.Balancer, error) {
	pages := elbv2.NewDescribeLoadBalancersPaginator(d.api, &elbv2.DescribeLoadBalancersInput{
		PageSize: aws.Int32(listPage),
	})
	return awserr.Collect(ctx, "DescribeLoadBalancers", pages,
		func(page *elbv2.DescribeLoadBalancersOutput) []model.Balancer {
			return api.Convert(slices.DeleteFunc(page.LoadBalancers, isNotNetwork), ToBalancer)
		})
}

func isNotNetwork(b types.LoadBalancer) bool { return b.Type != types.LoadBalancerTypeEnumNetwork }

func (d describer) describeGroups(ctx context.Context,
	in *elbv2.DescribeTargetGroupsInput) ([]model.TargetGroup, error) {
	pages := elbv2.NewDescribeTargetGroupsPaginator(d.api, in)
	return awserr.Collect(ctx, "DescribeTargetGroups", pages,
		func(page *elbv2.DescribeTargetGroupsOutput) []model.TargetGroup {
			return api.Convert(page.TargetGroups, ToGroup)
		})
}

// describeListeners returns the listeners of a load balancer by port, without details that need a call for
// each.
func (d describer) describeListeners(ctx context.Context, balancer string) ([]model.Listener, error) {
	pages := elbv2.NewDescribeListenersPaginator(d.api, &elbv2.DescribeListenersInput{
		LoadBalancerArn: &balancer, PageSize: aws.Int32(listPage),
	})
	list, err := awserr.Collect(ctx, "DescribeListeners", pages,
		func(page *elbv2.DescribeListenersOutput) []model.Listener {
			return api.Convert(page.Listeners, ToListener)
		})
	if err != nil {
		return nil, err
	}
	sorting.Func(list, func(a, b model.Listener) int { return cmp.Compare(a.Port, b.Port) })
	return list, nil
}

// describeFullListeners returns the listeners of a load balancer with their certificates and attributes.
func (d describer) describeFullListeners(ctx context.Context, balancer string) ([]model.Listener, error) {
	list, err := d.describeListeners(ctx, balancer)
	if err != nil {
		return nil, err
	}
	work, ctx := newReads(ctx)
	for i := range list {
		work.Go(func() error { return d.completeListener(ctx, &list[i]) })
	}
	return list, work.Wait()
}

// completeListener adds certificates and attributes. A listener that is deleted in the meantime is returned
// unchanged.
func (d describer) completeListener(ctx context.Context, l *model.Listener) error {
	switch l.Protocol {
	case model.ProtocolTLS:
		certificates, err := d.describeCertificates(ctx, l.ARN)
		if err != nil {
			return cloudapi.IgnoreNotFound(err)
		}
		l.Certificates = append(l.Certificates[:min(1, len(l.Certificates)):1], certificates...)
		l.CertificatesRead = true
	case model.ProtocolTCP:
		out, err := d.api.DescribeListenerAttributes(ctx, &elbv2.DescribeListenerAttributesInput{ListenerArn: &l.ARN})
		err = awserr.Wrap("DescribeListenerAttributes", err)
		if cloudapi.Is(err, cloudapi.Invalid, cloudapi.Denied) {
			// The partition lacks the call, or the policy of cloud-provider-aws does. Only the idle timeout needs it.
			l.AttributesErr = err
			return nil
		}
		if err != nil {
			return cloudapi.IgnoreNotFound(err)
		}
		l.Attributes = api.ToMap(out.Attributes, func(a types.ListenerAttribute) (*string, *string) { return a.Key, a.Value })
	}
	return nil
}

// describeCertificates returns the additional certificates of a listener, sorted.
func (d describer) describeCertificates(ctx context.Context, listener string) ([]string, error) {
	pages := elbv2.NewDescribeListenerCertificatesPaginator(d.api, &elbv2.DescribeListenerCertificatesInput{
		ListenerArn: &listener, PageSize: aws.Int32(listPage),
	})
	list, err := awserr.Collect(ctx, "DescribeListenerCertificates", pages,
		func(page *elbv2.DescribeListenerCertificatesOutput) []string {
			additional := slices.DeleteFunc(page.Certificates, func(c types.Certificate) bool { return aws.ToBool(c.IsDefault) })
			return api.Convert(additional, func(c types.Certificate) string { return aws.ToString(c.CertificateArn) })
		})
	slices.Sort(list)
	return list, err
}

func (d describer) describeAttributes(ctx context.Context, balancer string) (map[string]string, error) {
	out, err := d.api.DescribeLoadBalancerAttributes(ctx, &elbv2.DescribeLoadBalancerAttributesInput{
		LoadBalancerArn: &balancer,
	})
	if err != nil {
		return nil, awserr.Wrap("DescribeLoadBalancerAttributes", err)
	}
	return api.ToMap(out.Attributes, func(a types.LoadBalancerAttribute) (*string, *string) { return a.Key, a.Value }), nil
}

func (d describer) describeGroupAttributes(ctx context.Context, group string) (map[string]string, error) {
	out, err := d.api.DescribeTargetGroupAttributes(ctx, &elbv2.DescribeTargetGroupAttributesInput{
		TargetGroupArn: &group,
	})
	if err != nil {
		return nil, awserr.Wrap("DescribeTargetGroupAttributes", err)
	}
	return api.ToMap(out.Attributes, func(a types.TargetGroupAttribute) (*string, *string) { return a.Key, a.Value }), nil
}

func (d describer) describeTargets(ctx context.Context, group string) (model.Health, error) {
	out, err := d.api.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: &group})
	if err != nil {
		return nil, awserr.Wrap("DescribeTargetHealth", err)
	}
	health := model.Health{}
	for _, t := range out.TargetHealthDescriptions {
		if t.Target != nil && t.TargetHealth != nil {
			health[model.Target{ID: aws.ToString(t.Target.Id), Port: aws.ToInt32(t.Target.Port)}] = t.TargetHealth.State
		}
	}
	return health, nil
}

// describeTags returns the tags of objects by ARN. If one of them does not exist, AWS rejects the whole call,
// and the objects are read in halves.
func (d describer) describeTags(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	out, err := d.api.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: arns})
	err = awserr.Wrap("DescribeTags", err)
	switch {
	case cloudapi.Is(err, cloudapi.NotFound) && len(arns) == 1:
		return nil, nil
	case cloudapi.Is(err, cloudapi.NotFound):
		half := len(arns) / 2
		first, firstErr := d.describeTags(ctx, arns[:half])
		second, secondErr := d.describeTags(ctx, arns[half:])
		if first == nil {
			first = second
		}
		maps.Copy(first, second)
		return first, errors.Join(firstErr, secondErr)
	case err != nil:
		return nil, err
	}
	byARN := make(map[string]map[string]string, len(out.TagDescriptions))
	for _, o := range out.TagDescriptions {
		byARN[aws.ToString(o.ResourceArn)] = api.ToMap(o.Tags, func(t types.Tag) (*string, *string) { return t.Key, t.Value })
	}
	return byARN, nil
}
