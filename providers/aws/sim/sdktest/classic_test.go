package sdktest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func TestClassicLoadBalancer(t *testing.T) {
	c := newClients(t, sim.Options{})
	ctx := t.Context()
	c.launch(t, world.Machine{Name: "a"})
	subnets := subnetIDs(c.subnets(t, "elb"))
	front := c.group(t, "lb")
	c.open(t, front, 80, 30080, 10256)
	create := &elb.CreateLoadBalancerInput{
		LoadBalancerName: ptr("web"), Subnets: subnets[:2], SecurityGroups: []string{front},
		Listeners: []types.Listener{{Protocol: ptr("tcp"), LoadBalancerPort: 80, InstancePort: ptr(int32(30080))}},
		Tags:      []types.Tag{{Key: ptr("k"), Value: ptr("v")}},
	}
	dns := *must(c.elb.CreateLoadBalancer(ctx, create))(t).DNSName
	if again := *must(c.elb.CreateLoadBalancer(ctx, create))(t).DNSName; again != dns {
		t.Errorf("the same request made %s and then %s", dns, again)
	}
	name := create.LoadBalancerName
	must(c.elb.ConfigureHealthCheck(ctx, &elb.ConfigureHealthCheckInput{LoadBalancerName: name,
		HealthCheck: &types.HealthCheck{
			Target: ptr("HTTP:10256/healthz"), Interval: ptr(int32(10)), Timeout: ptr(int32(5)), HealthyThreshold: ptr(int32(2)),
			UnhealthyThreshold: ptr(int32(6))}}))(t)
	must(c.elb.RegisterInstancesWithLoadBalancer(ctx, &elb.RegisterInstancesWithLoadBalancerInput{LoadBalancerName: name,
		Instances: []types.Instance{{InstanceId: c.instances(t, &ec2.DescribeInstancesInput{})[0].InstanceId}}}))(t)
	must(c.elb.CreateLoadBalancerPolicy(ctx,
		&elb.CreateLoadBalancerPolicyInput{LoadBalancerName: name, PolicyName: ptr("proxy"),
			PolicyTypeName:   ptr("ProxyProtocolPolicyType"),
			PolicyAttributes: []types.PolicyAttribute{{AttributeName: ptr("ProxyProtocol"), AttributeValue: ptr("true")}}}))(t)
	must(c.elb.SetLoadBalancerPoliciesForBackendServer(ctx,
		&elb.SetLoadBalancerPoliciesForBackendServerInput{LoadBalancerName: name,
			InstancePort: ptr(int32(30080)), PolicyNames: []string{"proxy"}}))(t)
	must(c.elb.AttachLoadBalancerToSubnets(ctx,
		&elb.AttachLoadBalancerToSubnetsInput{LoadBalancerName: name, Subnets: subnets[2:]}))(t)
	must(c.elb.DetachLoadBalancerFromSubnets(ctx,
		&elb.DetachLoadBalancerFromSubnetsInput{LoadBalancerName: name, Subnets: subnets[:1]}))(t)
	b := must(c.elb.DescribeLoadBalancers(ctx,
		&elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{"web"}}))(t).LoadBalancerDescriptions[0]
	if *b.ListenerDescriptions[0].Listener.InstanceProtocol != "TCP" || *b.HealthCheck.Target != "HTTP:10256/healthz" ||
		len(b.Instances) != 1 ||
		b.BackendServerDescriptions[0].PolicyNames[0] != "proxy" || len(b.Subnets) != 2 || len(b.AvailabilityZones) != 2 ||
		*b.DNSName != dns {
		t.Errorf("load balancer %+v", b)
	}
	a := must(c.elb.DescribeLoadBalancerAttributes(ctx,
		&elb.DescribeLoadBalancerAttributesInput{LoadBalancerName: name}))(t).LoadBalancerAttributes
	if *a.ConnectionDraining.Timeout != 300 || *a.ConnectionSettings.IdleTimeout != 60 ||
		a.CrossZoneLoadBalancing.Enabled || len(a.AdditionalAttributes) != 1 {
		t.Errorf("attributes %+v", a)
	}
	must(c.elb.ModifyLoadBalancerAttributes(ctx, &elb.ModifyLoadBalancerAttributesInput{LoadBalancerName: name,
		LoadBalancerAttributes: &types.LoadBalancerAttributes{CrossZoneLoadBalancing: &types.CrossZoneLoadBalancing{Enabled: true}}}))(t)
	if a := must(c.elb.DescribeLoadBalancerAttributes(ctx,
		&elb.DescribeLoadBalancerAttributesInput{LoadBalancerName: name}))(t).LoadBalancerAttributes; !a.CrossZoneLoadBalancing.Enabled {
		t.Error("the attribute did not change")
	}
	must(c.elb.AddTags(ctx, &elb.AddTagsInput{LoadBalancerNames: []string{"web"}, Tags: []types.Tag{{Key: ptr("x")}}}))(t)
	must(c.elb.RemoveTags(ctx, &elb.RemoveTagsInput{LoadBalancerNames: []string{"web"},
		Tags: []types.TagKeyOnly{{Key: ptr("k")}}}))(t)
	if tags := must(c.elb.DescribeTags(ctx, &elb.DescribeTagsInput{LoadBalancerNames: []string{"web"}}))(t).TagDescriptions[0].Tags; len(tags) != 1 || *tags[0].Key != "x" {
		t.Errorf("tags %+v", tags)
	}
	if w := c.cloud.LoadBalancers(); len(w) != 1 || w[0].Listeners[0].MemberPort != 30080 ||
		len(w[0].Listeners[0].Members) != 1 {
		t.Errorf("as a portable load balancer %+v", w)
	}
	must(c.elb.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerName: name}))(t)
	must(c.elb.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerName: name}))(t)
}

