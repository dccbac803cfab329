package instances

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

func newFargateNodes() *fargateNodes { return &fargateNodes{ids: map[string]bool{}} }

func (f *fargateNodes) known() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.ids))
}

// update records the result of a read of ids.
func (f *fargateNodes) update(ids []string, found []commoninstances.Instance) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		delete(f.ids, id)
	}
	for _, i := range found {
		f.ids[i.ID] = true
	}
}

// fargateKey is the filter, and its value, that finds the network interface of a Fargate node.
type fargateKey struct{ filter, value string }

// Filters of DescribeNetworkInterfaces.
const (
	filterPrivateIP   = "private-ip-address"
	filterIPv6        = "ipv6-addresses.ipv6-address"
	filterPrivateName = "private-dns-name"
)

// fargateKeyOf parses the ID of a Fargate node. Its prefix is followed by an address, by a name with an
// address (ip-10-0-1-2.us-west-2.compute.internal), or by another private DNS name.
func fargateKeyOf(id string) fargateKey {
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

// addressInName returns the IPv4 address in a name such as ip-10-0-1-2 with any domain.
func addressInName(name string) (netip.Addr, bool) {
	host, _, _ := strings.Cut(name, ".")
	dashed, ok := strings.CutPrefix(host, "ip-")
	if !ok || strings.Contains(dashed, ":") {
		return netip.Addr{}, false
	}
	ip, err := netip.ParseAddr(strings.ReplaceAll(dashed, "-", "."))
	return ip, err == nil && ip.Is4()
}

// readFargate reads Fargate nodes by ID. A Fargate node exists while its network interface is attached.
func (s *Source) readFargate(
	ctx context.Context, conn Connection, ids []string,
) ([]commoninstances.Instance, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if conn.VPC == "" {
		return nil, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "DescribeNetworkInterfaces",
			Err: errors.New("addresses of Fargate nodes are unique only within a VPC: set VPC in section [Global]")}
	}
	values, idOf := map[string][]string{}, map[fargateKey]string{}
	for _, id := range ids {
		key := fargateKeyOf(id)
		values[key.filter] = append(values[key.filter], key.value)
		idOf[key] = id
	}
	filters := append(conn.InVPC(), api.Filter("attachment.status", string(ec2types.AttachmentStatusAttached)))
	var out []commoninstances.Instance
	for _, filter := range slices.Sorted(maps.Keys(values)) {
		read := func(filters []ec2types.Filter) ([]ec2types.NetworkInterface, error) {
			return conn.describeInterfaces(ctx, filters)
		}
		found, err := inChunks(values[filter], filter, filters, read)
		if err != nil {
			return nil, err
		}
		idOfInterface := func(n *ec2types.NetworkInterface) string { return idOf[keyOfInterface(filter, n)] }
		nodes, err := s.convertFargate(ctx, conn, found, idOfInterface)
		if err != nil {
			return nil, err
		}
		out = append(out, nodes...)
	}
	s.fargate.update(ids, out)
	return out, nil
}

// keyOfInterface returns the key by which a filter found an interface.
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

func (c Connection) describeInterfaces(
	ctx context.Context, filters []ec2types.Filter,
) ([]ec2types.NetworkInterface, error) {
	pages := ec2.NewDescribeNetworkInterfacesPaginator(c.EC2, &ec2.DescribeNetworkInterfacesInput{
		Filters: filters, MaxResults: aws.Int32(pageSize),
	})
	return awserr.Collect(ctx, "DescribeNetworkInterfaces", pages,
		func(page *ec2.DescribeNetworkInterfacesOutput) []ec2types.NetworkInterface {
			return page.NetworkInterfaces
		})
}

// convertFargate converts network interfaces to instances. A Fargate node has no instance type, and its ID is
// its name.
func (s *Source) convertFargate(
	ctx context.Context, conn Connection, found []ec2types.NetworkInterface, idOf func(*ec2types.NetworkInterface) string,
) ([]commoninstances.Instance, error) {
	var zones []string
	for n := range found {
		zones = append(zones, aws.ToString(found[n].AvailabilityZone))
	}
	zoneIDs := s.zones.idsOfZones(ctx, zones, nil)
	var out []commoninstances.Instance
	for n := range found {
		id, zone := idOf(&found[n]), zones[n]
		if id == "" {
			continue
		}
		providerID, err := s.providerID(zone, id)
		if err == nil {
			var addresses []v1.NodeAddress
			addresses, err = fargateAddresses(&found[n], s.families)
			out = append(out, commoninstances.Instance{
				ID: id, ProviderID: providerID, NodeName: id, Zone: zone, Region: conn.Region,
				State: commoninstances.Running, Addresses: addresses, Labels: nodeLabels(zoneIDs[zone], nil),
			})
		}
		if err != nil {
			return nil, unreadable(id, err)
		}
	}
	return out, nil
}

// fargateAddresses returns the addresses of a Fargate node in the order of the families.
func fargateAddresses(n *ec2types.NetworkInterface, families []string) ([]v1.NodeAddress, error) {
	var out commoninstances.AddressList
	for _, family := range families {
		switch family {
		case config.FamilyIPv4:
			out.Add(v1.NodeInternalIP, aws.ToString(n.PrivateIpAddress))
			out.Add(v1.NodeInternalDNS, aws.ToString(n.PrivateDnsName))
		case config.FamilyIPv6:
			if len(n.Ipv6Addresses) > 0 {
				out.Add(v1.NodeInternalIP, aws.ToString(n.Ipv6Addresses[0].Ipv6Address))
			}
		}
	}
	return out.Addresses()
}
