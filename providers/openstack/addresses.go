package openstack

import (
	"maps"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// addressRules are the section [Networking]: which of a server's addresses its node has, and in
// which order. The first internal one is what load balancers and routes lead to.
type addressRules struct {
	withoutIPv6 bool
	public      []string
	internal    []string
	order       []netip.Prefix
}

func newAddressRules(n Networking) addressRules {
	r := addressRules{withoutIPv6: n.IPv6SupportDisabled, public: n.PublicNetworkNames, internal: n.InternalNetworkNames}
	for _, text := range splitList(n.AddressSortOrder) {
		if p, err := netip.ParsePrefix(text); err == nil { // others have been warned about
			r.order = append(r.order, p)
		}
	}
	return r
}

// networkAddresses are a server's addresses on one network, by the network's name.
type networkAddresses map[string][]api.ServerAddress

// nodeAddresses returns a node's addresses: of its ports in the order of Neutron, and of its networks
// by name. below are the addresses of ports below the server's (trunks). The order of these steps is
// that of the addresses, and nodes that exist depend on it.
func (r addressRules) nodeAddresses(s api.Server, ports []api.Port, below networkAddresses) ([]v1.NodeAddress, error) {
	a := &instances.AddressList{WithoutIPv6: r.withoutIPv6}
	for _, port := range ports {
		for _, ip := range port.FixedIPs {
			if port.Status == api.StatusActive {
				a.Add(v1.NodeInternalIP, ip.Address)
			}
		}
	}
	a.Add(v1.NodeExternalIP, s.AccessIPv4)
	a.Add(v1.NodeExternalIP, s.AccessIPv6)
	a.Add(v1.NodeHostName, s.Metadata["hostname"])
	on := networkAddresses{}
	for _, all := range []networkAddresses{s.Addresses, below} {
		for network, list := range all {
			on[network] = append(on[network], list...)
		}
	}
	for _, network := range slices.Sorted(maps.Keys(on)) {
		for _, address := range on[network] {
			r.addNetworkAddress(a, network, address)
		}
	}
	list, err := a.Addresses()
	r.sort(list)
	return list, err
}

func (r addressRules) addNetworkAddress(a *instances.AddressList, network string, address api.ServerAddress) {
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

// sort puts addresses into the configured order of ranges, and those of one range into the order of
// their bytes. What is in no range comes last, as it was.
func (r addressRules) sort(list []v1.NodeAddress) {
	if len(r.order) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b v1.NodeAddress) int {
		ipA, rankA := r.rank(a.Address)
		ipB, rankB := r.rank(b.Address)
		if rankA == rankB && rankA < len(r.order) {
			return ipA.Compare(ipB)
		}
		return rankA - rankB
	})
}

// rank is the index of the first range that has the address.
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
