package sdktest

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// subnets returns the public or the internal ones.
func (c *clients) subnets(t *testing.T, role string) []ec2types.Subnet {
	t.Helper()
	return must(c.ec2.DescribeSubnets(t.Context(),
		&ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{filter("tag-key", "kubernetes.io/role/"+role)}}))(t).Subnets
}

func subnetIDs(subnets []ec2types.Subnet) []string {
	var out []string
	for _, s := range subnets {
		out = append(out, *s.SubnetId)
	}
	return out
}

type nlb struct {
	*clients
	arn, group string
}

func newNLB(t *testing.T, o sim.Options) nlb {
	t.Helper()
	c := newClients(t, o)
	c.launch(t, world.Machine{Name: "a"}, world.Machine{Name: "b"})
	subnets := c.subnets(t, "elb")
	front := c.group(t, "lb")
	c.open(t, front, 80, 30080)
	b := must(c.elbv2.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{
		Name: ptr("web"), Type: types.LoadBalancerTypeEnumNetwork, Subnets: subnetIDs(subnets),
		SecurityGroups: []string{front},
		Tags:           []types.Tag{{Key: ptr("k"), Value: ptr("v")}},
	}))(t).LoadBalancers[0]
	g := must(c.elbv2.CreateTargetGroup(t.Context(), &elbv2.CreateTargetGroupInput{
		Name: ptr("group"), Protocol: types.ProtocolEnumTcp, Port: ptr(int32(30080)), VpcId: subnets[0].VpcId,
	}))(t).TargetGroups[0]
	must(c.elbv2.RegisterTargets(t.Context(),
		&elbv2.RegisterTargetsInput{TargetGroupArn: g.TargetGroupArn, Targets: c.targets(t)}))(t)
	must(c.elbv2.CreateListener(t.Context(),
		c.listener(*b.LoadBalancerArn, *g.TargetGroupArn, types.ProtocolEnumTcp, 80)))(t)
	return nlb{c, *b.LoadBalancerArn, *g.TargetGroupArn}
}

func (c *clients) targets(t *testing.T) []types.TargetDescription {
	t.Helper()
	var out []types.TargetDescription
	for _, i := range c.instances(t, &ec2.DescribeInstancesInput{}) {
		out = append(out, types.TargetDescription{Id: i.InstanceId})
	}
	return out
}

func (c *clients) listener(balancer, group string, protocol types.ProtocolEnum, port int32) *elbv2.CreateListenerInput {
	return &elbv2.CreateListenerInput{
		LoadBalancerArn: &balancer, Protocol: protocol, Port: &port,
		DefaultActions: []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: &group}},
	}
}

func (n nlb) health(t *testing.T) map[string]types.TargetHealthStateEnum {
	t.Helper()
	out := map[string]types.TargetHealthStateEnum{}
	for _, d := range must(n.elbv2.DescribeTargetHealth(t.Context(),
		&elbv2.DescribeTargetHealthInput{TargetGroupArn: &n.group}))(t).TargetHealthDescriptions {
		out[*d.Target.Id] = d.TargetHealth.State
	}
	return out
}

