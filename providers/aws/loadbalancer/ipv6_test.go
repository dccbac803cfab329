package loadbalancer

import (
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func families(list ...v1.IPFamily) func(*v1.Service) {
	return func(s *v1.Service) { s.Spec.IPFamilies = list }
}

// withUDP adds a UDP port.
func withUDP(s *v1.Service) {
	s.Spec.Ports = append(s.Spec.Ports, v1.ServicePort{Name: "dns", Protocol: v1.ProtocolUDP, Port: 53, NodePort: 30053})
}

// TestUDPOfBothFamilies verifies that no request is made for a UDP listener with IPv4 targets on a dual-stack load
// balancer, which AWS rejects.
func TestUDPOfBothFamilies(t *testing.T) {
	both := families(v1.IPv4Protocol, v1.IPv6Protocol)
	r := newRig(t, sim.Options{IPv6: true, PrimaryIPv6: true})
	r.ensure(service(both, withUDP))
	if b := r.balancer(webName); b.IpAddressType != "ipv4" {
		t.Errorf("a new load balancer has address type %s", b.IpAddressType)
	}
	r.wantEvent("IPv6 first in spec.ipFamilies")
	r.steady(service(both, withUDP))

	r = newRig(t, sim.Options{IPv6: true, PrimaryIPv6: true})
	r.ensure(service(both))
	r.log().Reset()
	r.ensure(service(both, withUDP))
	r.wantEvent("port 53/UDP has no listener")
	if b, calls := r.balancer(webName), r.calls(); b.IpAddressType != "dualstack" || strings.Contains(calls, "CreateListener") {
		t.Errorf("a load balancer with both families has address type %s after %s", b.IpAddressType, calls)
	}
	r.steady(service(both, withUDP))
	r.updateTo(service(both, withUDP), "d")
	r.ensure(service(families(v1.IPv4Protocol), withUDP))
	if b, g := r.balancer(webName), r.groupOn(53); b.IpAddressType != "ipv4" || g.Protocol != elbv2types.ProtocolEnumUdp {
		t.Errorf("without IPv6: address type %s, port 53 by %s", b.IpAddressType, g.Protocol)
	}
	r.steady(service(families(v1.IPv4Protocol), withUDP))
}

// TestIPv6TargetsNeedPrimaryAddresses verifies that instances without a primary IPv6 address are not registered, and
// that nothing is created if there are no others.
func TestIPv6TargetsNeedPrimaryAddresses(t *testing.T) {
	ipv6 := families(v1.IPv6Protocol)
	r := newRig(t, sim.Options{IPv6: true})
	r.ensureError(service(ipv6), "primary IPv6 address", r.sim.Instance("a"))

	out := must(r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{r.sim.Instance("a")}}))(t)
	must(r.ec2.ModifyNetworkInterfaceAttribute(t.Context(), &ec2.ModifyNetworkInterfaceAttributeInput{
		NetworkInterfaceId: out.Reservations[0].Instances[0].NetworkInterfaces[0].NetworkInterfaceId,
		EnablePrimaryIpv6:  awssdk.Bool(true),
	}))(t)
	r.restart()
	r.ensure(service(ipv6))
	r.wantEvent("primary IPv6 address")
	in := &elbv2.DescribeTargetHealthInput{TargetGroupArn: r.groupOn(80).TargetGroupArn}
	if n := len(must(r.elbv2.DescribeTargetHealth(t.Context(), in))(t).TargetHealthDescriptions); n != 1 {
		t.Errorf("%d targets, want the one with a primary IPv6 address", n)
	}
	r.steady(service(ipv6))
	node, err := r.sim.Launch(world.Machine{Name: "d"})
	if err != nil {
		t.Fatal(err)
	}
	node.Spec.ProviderID = "aws:///us-west-2a/" + r.sim.Instance("d")
	r.nodes = append(r.nodes, node)
	if err := r.manager.UpdateLoadBalancer(t.Context(), clusterName, service(ipv6), r.nodes); err != nil {
		t.Errorf("a node without a primary IPv6 address joins: %v", err)
	}
}
