package nlb

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

func (s *Store) listBalancers(ctx context.Context) ([]Balancer, error) {
	pages := elbv2.NewDescribeLoadBalancersPaginator(s.options.API, &elbv2.DescribeLoadBalancersInput{PageSize: aws.Int32(listPage)})
	var list []Balancer
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("DescribeLoadBalancers", err)
		}
		for _, b := range page.LoadBalancers {
			if b.Type == types.LoadBalancerTypeEnumNetwork {
				list = append(list, toBalancer(b))
			}
		}
	}
	return list, nil
}

func (s *Store) listGroups(ctx context.Context) ([]TargetGroup, error) {
	return s.describeGroups(ctx, &elbv2.DescribeTargetGroupsInput{PageSize: aws.Int32(listPage)})
}

func (s *Store) describeGroups(ctx context.Context, in *elbv2.DescribeTargetGroupsInput) ([]TargetGroup, error) {
	pages := elbv2.NewDescribeTargetGroupsPaginator(s.options.API, in)
	var list []TargetGroup
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("DescribeTargetGroups", err)
		}
		for _, g := range page.TargetGroups {
			list = append(list, toGroup(g))
		}
	}
	return list, nil
}

// describeCertificates returns the certificates of a listener besides the default one, sorted.
func (s *Store) describeCertificates(ctx context.Context, listener string) ([]string, error) {
	pages := elbv2.NewDescribeListenerCertificatesPaginator(s.options.API, &elbv2.DescribeListenerCertificatesInput{ListenerArn: &listener, PageSize: aws.Int32(listPage)})
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