func TestNetworkLoadBalancer(t *testing.T) {
	n := newNLB(t, sim.Options{})
	b := must(n.elbv2.DescribeLoadBalancers(t.Context(),
		&elbv2.DescribeLoadBalancersInput{Names: []string{"web"}}))(t).LoadBalancers[0]
	if b.State.Code != types.LoadBalancerStateEnumActive || len(b.AvailabilityZones) != 3 || len(b.SecurityGroups) != 1 ||
		b.CreatedTime.IsZero() {
		t.Errorf("load balancer %+v", b)
	}
	want := []world.LoadBalancer{{
		Name: "web", Addresses: []string{*b.DNSName},
		Listeners: []world.Listener{{Protocol: v1.ProtocolTCP, Port: 80, SourceRanges: []string{"0.0.0.0/0"},
			Members: []string{"a", "b"}, MemberPort: 30080}},
	}}
	if diff := cmp.Diff(want, n.cloud.LoadBalancers()); diff != "" {
		t.Error(diff)
	}
	g := must(n.elbv2.DescribeTargetGroups(t.Context(),
		&elbv2.DescribeTargetGroupsInput{LoadBalancerArn: &n.arn}))(t).TargetGroups[0]
	if *g.HealthCheckPort != "traffic-port" || *g.HealthCheckIntervalSeconds != 30 || len(g.LoadBalancerArns) != 1 ||
		*g.UnhealthyThresholdCount != 2 {
		t.Errorf("target group %+v", g)
	}
	for id, state := range n.health(t) {
		if state != types.TargetHealthStateEnumHealthy {
			t.Errorf("target %s is %s", id, state)
		}
	}
	l := must(n.elbv2.DescribeListeners(t.Context(),
		&elbv2.DescribeListenersInput{LoadBalancerArn: &n.arn}))(t).Listeners[0]
	if *l.Port != 80 || *l.DefaultActions[0].TargetGroupArn != n.group || l.SslPolicy != nil {
		t.Errorf("listener %+v", l)
	}
	tags := must(n.elbv2.DescribeTags(t.Context(),
		&elbv2.DescribeTagsInput{ResourceArns: []string{n.arn, n.group}}))(t).TagDescriptions
	if len(tags) != 2 || len(tags[0].Tags) != 1 || len(tags[1].Tags) != 0 {
		t.Errorf("tags %+v", tags)
	}
	n.shut(t, b.SecurityGroups[0], 30080)
	_, err := n.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &b.SecurityGroups[0]})
	wantCode(t, err, "DependencyViolation", 400)
	must(n.elbv2.DeleteLoadBalancer(t.Context(), &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &n.arn}))(t)
	must(n.elbv2.DeleteLoadBalancer(t.Context(), &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &n.arn}))(t)
	must(n.elbv2.DeleteTargetGroup(t.Context(), &elbv2.DeleteTargetGroupInput{TargetGroupArn: &n.group}))(t)
	must(n.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &b.SecurityGroups[0]}))(t)
	if o := n.cloud.Objects(); o["load-balancers"]+o["listeners"]+o["target-groups"]+o["targets"] != 0 ||
		o["security-groups"] != 2 {
		t.Errorf("objects that should be deleted: %v", o)
	}
}

func TestNetworkLoadBalancerErrors(t *testing.T) {
	n := newNLB(t, sim.Options{})
	ctx := t.Context()
	missing := n.arn[:len(n.arn)-4] + "0000"
	for _, tc := range []struct {
		name, code string
		call       func() error
	}{
		{"another load balancer of that name", "DuplicateLoadBalancerName", func() error {
			_, err := n.elbv2.CreateLoadBalancer(ctx,
				&elbv2.CreateLoadBalancerInput{Name: ptr("web"), Type: types.LoadBalancerTypeEnumNetwork,
					Subnets: subnetIDs(n.subnets(t, "internal-elb"))})
			return err
		}},
		{"no such subnet", "SubnetNotFound", func() error {
			_, err := n.elbv2.CreateLoadBalancer(ctx,
				&elbv2.CreateLoadBalancerInput{Name: ptr("x"), Type: types.LoadBalancerTypeEnumNetwork,
					Subnets: []string{"subnet-1"}})
			return err
		}},
		{"two subnets in a zone", "InvalidConfigurationRequest", func() error {
			_, err := n.elbv2.CreateLoadBalancer(ctx,
				&elbv2.CreateLoadBalancerInput{Name: ptr("x"), Type: types.LoadBalancerTypeEnumNetwork,
					Subnets: append(subnetIDs(n.subnets(t, "internal-elb")), subnetIDs(n.subnets(t, "elb"))...)})
			return err
		}},
		{"a listener on the same port", "DuplicateListener", func() error {
			g := must(n.elbv2.CreateTargetGroup(ctx,
				&elbv2.CreateTargetGroupInput{Name: ptr("udp"), Protocol: types.ProtocolEnumUdp, Port: ptr(int32(1)),
					VpcId: n.subnets(t, "elb")[0].VpcId}))(t).TargetGroups[0]
			_, err := n.elbv2.CreateListener(ctx, n.listener(n.arn, *g.TargetGroupArn, types.ProtocolEnumUdp, 80))
			return err
		}},
		{"protocols that do not fit", "IncompatibleProtocols", func() error {
			_, err := n.elbv2.CreateListener(ctx, n.listener(n.arn, n.group, types.ProtocolEnumUdp, 81))
			return err
		}},
		{"a target group in use", "ResourceInUse", func() error {
			_, err := n.elbv2.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: &n.group})
			return err
		}},
		{"no such target", "InvalidTarget", func() error {
			_, err := n.elbv2.RegisterTargets(ctx, &elbv2.RegisterTargetsInput{TargetGroupArn: &n.group,
				Targets: []types.TargetDescription{{Id: ptr("i-00000000000000001")}}})
			return err
		}},
		{"no such load balancer", "LoadBalancerNotFound", func() error {
			_, err := n.elbv2.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{LoadBalancerArns: []string{missing}})
			return err
		}},
		{"no such attribute", "InvalidConfigurationRequest", func() error {
			_, err := n.elbv2.ModifyLoadBalancerAttributes(ctx, &elbv2.ModifyLoadBalancerAttributesInput{LoadBalancerArn: &n.arn,
				Attributes: []types.LoadBalancerAttribute{{Key: ptr("idle_timeout.timeout_seconds"), Value: ptr("1")}}})
			return err
		}},
		{"no certificate", "ValidationError", func() error {
			_, err := n.elbv2.CreateListener(ctx, n.listener(n.arn, n.group, types.ProtocolEnumTls, 443))
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) { wantCode(t, tc.call(), tc.code, 400) })
	}
}

