package sdktest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	classictypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// Each test of this file names the page of AWS' documentation with the rule that it checks.

// newDualStack creates a dualstack load balancer and a target group.
func newDualStack(
	t *testing.T, o sim.Options, nat types.EnablePrefixForIpv6SourceNatEnum,
	family types.TargetGroupIpAddressTypeEnum, protocol types.ProtocolEnum,
) nlb {
	t.Helper()
	c := newClients(t, o)
	subnets := c.subnets(t, "elb")
	b := must(c.elbv2.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{
		Name: ptr("web"), Type: types.LoadBalancerTypeEnumNetwork, Subnets: subnetIDs(subnets),
		IpAddressType: types.IpAddressTypeDualstack, EnablePrefixForIpv6SourceNat: nat,
	}))(t).LoadBalancers[0]
	g := must(c.elbv2.CreateTargetGroup(t.Context(), &elbv2.CreateTargetGroupInput{
		Name: ptr("web"), Protocol: protocol, Port: ptr(int32(30080)), VpcId: subnets[0].VpcId, IpAddressType: family,
	}))(t).TargetGroups[0]
	return nlb{clients: c, arn: *b.LoadBalancerArn, group: *g.TargetGroupArn}
}

// The pages "Create a listener for your Network Load Balancer" and "Create a target group for your Network Load
// Balancer" in the user guide for network load balancers forbid an IPv4 target group with a UDP listener of a dualstack
// load balancer; "Create a Network Load Balancer" requires the prefix for IPv6 source NAT for such a listener.
func TestUDPListenerOfDualStackLoadBalancer(t *testing.T) {
	const on, off = types.EnablePrefixForIpv6SourceNatEnumOn, types.EnablePrefixForIpv6SourceNatEnumOff
	const v4, v6 = types.TargetGroupIpAddressTypeEnumIpv4, types.TargetGroupIpAddressTypeEnumIpv6
	for _, tc := range []struct {
		name     string
		nat      types.EnablePrefixForIpv6SourceNatEnum
		family   types.TargetGroupIpAddressTypeEnum
		protocol types.ProtocolEnum
		rejected bool
	}{
		{name: "TCP, IPv4", nat: off, family: v4, protocol: types.ProtocolEnumTcp},
		{name: "UDP, IPv6", nat: on, family: v6, protocol: types.ProtocolEnumUdp},
		{name: "UDP, IPv4", nat: on, family: v4, protocol: types.ProtocolEnumUdp, rejected: true},
		{name: "TCP_UDP, IPv4", nat: on, family: v4, protocol: types.ProtocolEnumTcpUdp, rejected: true},
		{name: "UDP, IPv6, no prefix for source NAT", nat: off, family: v6, protocol: types.ProtocolEnumUdp, rejected: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := newDualStack(t, sim.Options{}, tc.nat, tc.family, tc.protocol)
			_, err := n.elbv2.CreateListener(t.Context(), n.listener(n.arn, n.group, tc.protocol, 53))
			if tc.rejected {
				wantCode(t, err, "InvalidConfigurationRequest", 400)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// The page "ModifyListener" of the API reference: the protocol of a listener cannot change to UDP or TCP_UDP on a
// dual-stack load balancer.
func TestProtocolOfDualStackListenerStays(t *testing.T) {
	n := newDualStack(t, sim.Options{}, types.EnablePrefixForIpv6SourceNatEnumOn, types.TargetGroupIpAddressTypeEnumIpv6,
		types.ProtocolEnumTcpUdp)
	l := must(n.elbv2.CreateListener(t.Context(), n.listener(n.arn, n.group, types.ProtocolEnumTcp, 53)))(t).Listeners[0]
	_, err := n.elbv2.ModifyListener(t.Context(), &elbv2.ModifyListenerInput{ListenerArn: l.ListenerArn,
		Protocol: types.ProtocolEnumTcpUdp})
	wantCode(t, err, "InvalidConfigurationRequest", 400)
}

// The page "Create a target group for your Network Load Balancer" in the user guide: an IPv6 target group requires a
// dualstack load balancer, the listeners of a target group belong to one load balancer, and all targets have the IP
// address type of the group.
func TestTargetGroupRequirements(t *testing.T) {
	c := newClients(t, sim.Options{})
	subnets := c.subnets(t, "elb")
	balancer := func(name string) string {
		return *must(c.elbv2.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{
			Name: &name, Type: types.LoadBalancerTypeEnumNetwork, Subnets: subnetIDs(subnets),
		}))(t).LoadBalancers[0].LoadBalancerArn
	}
	group := func(name string, family types.TargetGroupIpAddressTypeEnum) string {
		return *must(c.elbv2.CreateTargetGroup(t.Context(), &elbv2.CreateTargetGroupInput{
			Name: &name, Protocol: types.ProtocolEnumTcp, Port: ptr(int32(30080)), VpcId: subnets[0].VpcId,
			IpAddressType: family, TargetType: types.TargetTypeEnumIp,
		}))(t).TargetGroups[0].TargetGroupArn
	}
	listen := func(balancer, group string, port int32) error {
		_, err := c.elbv2.CreateListener(t.Context(), c.listener(balancer, group, types.ProtocolEnumTcp, port))
		return err
	}
	first, second := balancer("first"), balancer("second")
	v4, v6 := group("v4", types.TargetGroupIpAddressTypeEnumIpv4), group("v6", types.TargetGroupIpAddressTypeEnumIpv6)
	wantCode(t, listen(first, v6, 80), "InvalidConfigurationRequest", 400)
	for _, port := range []int32{80, 443} {
		if err := listen(first, v4, port); err != nil {
			t.Errorf("port %d: %v", port, err)
		}
	}
	wantCode(t, listen(second, v4, 80), "TargetGroupAssociationLimit", 400)
	for group, address := range map[string]string{v4: "2001:db8::1", v6: "10.0.0.4"} {
		_, err := c.elbv2.RegisterTargets(t.Context(), &elbv2.RegisterTargetsInput{
			TargetGroupArn: &group, Targets: []types.TargetDescription{{Id: &address}},
		})
		wantCode(t, err, "InvalidTarget", 400)
	}
}

// The same pages: a change of the IP address type must not lead to a combination that CreateListener rejects.
func TestDualStackIsRejectedWithIPv4UDPListener(t *testing.T) {
	c := newClients(t, sim.Options{})
	subnets := c.subnets(t, "elb")
	b := must(c.elbv2.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{
		Name: ptr("web"), Type: types.LoadBalancerTypeEnumNetwork, Subnets: subnetIDs(subnets),
	}))(t).LoadBalancers[0]
	g := must(c.elbv2.CreateTargetGroup(t.Context(), &elbv2.CreateTargetGroupInput{
		Name: ptr("web"), Protocol: types.ProtocolEnumUdp, Port: ptr(int32(30080)), VpcId: subnets[0].VpcId,
	}))(t).TargetGroups[0]
	listener := c.listener(*b.LoadBalancerArn, *g.TargetGroupArn, types.ProtocolEnumUdp, 53)
	must(c.elbv2.CreateListener(t.Context(), listener))(t)
	_, err := c.elbv2.SetIpAddressType(t.Context(), &elbv2.SetIpAddressTypeInput{
		LoadBalancerArn: b.LoadBalancerArn, IpAddressType: types.IpAddressTypeDualstack,
	})
	wantCode(t, err, "InvalidConfigurationRequest", 400)
	_, err = c.elbv2.SetSubnets(t.Context(), &elbv2.SetSubnetsInput{
		LoadBalancerArn: b.LoadBalancerArn, Subnets: subnetIDs(subnets), IpAddressType: types.IpAddressTypeDualstack,
		EnablePrefixForIpv6SourceNat: types.EnablePrefixForIpv6SourceNatEnumOn,
	})
	wantCode(t, err, "InvalidConfigurationRequest", 400)
}

// The page "Update the Availability Zones for your Network Load Balancer" in the user guide: changes of subnets within an
// Availability Zone are independent actions, first the removal, then the addition.
func TestSetSubnetsRejectsReplacementWithinZone(t *testing.T) {
	n := newNLB(t, sim.Options{})
	public, private := n.subnets(t, "elb"), n.subnets(t, "internal-elb")
	zones := map[string]string{}
	for _, s := range private {
		zones[*s.AvailabilityZone] = *s.SubnetId
	}
	set := func(ids ...string) error {
		_, err := n.elbv2.SetSubnets(t.Context(), &elbv2.SetSubnetsInput{LoadBalancerArn: &n.arn, Subnets: ids})
		return err
	}
	replaced := subnetIDs(public)
	replaced[0] = zones[*public[0].AvailabilityZone]
	wantCode(t, set(replaced...), "InvalidConfigurationRequest", 400)
	if err := set(replaced[1:]...); err != nil {
		t.Errorf("removing the zone: %v", err)
	}
	if err := set(replaced...); err != nil {
		t.Errorf("adding the zone with another subnet: %v", err)
	}
}

// The page "DescribeInstances" of the EC2 API reference: while an Availability Zone is disrupted, the call fails unless
// it names only instances of other zones.
func TestDescribeInstancesDuringZoneDisruption(t *testing.T) {
	c := newClients(t, sim.Options{})
	for _, m := range []world.Machine{{Name: "a", Zone: "us-west-2a"}, {Name: "b", Zone: "us-west-2b"}} {
		if _, err := c.cloud.Launch(m); err != nil {
			t.Fatal(err)
		}
	}
	c.cloud.SetDisruption(sim.Disruption{Zones: []string{"us-west-2a"}})
	describe := func(in *ec2.DescribeInstancesInput) error {
		_, err := c.ec2.DescribeInstances(t.Context(), in)
		return err
	}
	byFilter := &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{filter("availability-zone", "us-west-2b")}}
	for name, in := range map[string]*ec2.DescribeInstancesInput{
		"all": {}, "by filter": byFilter, "in the disrupted zone": {InstanceIds: []string{c.cloud.Instance("a")}},
		"in both zones": {InstanceIds: []string{c.cloud.Instance("a"), c.cloud.Instance("b")}},
	} {
		t.Run(name, func(t *testing.T) { wantCode(t, describe(in), "Unavailable", 503) })
	}
	if err := describe(&ec2.DescribeInstancesInput{InstanceIds: []string{c.cloud.Instance("b")}}); err != nil {
		t.Errorf("in a healthy zone: %v", err)
	}
	c.cloud.SetDisruption(sim.Disruption{})
	if err := describe(byFilter); err != nil {
		t.Errorf("after the disruption: %v", err)
	}
}

// The page "Register targets for your Network Load Balancer" in the user guide: targets of an IPv6 target group that
// are registered by instance ID must have a primary IPv6 address. The page "ModifyNetworkInterfaceAttribute" of the EC2
// API reference: it can be enabled, and not disabled.
func TestIPv6TargetGroupRequiresPrimaryIPv6(t *testing.T) {
	const v6 = types.TargetGroupIpAddressTypeEnumIpv6
	o := sim.Options{IPv6: true}
	n := newDualStack(t, o, types.EnablePrefixForIpv6SourceNatEnumOff, v6, types.ProtocolEnumTcp)
	if _, err := n.cloud.Launch(world.Machine{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	id := n.cloud.Instance("a")
	register := func() error {
		_, err := n.elbv2.RegisterTargets(t.Context(), &elbv2.RegisterTargetsInput{
			TargetGroupArn: &n.group, Targets: []types.TargetDescription{{Id: &id}},
		})
		return err
	}
	wantCode(t, register(), "InvalidTarget", 400)

	eni := func() ec2types.InstanceNetworkInterface {
		out := must(n.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}}))(t)
		return out.Reservations[0].Instances[0].NetworkInterfaces[0]
	}
	if *eni().Ipv6Addresses[0].IsPrimaryIpv6 {
		t.Error("the address is primary although nothing enabled it")
	}
	modify := func(enable bool) error {
		_, err := n.ec2.ModifyNetworkInterfaceAttribute(t.Context(), &ec2.ModifyNetworkInterfaceAttributeInput{
			NetworkInterfaceId: eni().NetworkInterfaceId, EnablePrimaryIpv6: &enable,
		})
		return err
	}
	if err := modify(true); err != nil {
		t.Fatal(err)
	}
	if err := register(); err != nil || !*eni().Ipv6Addresses[0].IsPrimaryIpv6 {
		t.Errorf("with a primary IPv6 address: %v", err)
	}
	wantCode(t, modify(false), "InvalidParameterCombination", 400)

	o.PrimaryIPv6 = true
	n = newDualStack(t, o, types.EnablePrefixForIpv6SourceNatEnumOff, v6, types.ProtocolEnumTcp)
	if _, err := n.cloud.Launch(world.Machine{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if id = n.cloud.Instance("a"); register() != nil {
		t.Errorf("launched with a primary IPv6 address: %v", register())
	}
}

// The page "SetSecurityGroups" of the ELB API reference (2015-12-01): it is rejected for a network load balancer that was
// created without security groups, and the groups replace those before.
func TestSetSecurityGroupsNeedsGroupsAtCreation(t *testing.T) {
	c := newClients(t, sim.Options{})
	first, second := c.group(t, "first"), c.group(t, "second")
	create := func(name string, groups ...string) *string {
		return must(c.elbv2.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{
			Name: &name, Type: types.LoadBalancerTypeEnumNetwork, Subnets: subnetIDs(c.subnets(t, "elb")), SecurityGroups: groups,
		}))(t).LoadBalancers[0].LoadBalancerArn
	}
	set := func(arn *string) (*elbv2.SetSecurityGroupsOutput, error) {
		return c.elbv2.SetSecurityGroups(t.Context(), &elbv2.SetSecurityGroupsInput{LoadBalancerArn: arn,
			SecurityGroups: []string{second}})
	}
	_, err := set(create("without"))
	wantCode(t, err, "InvalidConfigurationRequest", 400)
	if out := must(set(create("with", first)))(t); len(out.SecurityGroupIds) != 1 || out.SecurityGroupIds[0] != second {
		t.Errorf("groups %v, want %s alone", out.SecurityGroupIds, second)
	}
}

// The page "AttachLoadBalancerToSubnets" of the ELB API reference (2012-06-01): a classic load balancer has one subnet of
// an Availability Zone. The page "CreateLoadBalancerListeners": a listener on a port that has another one is rejected,
// and one with the same properties is accepted.
func TestClassicSubnetsAndListeners(t *testing.T) {
	c := newClients(t, sim.Options{})
	public, private := c.subnets(t, "elb"), c.subnets(t, "internal-elb")
	listener := classictypes.Listener{Protocol: ptr("TCP"), LoadBalancerPort: 80, InstancePort: ptr(int32(30080))}
	must(c.elb.CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{
		LoadBalancerName: ptr("web"), Subnets: subnetIDs(public[:1]), Listeners: []classictypes.Listener{listener},
	}))(t)
	attach := func(s ec2types.Subnet) error {
		_, err := c.elb.AttachLoadBalancerToSubnets(t.Context(), &elb.AttachLoadBalancerToSubnetsInput{
			LoadBalancerName: ptr("web"), Subnets: []string{*s.SubnetId},
		})
		return err
	}
	for _, s := range append(private, public[1:]...) {
		if *s.AvailabilityZone == *public[0].AvailabilityZone {
			wantCode(t, attach(s), "InvalidConfigurationRequest", 409)
		}
	}
	if err := attach(public[1]); err != nil {
		t.Errorf("a subnet of another zone: %v", err)
	}
	listen := func(l classictypes.Listener) error {
		_, err := c.elb.CreateLoadBalancerListeners(t.Context(), &elb.CreateLoadBalancerListenersInput{
			LoadBalancerName: ptr("web"), Listeners: []classictypes.Listener{l},
		})
		return err
	}
	if err := listen(listener); err != nil {
		t.Errorf("an equal listener: %v", err)
	}
	listener.InstancePort = ptr(int32(30081))
	wantCode(t, listen(listener), "DuplicateListener", 400)
}

