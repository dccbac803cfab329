package loadbalancer

import (
	"cmp"
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// addressKind are the addresses with the name of a load balancer. Such an address exists only while a forwarding rule
// is replaced: reserving the rule's own address keeps it.
var addressKind = rows.Kind[*api.Address, *struct{}]{
	Name: kindAddress,
	Key:  func(a *api.Address) string { return a.Name },
	Rows: []rows.Row[*api.Address, *struct{}]{
		{Name: "address", Value: rows.Text(func(a *api.Address) *string { return &a.Address })},
		{Name: "addressType", Value: rows.Text(func(a *api.Address) *string { return &a.AddressType })},
	},
}

// reserve plans the reservation of the address of a forwarding rule that is about to be replaced, unless it is
// reserved.
func (d *differ) reserve(rule api.ForwardingRule) []plan.Ref {
	isInternal := rule.Scheme == api.SchemeInternal
	isReserved := func(a api.Address) bool {
		return a.Address == rule.IPAddress && (a.AddressType == api.SchemeInternal) == isInternal &&
			(!isInternal || isInSubnet(a, rule.Subnetwork))
	}
	if slices.ContainsFunc(d.have.Addresses, isReserved) {
		return nil
	}
	var after []plan.Ref
	if d.have.Address != nil { // left over from an interruption, with another address
		after = append(after, d.releaseLeftover())
	}
	want := api.Address{Address: rule.IPAddress, AddressType: api.SchemeExternal, NetworkTier: rule.NetworkTier}
	if rule.Scheme == api.SchemeInternal {
		want.AddressType, want.NetworkTier, want.Subnetwork = api.SchemeInternal, "", rule.Subnetwork
	}
	want.Name, want.Description = d.name(), d.want.Rule.Description
	d.have.Address = &want
	return []plan.Ref{d.add(addressKind.Create(&want), addressReservation{want}, after...)}
}

// release plans the release of the address with the name of the load balancer. An address in use becomes ephemeral and
// stays with its forwarding rule.
func (d *differ) release(address api.Address, after ...plan.Ref) {
	change := addressKind.Delete(&address)
	change.Fields, change.ID = []plan.Field{{Name: "address", Before: address.Address}}, address.Name
	d.add(change, addressRelease{address.Name}, after...)
}

// releaseLeftover plans the release of an address that an interruption has left behind, before the reservation of
// another one under its name.
func (d *differ) releaseLeftover() plan.Ref {
	address := *d.have.Address
	d.have.Address = nil
	change := addressKind.Delete(&address)
	change.Key, change.Name, change.ID = address.Name, address.Name+" "+address.Address, address.Name
	return d.add(change, addressRelease{address.Name})
}

// keptAddress is the entry of an address in Observed.Kept.
func keptAddress(name string) string { return "addresses/" + name }

// fits reports whether a reserved address of the Service can be that of a new forwarding rule.
func (d *differ) fits(address api.Address, rule api.ForwardingRule) bool {
	if rule.IPAddress != "" && rule.IPAddress != address.Address ||
		cmp.Or(address.AddressType, api.SchemeExternal) != rule.Scheme {
		return false
	}
	if rule.Scheme == api.SchemeInternal {
		return isInSubnet(address, rule.Subnetwork)
	}
	return d.want.Tier == "" || cmp.Or(address.NetworkTier, api.TierPremium) == d.want.Tier
}

// addressReservation reserves an address.
type addressReservation struct{ want api.Address }

// Do implements plan.Step.
func (s addressReservation) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	return w.addresses.create(ctx, s.want, func(have *api.Address) bool { return have.Address == s.want.Address })
}

// addressRelease releases an address.
type addressRelease struct{ name string }

// Do implements plan.Step.
func (s addressRelease) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	inUse, err := w.addresses.remove(ctx, s.name)
	if inUse {
		w.recordKept(keptAddress(s.name))
	}
	return err
}