func TestTargetQuotas(t *testing.T) {
	n := newNLB(t, sim.Options{Quotas: map[string]int{sim.QuotaTargetsPerBalancer: 1}})
	// The two machines are in two zones, and one more target in either is one too many.
	targets := n.targets(t)
	targets[0].Port = ptr(int32(1))
	_, err := n.elbv2.RegisterTargets(t.Context(),
		&elbv2.RegisterTargetsInput{TargetGroupArn: &n.group, Targets: targets[:1]})
	wantCode(t, err, "TooManyTargets", 400)
	if o := n.cloud.Objects(); o["targets"] != 2 {
		t.Errorf("%d targets", o["targets"])
	}
}

func TestNetworkLoadBalancerTimes(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1_700_000_000, 0))
	n := newNLB(t, sim.Options{Clock: clock, ProvisionTime: time.Minute, HealthTime: 30 * time.Second,
		DrainTime: 10 * time.Minute, ReleaseTime: time.Minute})
	state := func() types.LoadBalancerStateEnum {
		return must(n.elbv2.DescribeLoadBalancers(t.Context(), nil))(t).LoadBalancers[0].State.Code
	}
	targets := n.targets(t)
	first := *targets[0].Id
	if s, h := state(), n.health(t)[first]; s != types.LoadBalancerStateEnumProvisioning ||
		h != types.TargetHealthStateEnumInitial {
		t.Errorf("new: %s, %s", s, h)
	}
	clock.Step(time.Minute)
	if s, h := state(), n.health(t)[first]; s != types.LoadBalancerStateEnumActive ||
		h != types.TargetHealthStateEnumHealthy {
		t.Errorf("after a minute: %s, %s", s, h)
	}
	must(n.elbv2.DeregisterTargets(t.Context(),
		&elbv2.DeregisterTargetsInput{TargetGroupArn: &n.group, Targets: targets[:1]}))(t)
	if h := n.health(t)[first]; h != types.TargetHealthStateEnumDraining {
		t.Errorf("removed: %s", h)
	}
	// The default delay of target groups, 300 s, is shorter than DrainTime.
	clock.Step(300 * time.Second)
	if h := n.health(t); len(h) != 1 {
		t.Errorf("drained: %v", h)
	}
	group := must(n.elbv2.DescribeLoadBalancers(t.Context(), nil))(t).LoadBalancers[0].SecurityGroups[0]
	n.shut(t, group, 30080)
	must(n.elbv2.DeleteLoadBalancer(t.Context(), &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &n.arn}))(t)
	remove := func() error {
		_, err := n.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &group})
		return err
	}
	wantCode(t, remove(), "DependencyViolation", 400)
	clock.Step(time.Minute)
	if err := remove(); err != nil {
		t.Error(err)
	}
}

