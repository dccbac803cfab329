package instances

import (
	"maps"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	common "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
)

// addressRules select and sort the addresses of nodes, by the section [Networking]. Load balancers and routes use the
// first internal address.
type addressRules struct {
	withoutIPv6 bool
	public      []string
	internal    []string
	order       []netip.Prefix
}

func newAddressRules(n config.Networking) addressRules {
	return addressRules{
		withoutIPv6: n.IPv6SupportDisabled, public: n.PublicNetworkNames, internal: n.InternalNetworkNames,
		order: n.SortOrder(),
	}
}

// networkAddresses are a server's addresses by the name of their network.
type networkAddresses map[string][]api.ServerAddress

// nodeAddresses returns a node's addresses: first those of its ports in the order of Neutron, then those of
// its networks by name. subPorts are the addresses of trunk subports. Existing nodes depend on this order.
func (r addressRules) nodeAddresses(
	s api.Server, ports []api.Port, subPorts networkAddresses,
) ([]v1.NodeAddress, error) {
	a := &common.AddressList{WithoutIPv6: r.withoutIPv6}
	for _, port := range ports {
		for _, ip := range port.FixedIPs {
			if port.Status == api.PortActive {
				a.Add(v1.NodeInternalIP, ip.Address)
			}
		}
	}
	a.Add(v1.NodeExternalIP, s.AccessIPv4)
	a.Add(v1.NodeExternalIP, s.AccessIPv6)
	a.Add(v1.NodeHostName, s.Metadata["hostname"])
	byNetwork := networkAddresses{}
	for _, addresses := range []networkAddresses{s.Addresses, subPorts} {
		for network, list := range addresses {
			byNetwork[network] = append(byNetwork[network], list...)
		}
	}
	for _, network := range slices.Sorted(maps.Keys(byNetwork)) {
		for _, address := range byNetwork[network] {
			r.addNetworkAddress(a, network, address)
		}
	}
	list, err := a.Addresses()
	r.sort(list)
	return list, err
}

func (r addressRules) addNetworkAddress(a *common.AddressList, network string, address api.ServerAddress) {
	switch {
	case address.Type == api.AddressFloating:
		a.Add(v1.NodeExternalIP, address.Address)
	case slices.Contains(r.public, network):
		a.Remove(address.Address)
		a.Add(v1.NodeExternalIP, address.Address)
	case len(r.internal) == 0 || slices.Contains(r.internal, network):
		a.Add(v1.NodeInternalIP, address.Address)
	default:
		a.Remove(address.Address)
	}
}

// sort sorts addresses by the configured ranges, and those of one range by their bytes. Addresses outside
// of all ranges keep their order and come last.
func (r addressRules) sort(list []v1.NodeAddress) {
	if len(r.order) == 0 {
		return
	}
	sorting.StableFunc(list, func(a, b v1.NodeAddress) int {
		ipA, rankA := r.rank(a.Address)
		ipB, rankB := r.rank(b.Address)
		if rankA == rankB && rankA < len(r.order) {
			return ipA.Compare(ipB)
		}
		return rankA - rankB
	})
}

// rank returns the index of the first range that contains the address.
func (r addressRules) rank(address string) (netip.Addr, int) {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ip, len(r.order)
	}
	for i, p := range r.order {
		if p.Contains(ip) {
			return ip, i
		}
	}
	return ip, len(r.order)
}
