package vpc

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
)

// Status of addresses.
const (
	statusReserving = "RESERVING"
	statusReserved  = "RESERVED"
	statusInUse     = "IN_USE"
)

func (s *State) addresses() core.Collection[*Address] {
	return core.Collection[*Address]{State: s.State, Name: "addresses", Scope: "regions", Quota: core.QuotaAddresses,
		Insert: s.insertAddress, InUse: s.userOfAddress, Removed: s.removeAddress, Show: s.showAddress}
}

// userOfAddress returns a user that keeps an address from being deleted. By default users keep it as an ephemeral one.
func (s *State) userOfAddress(a *Address) string {
	if users := s.holders[a.key].users; s.Options.KeepUsedAddresses && len(users) > 0 {
		return users[0]
	}
	return ""
}

func (s *State) removeAddress(a *Address) {
	s.holders[a.key].reserved = nil
	s.dropUnused(a.key)
}

func (s *State) showAddress(a *Address) *Address {
	view := *a
	view.Users = slices.Clone(s.holders[a.key].users)
	view.Status = statusReserved
	if len(view.Users) > 0 {
		view.Status = statusInUse
	}
	return &view
}

func (s *State) insertAddress(k *core.Call, a *Address) error {
	a.Status, a.IPVersion = statusReserving, ""
	ip, _ := netip.ParseAddr(a.Address)
	if a.AddressType == TypeInternal {
		return s.reserveInternal(k, a, ip)
	}
	return s.reserveExternal(a, ip)
}

// reserveExternal reserves a free address, or the ephemeral address of a resource, which becomes static.
func (s *State) reserveExternal(a *Address, ip netip.Addr) (err error) {
	switch {
	case a.Purpose != "":
		return core.Invalid("resource.purpose", a.Purpose, "The purpose of an external address cannot be set.")
	case a.Subnetwork != "":
		return core.Invalid("resource.subnetwork", a.Subnetwork, "It can be set for internal addresses only.")
	}
	if !ip.IsValid() {
		if ip, err = s.FreeExternal(a.NetworkTier); err != nil {
			return err
		}
		s.reserve("", ip, a)
		return nil
	}
	switch h := s.holderOf("", ip); {
	case h == nil:
		return core.InvalidLate("resource.address", a.Address, "The specified IP address is not in use by the project.")
	case h.reserved != nil:
		return core.InvalidLate("resource.address", a.Address, "Specified IP address is already reserved.")
	case h.tier != a.NetworkTier:
		return core.InvalidLate("resource.address", a.Address, "The network tier of the address is %s.", h.tier)
	}
	s.reserve("", ip, a)
	return nil
}

// reserveInternal reserves an address of a subnet.
func (s *State) reserveInternal(k *core.Call, a *Address, ip netip.Addr) error {
	if a.NetworkTier == TierStandard {
		return core.Invalid("resource.networkTier", a.NetworkTier, "Internal addresses are always in the premium tier.")
	}
	a.Purpose = cmp.Or(a.Purpose, "GCE_ENDPOINT")
	subnet, err := s.SubnetworkFor(k, "", a.Subnetwork)
	if err != nil {
		return err
	}
	a.Subnetwork = subnet.SelfLink
	if !ip.IsValid() {
		if ip, err = s.FreeInternal(subnet); err != nil {
			return err
		}
	} else if err := s.ClaimInternal("resource.address", subnet, ip); err != nil {
		return err
	}
	if h := s.holderOf(subnet.Network, ip); h != nil && h.reserved != nil {
		return core.InvalidLate("resource.address", a.Address, "Specified IP address is already reserved.")
	}
	s.reserve(subnet.Network, ip, a)
	return nil
}

func (s *State) reserve(network string, ip netip.Addr, a *Address) {
	a.key, a.Address = addressKey{network, ip}, ip.String()
	if s.holders[a.key] == nil {
		s.holders[a.key] = &holder{tier: a.NetworkTier}
	}
	s.holders[a.key].reserved = a
}

// AddressNamed returns the IP of an address resource that another resource names.
func (s *State) AddressNamed(k *core.Call, field, text string) (netip.Addr, error) {
	r, err := s.ResolveLink(k, field, "addresses.use", text, k.Scope())
	if err != nil {
		return netip.Addr{}, err
	}
	a, err := core.Get[*Address](s.State, r)
	if err != nil {
		return netip.Addr{}, err
	}
	return a.key.ip, nil
}

// Reserve reserves an external address in the cluster's project and region.
func (s *State) Reserve(name, tier string) (ip string, err error) {
	a := &Address{NetworkTier: tier}
	a.Name = name
	k := &core.Call{Params: map[string]string{"project": s.Options.Project, "region": s.Options.Region}}
	_, err = s.addresses().Create(k, a)
	s.Advance()
	return a.Address, err
}