func TestTLSListenerAndCertificates(t *testing.T) {
	n := newNLB(t, sim.Options{})
	arn := func(name string) *string { return ptr("arn:aws:acm:us-west-2:123456789012:certificate/" + name) }
	in := n.listener(n.arn, n.group, types.ProtocolEnumTls, 443)
	in.Certificates = []types.Certificate{{CertificateArn: arn("a")}}
	l := must(n.elbv2.CreateListener(t.Context(), in))(t).Listeners[0]
	if *l.SslPolicy != "ELBSecurityPolicy-2016-08" || *l.Certificates[0].CertificateArn != *arn("a") {
		t.Errorf("listener %+v", l)
	}
	must(n.elbv2.AddListenerCertificates(t.Context(), &elbv2.AddListenerCertificatesInput{ListenerArn: l.ListenerArn,
		Certificates: []types.Certificate{{CertificateArn: arn("b")}}}))(t)
	list := must(n.elbv2.DescribeListenerCertificates(t.Context(),
		&elbv2.DescribeListenerCertificatesInput{ListenerArn: l.ListenerArn}))(t).Certificates
	if len(list) != 2 || !*list[0].IsDefault || *list[1].IsDefault {
		t.Errorf("certificates %+v", list)
	}
	_, err := n.elbv2.RemoveListenerCertificates(t.Context(),
		&elbv2.RemoveListenerCertificatesInput{ListenerArn: l.ListenerArn,
			Certificates: []types.Certificate{{CertificateArn: arn("a")}}})
	wantCode(t, err, "OperationNotPermitted", 400)
	m := must(n.elbv2.ModifyListener(t.Context(),
		&elbv2.ModifyListenerInput{ListenerArn: l.ListenerArn, Protocol: types.ProtocolEnumTcp}))(t).Listeners[0]
	if m.Protocol != types.ProtocolEnumTcp || len(m.Certificates) != 0 || m.SslPolicy != nil {
		t.Errorf("after the change to TCP: %+v", m)
	}
}

// elasticIPs allocates an Elastic IP for each of two public subnets.
func (c *clients) elasticIPs(t *testing.T) (mappings []types.SubnetMapping) {
	t.Helper()
	for _, s := range c.subnets(t, "elb")[:2] {
		a := must(c.ec2.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{Domain: ec2types.DomainTypeVpc}))(t)
		mappings = append(mappings, types.SubnetMapping{SubnetId: s.SubnetId, AllocationId: a.AllocationId})
	}
	return mappings
}

func TestElasticIPsAndSubnets(t *testing.T) {
	c := newClients(t, sim.Options{})
	mappings := c.elasticIPs(t)
	b := must(c.elbv2.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{
		Name: ptr("web"), Type: types.LoadBalancerTypeEnumNetwork, SubnetMappings: mappings[:1]}))(t).LoadBalancers[0]
	_, err := c.ec2.ReleaseAddress(t.Context(), &ec2.ReleaseAddressInput{AllocationId: mappings[0].AllocationId})
	wantCode(t, err, "InvalidIPAddress.InUse", 400)
	zones := must(c.elbv2.SetSubnets(t.Context(),
		&elbv2.SetSubnetsInput{LoadBalancerArn: b.LoadBalancerArn, SubnetMappings: mappings[1:]}))(t).AvailabilityZones
	if len(zones) != 1 || *zones[0].LoadBalancerAddresses[0].AllocationId != *mappings[1].AllocationId {
		t.Errorf("zones %+v", zones)
	}
	must(c.ec2.ReleaseAddress(t.Context(), &ec2.ReleaseAddressInput{AllocationId: mappings[0].AllocationId}))(t)
	_, err = c.elbv2.SetSecurityGroups(t.Context(),
		&elbv2.SetSecurityGroupsInput{LoadBalancerArn: b.LoadBalancerArn, SecurityGroups: []string{c.group(t, "x")}})
	wantCode(t, err, "InvalidConfigurationRequest", 400)
	if got := must(c.elbv2.SetIpAddressType(t.Context(), &elbv2.SetIpAddressTypeInput{LoadBalancerArn: b.LoadBalancerArn,
		IpAddressType: types.IpAddressTypeDualstack}))(t); got.IpAddressType != types.IpAddressTypeDualstack {
		t.Errorf("address type %s", got.IpAddressType)
	}
}