// The page "SetSubnets" of the ELB API reference (2015-12-01): a network load balancer keeps the configuration of its
// subnets, and so the Elastic IPs of zones that stay enabled.
func TestSetSubnetsKeepsElasticIPs(t *testing.T) {
	c := newClients(t, sim.Options{})
	mappings := c.elasticIPs(t)
	b := must(c.elbv2.CreateLoadBalancer(t.Context(), &elbv2.CreateLoadBalancerInput{
		Name: ptr("web"), Type: types.LoadBalancerTypeEnumNetwork, SubnetMappings: mappings,
	}))(t).LoadBalancers[0]
	swapped := []types.SubnetMapping{
		{SubnetId: mappings[0].SubnetId, AllocationId: mappings[1].AllocationId},
		{SubnetId: mappings[1].SubnetId, AllocationId: mappings[0].AllocationId},
	}
	_, err := c.elbv2.SetSubnets(t.Context(), &elbv2.SetSubnetsInput{
		LoadBalancerArn: b.LoadBalancerArn, SubnetMappings: swapped,
	})
	wantCode(t, err, "ResourceInUse", 400)
}

// The page "Health checks for your target groups" in the user guide for network load balancers, and "Register targets
// with your target group": probes come from the private addresses of the load balancer, which are in its subnets. With a
// rule for another subnet alone, the targets are unhealthy.
func TestHealthChecksComeFromSubnetsOfLoadBalancer(t *testing.T) {
	n := newNLB(t, sim.Options{})
	front := must(n.elbv2.DescribeLoadBalancers(t.Context(), nil))(t).LoadBalancers[0].SecurityGroups[0]
	n.shut(t, front, 30080)
	allow := func(subnets []ec2types.Subnet) {
		t.Helper()
		for _, s := range subnets {
			must(n.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
				GroupId: n.nodes(t), IpPermissions: []ec2types.IpPermission{tcp(30080, *s.CidrBlock)},
			}))(t)
		}
	}
	check := func(when string, want types.TargetHealthStateEnum) {
		t.Helper()
		for _, state := range n.health(t) {
			if state != want {
				t.Errorf("%s: a target is %s, want %s", when, state, want)
			}
		}
	}
	allow(n.subnets(t, "internal-elb"))
	check("rules for other subnets", types.TargetHealthStateEnumUnhealthy)
	allow(n.subnets(t, "elb"))
	check("rules for its subnets", types.TargetHealthStateEnumHealthy)
}

