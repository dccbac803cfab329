// Package classic is what the AWS provider knows about classic load balancers, the generation that
// a Service gets unless it asks for another. Desire says what should exist, Observe what does, and
// Diff how the one becomes the other. Each kind of object has a file of its own.
package classic

import (
	"context"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// API is the part of Elastic Load Balancing that classic load balancers need.
type API interface {
	DescribeLoadBalancers(ctx context.Context, in *elb.DescribeLoadBalancersInput, opts ...func(*elb.Options)) (*elb.DescribeLoadBalancersOutput, error)
	CreateLoadBalancer(ctx context.Context, in *elb.CreateLoadBalancerInput, opts ...func(*elb.Options)) (*elb.CreateLoadBalancerOutput, error)
	DeleteLoadBalancer(ctx context.Context, in *elb.DeleteLoadBalancerInput, opts ...func(*elb.Options)) (*elb.DeleteLoadBalancerOutput, error)
	AttachLoadBalancerToSubnets(ctx context.Context, in *elb.AttachLoadBalancerToSubnetsInput, opts ...func(*elb.Options)) (*elb.AttachLoadBalancerToSubnetsOutput, error)
	DetachLoadBalancerFromSubnets(ctx context.Context, in *elb.DetachLoadBalancerFromSubnetsInput, opts ...func(*elb.Options)) (*elb.DetachLoadBalancerFromSubnetsOutput, error)
	ApplySecurityGroupsToLoadBalancer(ctx context.Context, in *elb.ApplySecurityGroupsToLoadBalancerInput, opts ...func(*elb.Options)) (*elb.ApplySecurityGroupsToLoadBalancerOutput, error)

	DescribeLoadBalancerAttributes(ctx context.Context, in *elb.DescribeLoadBalancerAttributesInput, opts ...func(*elb.Options)) (*elb.DescribeLoadBalancerAttributesOutput, error)
	ModifyLoadBalancerAttributes(ctx context.Context, in *elb.ModifyLoadBalancerAttributesInput, opts ...func(*elb.Options)) (*elb.ModifyLoadBalancerAttributesOutput, error)
	ConfigureHealthCheck(ctx context.Context, in *elb.ConfigureHealthCheckInput, opts ...func(*elb.Options)) (*elb.ConfigureHealthCheckOutput, error)
	DescribeTags(ctx context.Context, in *elb.DescribeTagsInput, opts ...func(*elb.Options)) (*elb.DescribeTagsOutput, error)
	AddTags(ctx context.Context, in *elb.AddTagsInput, opts ...func(*elb.Options)) (*elb.AddTagsOutput, error)
	RemoveTags(ctx context.Context, in *elb.RemoveTagsInput, opts ...func(*elb.Options)) (*elb.RemoveTagsOutput, error)

	CreateLoadBalancerListeners(ctx context.Context, in *elb.CreateLoadBalancerListenersInput, opts ...func(*elb.Options)) (*elb.CreateLoadBalancerListenersOutput, error)
	DeleteLoadBalancerListeners(ctx context.Context, in *elb.DeleteLoadBalancerListenersInput, opts ...func(*elb.Options)) (*elb.DeleteLoadBalancerListenersOutput, error)
	SetLoadBalancerListenerSSLCertificate(ctx context.Context, in *elb.SetLoadBalancerListenerSSLCertificateInput, opts ...func(*elb.Options)) (*elb.SetLoadBalancerListenerSSLCertificateOutput, error)
	CreateLoadBalancerPolicy(ctx context.Context, in *elb.CreateLoadBalancerPolicyInput, opts ...func(*elb.Options)) (*elb.CreateLoadBalancerPolicyOutput, error)
	SetLoadBalancerPoliciesForBackendServer(ctx context.Context, in *elb.SetLoadBalancerPoliciesForBackendServerInput, opts ...func(*elb.Options)) (*elb.SetLoadBalancerPoliciesForBackendServerOutput, error)
	SetLoadBalancerPoliciesOfListener(ctx context.Context, in *elb.SetLoadBalancerPoliciesOfListenerInput, opts ...func(*elb.Options)) (*elb.SetLoadBalancerPoliciesOfListenerOutput, error)

	RegisterInstancesWithLoadBalancer(ctx context.Context, in *elb.RegisterInstancesWithLoadBalancerInput, opts ...func(*elb.Options)) (*elb.RegisterInstancesWithLoadBalancerOutput, error)
	DeregisterInstancesFromLoadBalancer(ctx context.Context, in *elb.DeregisterInstancesFromLoadBalancerInput, opts ...func(*elb.Options)) (*elb.DeregisterInstancesFromLoadBalancerOutput, error)
}

var _ API = api.ELB(nil)

// SharedProbe is one probe for all Services with externalTrafficPolicy: Cluster: kube-proxy's own.
type SharedProbe struct {
	Port int32
	Path string
}

// Options of a Cloud.
type Options struct {
	API     API
	VPC     string
	Cluster vpc.Cluster
	// Groups is the snapshot of security groups that all load balancers share.
	Groups *vpc.GroupStore
	// Instances are asked when AWS refuses one.
	Instances vpc.InstanceSource
	// SecurityGroup is one group for all classic load balancers (ElbSecurityGroup); "" gives each its own.
	SecurityGroup string
	// DisableIngress leaves the rules of nodes' security groups to the user (DisableSecurityGroupIngress).
	DisableIngress bool
	// SharedProbe is nil where each Service is probed at its node port.
	SharedProbe *SharedProbe
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Cloud makes classic load balancers. It is safe for concurrent use.
type Cloud struct {
	options Options
	store   *store
}

// New returns a Cloud. It makes no calls.
func New(o Options) *Cloud {
	o.Clock = clocks.OrReal(o.Clock)
	return &Cloud{options: o, store: newStore(o.API, o.Clock)}
}
