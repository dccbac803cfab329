package instances

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	common "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
)

// AddressRules select the addresses of nodes.
type AddressRules struct {
	// Families are the IP families of nodes, in order.
	Families []v1.IPFamily
	config.Addresses
}

// candidate is an address of a machine on a network.
type candidate struct {
	address netip.Addr
	network string
}

// nodeAddresses returns the addresses of a node: the name of the guest, and for each family at most one internal and
// one external address. It returns an error and no address if a family has none.
func (r AddressRules) nodeAddresses(m api.Machine) ([]v1.NodeAddress, error) {
	if m.HostName == "" || len(m.NICs) == 0 {
		return nil, errors.New("VMware Tools report no host name or no network interface: check that they run in the guest")
	}
	candidates, err := r.candidates(m)
	if err != nil {
		return nil, err
	}
	list := common.AddressList{}
	list.Add(v1.NodeHostName, m.HostName)
	for _, family := range r.Families {
		internal, external, err := r.choose(family, candidates)
		if err != nil {
			return nil, err
		}
		if internal.IsValid() {
			list.Add(v1.NodeInternalIP, internal.String())
		}
		if external.IsValid() {
			list.Add(v1.NodeExternalIP, external.String())
		}
	}
	return list.Addresses()
}

// candidates returns the usable addresses in the order of the guest, those of its metadata first.
func (r AddressRules) candidates(m api.Machine) ([]candidate, error) {
	var out []candidate
	hasNetwork := false
	for _, nic := range m.NICs {
		if nic.Device == api.NoDevice {
			continue
		}
		hasNetwork = hasNetwork || strings.EqualFold(nic.Network, r.Internal.Network) ||
			strings.EqualFold(nic.Network, r.External.Network)
		for _, text := range nic.Addresses {
			if ip, err := netip.ParseAddr(text); err == nil && isUsable(ip) {
				out = append(out, candidate{ip.Unmap(), nic.Network})
			}
		}
	}
	if r.Internal.Network != "" && r.External.Network != "" && !hasNetwork {
		return nil, fmt.Errorf("no network interface is on %s or %s: correct internal-vm-network-name and "+
			"external-vm-network-name in section [Nodes]", r.Internal.Network, r.External.Network)
	}
	static, err := staticAddresses(m)
	if err != nil {
		return nil, fmt.Errorf("guestinfo.metadata: %w", err)
	}
	// The order of the other addresses stays.
	sorting.StableFunc(out, func(a, b candidate) int { return rank(static, a.address) - rank(static, b.address) })
	return out, nil
}

// rank returns the position of an address in a list; addresses that are not in it come last.
func rank(list []netip.Addr, address netip.Addr) int {
	if i := slices.Index(list, address); i >= 0 {
		return i
	}
	return len(list)
}

func isUsable(ip netip.Addr) bool {
	return !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && !ip.IsMulticast()
}

// choose returns the addresses of one family. If no rule finds one, the first address is both internal and external.
func (r AddressRules) choose(family v1.IPFamily, all []candidate) (internal, external netip.Addr, err error) {
	filter := func(rule config.AddressRule) []candidate {
		return slices.DeleteFunc(slices.Clone(all), func(c candidate) bool {
			return c.address.Is4() != (family == v1.IPv4Protocol) || containsAddress(rule.Exclude, c.address)
		})
	}
	internals, externals := filter(r.Internal), filter(r.External)
	internal, external = selectAddress(r.Internal, internals), selectAddress(r.External, externals)
	if !internal.IsValid() && !external.IsValid() {
		internal, external = firstAddress(internals), firstAddress(externals)
	}
	if !internal.IsValid() && !external.IsValid() {
		return internal, external, fmt.Errorf("no usable %s address: the guest reports %s", family, formatCandidates(all))
	}
	return internal, external, nil
}

// selectAddress returns the address that a rule selects: the first one in the first range with one, or else the first
// one on the network.
func selectAddress(rule config.AddressRule, candidates []candidate) netip.Addr {
	for _, prefix := range rule.Ranges {
		for _, c := range candidates {
			if prefix.Contains(c.address) {
				return c.address
			}
		}
	}
	if rule.Network != "" {
		for _, c := range candidates {
			if strings.EqualFold(c.network, rule.Network) {
				return c.address
			}
		}
	}
	return netip.Addr{}
}

func firstAddress(candidates []candidate) netip.Addr {
	if len(candidates) == 0 {
		return netip.Addr{}
	}
	return candidates[0].address
}

func containsAddress(ranges []netip.Prefix, address netip.Addr) bool {
	return slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(address) })
}

func formatCandidates(all []candidate) string {
	if len(all) == 0 {
		return "none"
	}
	var items []string
	for _, c := range all {
		items = append(items, fmt.Sprintf("%s on %s", c.address, c.network))
	}
	return strings.Join(items, ", ")
}
