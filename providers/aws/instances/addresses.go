// Package instances reads the EC2 instances of nodes.
package instances

import (
	"cmp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"

	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
)

// addressesOf returns the addresses of a Node in the order of the families. Kubernetes uses the first address of
// a type, so both families follow the device index of the interfaces.
func addressesOf(i *ec2types.Instance, families []string) ([]v1.NodeAddress, error) {
	var out commoninstances.AddressList
	interfaces := InUse(i.NetworkInterfaces)
	for _, family := range families {
		switch family {
		case config.FamilyIPv4:
			for _, n := range interfaces {
				for _, a := range n.PrivateIpAddresses {
					out.Add(v1.NodeInternalIP, aws.ToString(a.PrivateIpAddress))
				}
			}
			out.Add(v1.NodeExternalIP, aws.ToString(i.PublicIpAddress))
			out.Add(v1.NodeInternalDNS, aws.ToString(i.PrivateDnsName))
			out.Add(v1.NodeHostName, aws.ToString(i.PrivateDnsName))
			out.Add(v1.NodeExternalDNS, aws.ToString(i.PublicDnsName))
		case config.FamilyIPv6:
			for _, n := range interfaces {
				if len(n.Ipv6Addresses) > 0 {
					out.Add(v1.NodeInternalIP, aws.ToString(n.Ipv6Addresses[0].Ipv6Address))
				}
			}
		}
	}
	return out.Addresses()
}

// InUse returns the interfaces with status in-use, sorted by device index. An interface without an attachment
// comes last.
func InUse(all []ec2types.InstanceNetworkInterface) []ec2types.InstanceNetworkInterface {
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
	sorting.StableFunc(interfaces, func(a, b ec2types.InstanceNetworkInterface) int {
		return cmp.Or(cmp.Compare(index(a), index(b)), cmp.Compare(card(a), card(b)))
	})
	return interfaces
}
