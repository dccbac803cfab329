package model

import (
	"cmp"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// SuccessorAddress returns the address to reserve for the successor of a forwarding rule, and whether it is needed: not
// if others have reserved it, or if no subnet is known. External addresses that Services choose are reserved.
func SuccessorAddress(have, want api.ForwardingRule, reserved []api.Address) (address api.Address, needed bool) {
	address = api.Address{Address: want.IPAddress, AddressType: want.Scheme, NetworkTier: want.NetworkTier}
	address.Name, address.Description = want.Name, want.Description
	if want.IPAddress == have.IPAddress {
		return address, false
	}
	if want.Scheme != api.SchemeInternal {
		return address, want.IPAddress == "" && (have.Scheme != api.SchemeInternal || want.NetworkTier != api.TierPremium)
	}
	address.NetworkTier, address.Subnetwork = "", want.Subnetwork
	if have.Scheme == api.SchemeInternal {
		address.Subnetwork = cmp.Or(want.Subnetwork, have.Subnetwork)
	}
	isReserved := slices.ContainsFunc(reserved, func(a api.Address) bool {
		return a.Name != want.Name && a.Address == want.IPAddress && a.AddressType == api.SchemeInternal &&
			(a.Subnetwork == "" || api.Path(a.Subnetwork) == api.Path(address.Subnetwork))
	})
	return address, address.Subnetwork != "" && !isReserved
}

// Fits reports whether a reserved address of a Service can be that of a new forwarding rule. The tier is what the
// Service requests.
func Fits(address api.Address, rule api.ForwardingRule, tier string) bool {
	if rule.IPAddress != "" && rule.IPAddress != address.Address ||
		cmp.Or(address.AddressType, api.SchemeExternal) != rule.Scheme {
		return false
	}
	if rule.Scheme == api.SchemeInternal {
		return rule.Subnetwork == "" || api.Path(rule.Subnetwork) == api.Path(address.Subnetwork)
	}
	return tier == "" || cmp.Or(address.NetworkTier, api.TierPremium) == tier
}
