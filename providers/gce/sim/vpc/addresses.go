package vpc

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
)

// Purposes of internal addresses.
const (
	purposeEndpoint = "GCE_ENDPOINT"
	PurposeShared   = "SHARED_LOADBALANCER_VIP"
)

// Status of addresses.
const (
	statusReserving = "RESERVING"
	statusReserved  = "RESERVED"
	statusInUse     = "IN_USE"
)

// Address is a static address.
type Address struct {
	core.Meta

	Address          string            `json:"address"`
	AddressType      string            `json:"addressType" enum:"EXTERNAL|INTERNAL|UNSPECIFIED_TYPE"`
	Purpose          string            `json:"purpose,omitempty" enum:"DNS_RESOLVER|GCE_ENDPOINT|IPSEC_INTERCONNECT|NAT_AUTO|PRIVATE_SERVICE_CONNECT|SERVERLESS|SHARED_LOADBALANCER_VIP|VPC_PEERING"`
	NetworkTier      string            `json:"networkTier" enum:"FIXED_STANDARD|PREMIUM|STANDARD|STANDARD_OVERRIDES_FIXED_STANDARD"`
	Subnetwork       string            `json:"subnetwork,omitempty"`
	Network          string            `json:"network,omitempty"`
	Region           string            `json:"region"`
	Status           string            `json:"status" enum:"IN_USE|RESERVED|RESERVING"`
	Users            []string          `json:"users,omitempty"`
	IPVersion        string            `json:"ipVersion,omitempty" enum:"IPV4|IPV6|UNSPECIFIED_VERSION"`
	PrefixLength     int               `json:"prefixLength,omitempty"`
	Labels           map[string]string `json:"labels,omitempty"`
	LabelFingerprint string            `json:"labelFingerprint"`

	key addressKey
}

// References implements core.Entity.
func (a *Address) References() []string {
	if a.Subnetwork == "" {
		return nil
	}
	return []string{a.Subnetwork}
}

var addresses = core.Collection[*State, *Address]{Service: "addresses", Name: "addresses", Kind: "address",
	Scope: "regions", New: func() *Address { return &Address{} }, Quota: core.QuotaAddresses,
	Insert: (*State).insertAddress, Removed: (*State).removeAddress, Show: (*State).showAddress}

func addressMethods() []core.Method[*State] {
	methods := addresses.Methods(core.Method[*State]{ID: "setLabels", Mutating: true, Permission: "setLabels",
		Do: func(s *State, k *core.Call) (any, error) {
			a, err := addresses.Find(s, k)
			if err != nil {
				return nil, err
			}
			return core.SetLabels(s.State, k, a, &a.Labels, &a.LabelFingerprint)
		}})
	for i := range methods {
		if methods[i].ID == "addresses.delete" {
			methods[i].Do = deleteAddress
		}
	}
	return methods
}

// deleteAddress deletes an address. Its users keep it as an ephemeral one, unless the options say otherwise.
func deleteAddress(s *State, k *core.Call) (any, error) {
	a, err := addresses.Find(s, k)
	if err != nil {
		return nil, err
	}
	if users := s.holders[a.key].users; s.Options.KeepUsedAddresses && len(users) > 0 {
		return nil, core.ErrInUse(a.Ref(), core.ParseURL(users[0]))
	}
	return addresses.Destroy(s, k, a)
}

func (s *State) removeAddress(a *Address) {
	if h := s.holders[a.key]; h != nil {
		h.reserved = nil
	}
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
	a.AddressType = cmp.Or(a.AddressType, TypeExternal)
	a.Region = core.Ref{Project: k.Project(), Collection: "regions", Name: k.Params["region"]}.URL()
	a.Status, a.Users = statusReserving, nil
	if a.IPVersion == "IPV6" {
		return core.Invalid("resource.ipVersion", a.IPVersion, "IPv6 addresses are not simulated.")
	}
	a.IPVersion, a.LabelFingerprint = "", core.Fingerprint(a.Labels)
	var ip netip.Addr
	if a.Address != "" {
		var err error
		if ip, err = netip.ParseAddr(a.Address); err != nil || !ip.Is4() {
			return core.Invalid("resource.address", a.Address, "Must be an IPv4 address.")
		}
	}
	switch a.AddressType {
	case TypeExternal:
		return s.reserveExternal(a, ip)
	case TypeInternal:
		return s.reserveInternal(k, a, ip)
	}
	return core.Invalid("resource.addressType", a.AddressType, "Must be EXTERNAL or INTERNAL.")
}

// reserveExternal reserves a free address, or the ephemeral address of a resource, which becomes static.
func (s *State) reserveExternal(a *Address, ip netip.Addr) (err error) {
	a.NetworkTier = cmp.Or(a.NetworkTier, TierPremium)
	switch {
	case a.NetworkTier != TierPremium && a.NetworkTier != TierStandard:
		return core.Invalid("resource.networkTier", a.NetworkTier, "Must be PREMIUM or STANDARD.")
	case a.Purpose != "":
		return core.Invalid("resource.purpose", a.Purpose, "The purpose of an external address cannot be set.")
	case a.Subnetwork != "" || a.Network != "":
		return core.Invalid("resource.subnetwork", cmp.Or(a.Subnetwork, a.Network),
			"The subnetwork and the network can be set for internal addresses only.")
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
	a.Purpose = cmp.Or(a.Purpose, purposeEndpoint)
	if a.Purpose != purposeEndpoint && a.Purpose != PurposeShared {
		return core.Invalid("resource.purpose", a.Purpose, "Only GCE_ENDPOINT and SHARED_LOADBALANCER_VIP are simulated.")
	}
	subnet, err := s.SubnetworkFor(k, a.Network, a.Subnetwork)
	if err != nil {
		return err
	}
	a.NetworkTier, a.Network, a.Subnetwork = TierPremium, "", subnet.SelfLink
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
	r, err := core.Resolve(field, text, "addresses", k.Scope(), k.Target)
	if err != nil {
		return netip.Addr{}, err
	}
	if err := k.Permit("addresses.use", r); err != nil {
		return netip.Addr{}, err
	}
	a, err := core.Use[*Address](s.State, r)
	if err != nil {
		return netip.Addr{}, err
	}
	return a.key.ip, nil
}

// Reserve reserves an external address in the cluster's project and region.
func (s *State) Reserve(name, tier string) (*Address, error) {
	a := &Address{NetworkTier: tier}
	a.Name = name
	k := &core.Call{Params: map[string]string{"project": s.Options.Project, "region": s.Options.Region}}
	_, err := addresses.Create(s, k, a)
	s.Advance()
	return a, err
}
