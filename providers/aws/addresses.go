package aws

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"
)

// The IP families of nodes' addresses, as the configuration writes them.
const (
	familyIPv4 = "ipv4"
	familyIPv6 = "ipv6"
)

// addressesOf returns a node's addresses in the order of the families. The first of a kind is the
// one that the cluster uses, so both families follow the interfaces' device index.
func addressesOf(i *ec2types.Instance, families []string) ([]v1.NodeAddress, error) {
	var out addressList
	interfaces := inUse(i.NetworkInterfaces)
	for _, family := range families {
		switch family {
		case familyIPv4:
			for _, n := range interfaces {
				for _, a := range n.PrivateIpAddresses {
					out.add(v1.NodeInternalIP, a.PrivateIpAddress)
				}
			}
			out.add(v1.NodeExternalIP, i.PublicIpAddress)
			out.add(v1.NodeInternalDNS, i.PrivateDnsName)
			out.add(v1.NodeHostName, i.PrivateDnsName)
			out.add(v1.NodeExternalDNS, i.PublicDnsName)
		case familyIPv6:
			for _, n := range interfaces {
				if len(n.Ipv6Addresses) > 0 {
					out.add(v1.NodeInternalIP, n.Ipv6Addresses[0].Ipv6Address)
				}
			}
		}
	}
	return out.list, out.err
}

// inUse returns the interfaces that carry traffic, by device index. An interface without an
// attachment comes last.
func inUse(all []ec2types.InstanceNetworkInterface) []ec2types.InstanceNetworkInterface {
	const last = 1 << 30
	index := func(n ec2types.InstanceNetworkInterface) int32 {
		if n.Attachment == nil {
			return last
		}
		return aws.ToInt32(n.Attachment.DeviceIndex)
	}
	card := func(n ec2types.InstanceNetworkInterface) int32 {
		if n.Attachment == nil {
			return last
		}
		return aws.ToInt32(n.Attachment.NetworkCardIndex)
	}
	interfaces := slices.DeleteFunc(slices.Clone(all), func(n ec2types.InstanceNetworkInterface) bool {
		return n.Status != ec2types.NetworkInterfaceStatusInUse
	})
	slices.SortStableFunc(interfaces, func(a, b ec2types.InstanceNetworkInterface) int {
		return cmp.Or(cmp.Compare(index(a), index(b)), cmp.Compare(card(a), card(b)))
	})
	return interfaces
}

// addressList collects addresses; err is the first that is none.
type addressList struct {
	list []v1.NodeAddress
	err  error
}

// add appends an address unless it is empty.
func (l *addressList) add(kind v1.NodeAddressType, text *string) {
	address := aws.ToString(text)
	if address == "" {
		return
	}
	if kind == v1.NodeInternalIP || kind == v1.NodeExternalIP {
		if _, err := netip.ParseAddr(address); err != nil && l.err == nil {
			l.err = fmt.Errorf("%s %q is no IP address", kind, address)
		}
	}
	l.list = append(l.list, v1.NodeAddress{Type: kind, Address: address})
}
