package aws

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// fargateNodes are the Fargate nodes that were found. Nothing lists them, because their network
// interfaces carry no tag of the cluster; those that are known are read with every list, so that
// they are as cheap as instances from then on.
type fargateNodes struct {
	mu  sync.Mutex
	ids map[string]bool
}

func newFargateNodes() *fargateNodes { return &fargateNodes{ids: map[string]bool{}} }

func (f *fargateNodes) known() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.ids))
}

// note takes the answer to a question for ids.
func (f *fargateNodes) note(ids []string, found []instances.Instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		delete(f.ids, id)
	}
	for _, i := range found {
		f.ids[i.ID] = true
	}
}

// fargateKey is how the network interface of a Fargate node is found: a filter and its value.
type fargateKey struct{ filter, value string }

// Filters of DescribeNetworkInterfaces.
const (
	filterPrivateIP   = "private-ip-address"
	filterIPv6        = "ipv6-addresses.ipv6-address"
	filterPrivateName = "private-dns-name"
)

// keyOfFargate reads what stands behind the prefix of a Fargate node's ID: an address, a name made
// of an address (ip-10-0-1-2.us-west-2.compute.internal), or another private DNS name.
func keyOfFargate(id string) fargateKey {
	endpoint := strings.TrimPrefix(id, names.FargatePrefix)
	ip, err := netip.ParseAddr(endpoint)
	if err != nil {
		ip, _ = addressInName(endpoint)
	}
	switch {
	case ip.Is4():
		return fargateKey{filterPrivateIP, ip.String()}
	case ip.Is6():
		return fargateKey{filterIPv6, ip.String()}
	default:
		return fargateKey{filterPrivateName, endpoint}
	}
}

// addressInName returns the IPv4 address in a name of the form ip-10-0-1-2 with any domain.
func addressInName(name string) (netip.Addr, bool) {
	host, _, _ := strings.Cut(name, ".")
	dashed, ok := strings.CutPrefix(host, "ip-")
	if !ok || strings.Contains(dashed, ":") {
		return netip.Addr{}, false
	}
	ip, err := netip.ParseAddr(strings.ReplaceAll(dashed, "-", "."))
	return ip, err == nil && ip.Is4()
}

// readFargate reads the Fargate nodes of these IDs. One whose network interface is not attached
// does not exist, and is absent.
func (s *instanceSource) readFargate(ctx context.Context, in scope, ids []string) ([]instances.Instance, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if in.VPC == "" {
		return nil, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "DescribeNetworkInterfaces",
			Err: fmt.Errorf("Fargate nodes are found by their address, which only their VPC makes unique: set VPC in section [Global]")}
	}
	values, idOf := map[string][]string{}, map[fargateKey]string{}
	for _, id := range ids {
		key := keyOfFargate(id)
		values[key.filter] = append(values[key.filter], key.value)
		idOf[key] = id
	}
	attached := append(in.inVPC(), ec2Filter("attachment.status", string(ec2types.AttachmentStatusAttached)))
	var out []instances.Instance
	for _, filter := range slices.Sorted(maps.Keys(values)) {
		found, err := inChunks(values[filter], filter, attached, func(filters []ec2types.Filter) ([]ec2types.NetworkInterface, error) {
			return s.describeInterfaces(ctx, filters)
		})
		if err != nil {
			return nil, err
		}
		nodes, err := s.convertFargate(ctx, in, found, func(n *ec2types.NetworkInterface) string { return idOf[keyOfInterface(filter, n)] })
		if err != nil {
			return nil, err
		}
		out = append(out, nodes...)
	}
	s.fargate.note(ids, out)
	return out, nil
}

// keyOfInterface is the key under which a filter found an interface.
func keyOfInterface(filter string, n *ec2types.NetworkInterface) fargateKey {
	switch filter {
	case filterPrivateIP:
		return fargateKey{filter, aws.ToString(n.PrivateIpAddress)}
	case filterIPv6:
		if len(n.Ipv6Addresses) > 0 {
			return fargateKey{filter, aws.ToString(n.Ipv6Addresses[0].Ipv6Address)}
		}
		return fargateKey{}
	default:
		return fargateKey{filter, aws.ToString(n.PrivateDnsName)}
	}
}

func (s *instanceSource) describeInterfaces(ctx context.Context, filters []ec2types.Filter) ([]ec2types.NetworkInterface, error) {
	var all []ec2types.NetworkInterface
	pages := ec2.NewDescribeNetworkInterfacesPaginator(s.ec2, &ec2.DescribeNetworkInterfacesInput{Filters: filters, MaxResults: aws.Int32(pageSize)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, awserr.Wrap("DescribeNetworkInterfaces", err)
		}
		all = append(all, page.NetworkInterfaces...)
	}
	return all, nil
}

// convertFargate puts network interfaces into the terms of package instances. A Fargate node has no
// type, and is named like its ID.
func (s *instanceSource) convertFargate(ctx context.Context, in scope, found []ec2types.NetworkInterface, idOf func(*ec2types.NetworkInterface) string) ([]instances.Instance, error) {
	var zones []string
	for n := range found {
		zones = append(zones, aws.ToString(found[n].AvailabilityZone))
	}
	zoneIDs := s.zones.named(ctx, zones, nil)
	var out []instances.Instance
	for n := range found {
		id, zone := idOf(&found[n]), zones[n]
		if id == "" {
			continue
		}
		providerID, err := s.providerID(zone, id)
		if err == nil {
			var addresses []v1.NodeAddress
			addresses, err = fargateAddresses(&found[n], s.families)
			out = append(out, instances.Instance{
				ID: id, ProviderID: providerID, NodeName: id, Zone: zone, Region: in.Region,
				State: instances.Running, Addresses: addresses, Labels: nodeLabels(zoneIDs[zone], nil),
			})
		}
		if err != nil {
			return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: "DescribeNetworkInterfaces", Err: fmt.Errorf("%s: %w", id, err)}
		}
	}
	return out, nil
}

// fargateAddresses returns a Fargate node's addresses in the order of the families.
func fargateAddresses(n *ec2types.NetworkInterface, families []string) ([]v1.NodeAddress, error) {
	var out instances.AddressList
	for _, family := range families {
		switch family {
		case FamilyIPv4:
			out.Add(v1.NodeInternalIP, aws.ToString(n.PrivateIpAddress))
			out.Add(v1.NodeInternalDNS, aws.ToString(n.PrivateDnsName))
		case FamilyIPv6:
			if len(n.Ipv6Addresses) > 0 {
				out.Add(v1.NodeInternalIP, aws.ToString(n.Ipv6Addresses[0].Ipv6Address))
			}
		}
	}
	return out.Addresses()
}