func TestClassicErrors(t *testing.T) {
	c := newClients(t, sim.Options{})
	ctx := t.Context()
	subnets := subnetIDs(c.subnets(t, "elb"))
	listener := types.Listener{Protocol: ptr("TCP"), LoadBalancerPort: 80, InstancePort: ptr(int32(30080))}
	must(c.elb.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{LoadBalancerName: ptr("web"), Subnets: subnets,
		Listeners: []types.Listener{listener}}))(t)
	for _, tc := range []struct {
		name, code string
		status     int
		call       func() error
	}{
		{"another of that name", "DuplicateLoadBalancerName", 400, func() error {
			_, err := c.elb.CreateLoadBalancer(ctx, &elb.CreateLoadBalancerInput{LoadBalancerName: ptr("web"),
				Subnets: subnets[:1], Listeners: []types.Listener{listener}})
			return err
		}},
		{"no such load balancer", "LoadBalancerNotFound", 400, func() error {
			_, err := c.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{"x"}})
			return err
		}},
		{"a listener that differs", "DuplicateListener", 400, func() error {
			other := listener
			other.InstancePort = ptr(int32(1))
			_, err := c.elb.CreateLoadBalancerListeners(ctx,
				&elb.CreateLoadBalancerListenersInput{LoadBalancerName: ptr("web"), Listeners: []types.Listener{other}})
			return err
		}},
		{"all subnets detached", "InvalidConfigurationRequest", 409, func() error {
			_, err := c.elb.DetachLoadBalancerFromSubnets(ctx,
				&elb.DetachLoadBalancerFromSubnetsInput{LoadBalancerName: ptr("web"), Subnets: subnets})
			return err
		}},
		{"no such instance", "InvalidInstance", 400, func() error {
			_, err := c.elb.RegisterInstancesWithLoadBalancer(ctx,
				&elb.RegisterInstancesWithLoadBalancerInput{LoadBalancerName: ptr("web"),
					Instances: []types.Instance{{InstanceId: ptr("i-00000000000000001")}}})
			return err
		}},
		{"no such policy", "PolicyNotFound", 400, func() error {
			_, err := c.elb.DescribeLoadBalancerPolicies(ctx,
				&elb.DescribeLoadBalancerPoliciesInput{LoadBalancerName: ptr("web"), PolicyNames: []string{"x"}})
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) { wantCode(t, tc.call(), tc.code, tc.status) })
	}
}