// TargetGroupAttribute in the API reference: only load_balancing.cross_zone.enabled may take its value from the load
// balancer; all other switches are true or false.
func TestOnlyCrossZoneTakesValueFromLoadBalancer(t *testing.T) {
	n := newNLB(t, sim.Options{})
	for key, rejected := range map[string]bool{
		"load_balancing.cross_zone.enabled": false, "preserve_client_ip.enabled": true, "proxy_protocol_v2.enabled": true,
	} {
		_, err := n.elbv2.ModifyTargetGroupAttributes(t.Context(), &elbv2.ModifyTargetGroupAttributesInput{
			TargetGroupArn: &n.group,
			Attributes:     []types.TargetGroupAttribute{{Key: &key, Value: ptr("use_load_balancer_configuration")}},
		})
		if rejected {
			wantCode(t, err, "InvalidConfigurationRequest", 400)
		} else if err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// SetSubnets and SetIpAddressType in the API reference: the IP address type of a network load balancer is ipv4 or
// dualstack.
func TestNetworkLoadBalancerRejectsAddressTypeOfApplicationLoadBalancers(t *testing.T) {
	n := newNLB(t, sim.Options{})
	const unsupported = types.IpAddressTypeDualstackWithoutPublicIpv4
	_, err := n.elbv2.SetSubnets(t.Context(), &elbv2.SetSubnetsInput{
		LoadBalancerArn: &n.arn, Subnets: subnetIDs(n.subnets(t, "elb")), IpAddressType: unsupported,
	})
	wantCode(t, err, "InvalidConfigurationRequest", 400)
	_, err = n.elbv2.SetIpAddressType(t.Context(), &elbv2.SetIpAddressTypeInput{
		LoadBalancerArn: &n.arn, IpAddressType: unsupported,
	})
	wantCode(t, err, "InvalidConfigurationRequest", 400)
}
