package instances

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

func withIPv6(n ec2types.InstanceNetworkInterface, addresses ...string) ec2types.InstanceNetworkInterface {
	for _, a := range addresses {
		n.Ipv6Addresses = append(n.Ipv6Addresses, ec2types.InstanceIpv6Address{Ipv6Address: &a})
	}
	return n
}

func TestAddresses(t *testing.T) {
	detaching := simtest.NetworkInterface(1, "10.0.0.9")
	detaching.Status = ec2types.NetworkInterfaceStatusDetaching
	address := func(kind v1.NodeAddressType, text string) v1.NodeAddress {
		return v1.NodeAddress{Type: kind, Address: text}
	}
	one := []v1.NodeAddress{
		address(v1.NodeInternalIP, "10.0.0.1"), address(v1.NodeExternalIP, "198.51.100.1"),
		address(v1.NodeInternalDNS, "in"), address(v1.NodeHostName, "in"), address(v1.NodeExternalDNS, "out"),
	}
	named := ec2types.Instance{PublicIpAddress: aws.String("198.51.100.1"), PrivateDnsName: aws.String("in"), PublicDnsName: aws.String("out")}
	with := func(i ec2types.Instance, n ...ec2types.InstanceNetworkInterface) ec2types.Instance {
		i.NetworkInterfaces = n
		return i
	}
	for name, tc := range map[string]struct {
		instance ec2types.Instance
		families []string
		want     []v1.NodeAddress
		fails    bool
	}{
		"all kinds":    {with(named, simtest.NetworkInterface(0, "10.0.0.1")), []string{"ipv4"}, one, false},
		"nothing":      {ec2types.Instance{PublicDnsName: aws.String("")}, []string{"ipv4", "ipv6"}, nil, false},
		"no family":    {with(named, simtest.NetworkInterface(0, "10.0.0.1")), nil, nil, false},
		"not IPv4":     {with(ec2types.Instance{}, simtest.NetworkInterface(0, "10.0.0.256")), []string{"ipv4"}, []v1.NodeAddress{address(v1.NodeInternalIP, "10.0.0.256")}, true},
		"IPv6 alone":   {with(named, withIPv6(simtest.NetworkInterface(0, "10.0.0.1"), "2001:db8::1", "2001:db8::2")), []string{"ipv6"}, []v1.NodeAddress{address(v1.NodeInternalIP, "2001:db8::1")}, false},
		"IPv4, IPv6":   {with(named, withIPv6(simtest.NetworkInterface(0, "10.0.0.1"), "2001:db8::1")), []string{"ipv4", "ipv6"}, append(one[:len(one):len(one)], address(v1.NodeInternalIP, "2001:db8::1")), false},
		"IPv6, IPv4":   {with(named, withIPv6(simtest.NetworkInterface(0, "10.0.0.1"), "2001:db8::1")), []string{"ipv6", "ipv4"}, append([]v1.NodeAddress{address(v1.NodeInternalIP, "2001:db8::1")}, one...), false},
		"out of order": {with(ec2types.Instance{}, simtest.NetworkInterface(-1, "10.0.0.7"), simtest.NetworkInterface(2, "10.0.0.3"), simtest.NetworkInterface(0, "10.0.0.1", "10.0.0.2")), []string{"ipv4"}, internal("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.7"), false},
		"IPv6 out of order": {with(ec2types.Instance{}, withIPv6(simtest.NetworkInterface(1), "2001:db8::2"), simtest.NetworkInterface(2), withIPv6(simtest.NetworkInterface(0), "2001:db8::1")),
			[]string{"ipv6"}, internal("2001:db8::1", "2001:db8::2"), false},
		"not in use": {with(ec2types.Instance{}, detaching, simtest.NetworkInterface(0, "10.0.0.1")), []string{"ipv4"}, internal("10.0.0.1"), false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := addressesOf(&tc.instance, tc.families)
			if (err != nil) != tc.fails {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

func internal(list ...string) []v1.NodeAddress {
	var out []v1.NodeAddress
	for _, a := range list {
		out = append(out, v1.NodeAddress{Type: v1.NodeInternalIP, Address: a})
	}
	return out
}

func TestStates(t *testing.T) {
	for name, tc := range map[string]struct {
		state *ec2types.InstanceState
		gone  bool
		want  commoninstances.State
	}{
		"pending":       {&ec2types.InstanceState{Name: ec2types.InstanceStateNamePending}, false, commoninstances.Pending},
		"running":       {&ec2types.InstanceState{Name: ec2types.InstanceStateNameRunning}, false, commoninstances.Running},
		"shutting down": {&ec2types.InstanceState{Name: ec2types.InstanceStateNameShuttingDown}, false, commoninstances.Terminating},
		"terminated":    {&ec2types.InstanceState{Name: ec2types.InstanceStateNameTerminated}, true, commoninstances.Running},
		"stopping":      {&ec2types.InstanceState{Name: ec2types.InstanceStateNameStopping}, false, commoninstances.Running},
		"stopped":       {&ec2types.InstanceState{Name: ec2types.InstanceStateNameStopped}, false, commoninstances.Stopped},
		"no state":      {nil, false, commoninstances.Running},
		"a new state":   {&ec2types.InstanceState{Name: "hibernated"}, false, commoninstances.Running},
	} {
		t.Run(name, func(t *testing.T) {
			i := &ec2types.Instance{State: tc.state}
			if isTerminated(i) != tc.gone || stateOf(i) != tc.want {
				t.Errorf("terminated %v, state %s", isTerminated(i), stateOf(i))
			}
		})
	}
}
