package loadbalancer

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// addressRef is an address for the load balancer: an existing one, with its ID, or one that the plan creates.
type addressRef struct{ id, name string }

// handle identifies the address in a plan before it exists.
func (r addressRef) handle() plan.Handle { return plan.Handle("address " + r.name) }

// resolveIDs returns the IDs, once the plan has created the missing addresses.
func resolveIDs(refs []addressRef, ids *plan.Handles) ([]string, error) {
	resolved := []string{}
	for _, ref := range refs {
		if ref.id == "" {
			id, err := ids.ID(ref.handle())
			if err != nil {
				return nil, err
			}
			ref.id = id
		}
		resolved = append(resolved, ref.id)
	}
	return resolved, nil
}

// ensureAddresses finds an address of ours for each desired one, and plans the creation of the missing ones.
// It returns the desired ones, our surplus ones, and the creations.
func (d *differ) ensureAddresses() (refs []addressRef, surplus []api.Address, created []plan.Ref) {
	free := slices.Clone(d.have.Addresses)
	sorting.Func(free, func(a, b api.Address) int {
		return cmp.Or(d.preference(b)-d.preference(a), cmp.Compare(a.Name, b.Name))
	})
	for _, spec := range d.want.Addresses {
		i := slices.IndexFunc(free, func(a api.Address) bool { return d.matches(a, spec) })
		if i >= 0 {
			refs = append(refs, addressRef{free[i].ID, free[i].Name})
			free = slices.Delete(free, i, i+1)
			continue
		}
		creation := d.addressCreate(spec)
		d.plan.Add(creation)
		created = append(created, creation.Ref)
		refs = append(refs, addressRef{name: spec.Name})
	}
	return refs, free, created
}

// preference sorts the addresses of one family: the one in use is kept, so that clients do not have to
// follow; then come orphans of an interrupted creation.
func (d *differ) preference(a api.Address) int {
	if lb := d.have.LoadBalancer; lb != nil && slices.Contains(lb.AddressIDs, a.ID) {
		return 1
	}
	return 0
}

// matches reports whether an address of ours is the desired one.
func (d *differ) matches(a api.Address, spec api.AddressSpec) bool {
	return a.Family == spec.Family && (spec.IP == "" || sameIP(a.IP, spec.IP)) && !d.inUse(a)
}

// inUse reports whether another load balancer uses an address of ours.
func (d *differ) inUse(a api.Address) bool {
	return a.LoadBalancer != "" && (d.have.LoadBalancer == nil || a.LoadBalancer != d.have.LoadBalancer.ID)
}

func (d *differ) addressCreate(spec api.AddressSpec) plan.Change {
	var f plan.Fields
	f.Diff("family", "", spec.Family)
	f.Diff("ip", "", spec.IP)
	f.Diff("tags", "", plan.ShowMap(spec.Tags))
	return plan.Change{
		Ref:    plan.Ref{Kind: kindAddress, Name: spec.Name, Action: plan.Create},
		Fields: f,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			address, err := d.write.allocateAddress(ctx, spec)
			if err != nil {
				return err
			}
			ids.Set(addressRef{name: spec.Name}.handle(), address.ID)
			return nil
		},
	}
}

// releaseAddresses plans the release of addresses of ours. The cloud rejects those still in use, so the
// releases wait for after.
func (d *differ) releaseAddresses(addresses []api.Address, after []plan.Ref) {
	for _, address := range addresses {
		if d.inUse(address) {
			d.plan.Warnf("address %s (%s) is not released: the load balancer %s uses it", address.Name, address.IP,
				address.LoadBalancer)
			continue
		}
		release := plan.Change{
			Ref:    plan.Ref{Kind: kindAddress, Name: address.Name, Action: plan.Delete},
			ID:     address.ID,
			Fields: []plan.Field{{Name: "ip", Before: address.IP}},
			After:  after,
			Do: func(ctx context.Context, _ *plan.Handles) error {
				return d.write.releaseAddress(ctx, address.ID)
			},
		}
		if address.LoadBalancer != "" { // otherwise an orphan
			releasesAddress.Declare(&release)
		}
		d.plan.Add(release)
	}
}

// showIDs and showRefs format addresses by name if it is known: one that does not exist yet has no ID.
func (d *differ) showIDs(ids []string) []string {
	shown := slices.Clone(ids)
	for i, id := range ids {
		for _, a := range d.have.Addresses {
			if a.ID == id {
				shown[i] = a.Name
			}
		}
	}
	return shown
}

func showRefs(refs []addressRef) []string {
	shown := make([]string, len(refs))
	for i, ref := range refs {
		shown[i] = ref.name
	}
	return shown
}

// sameIP compares addresses in any notation.
func sameIP(a, b string) bool {
	x, errA := netip.ParseAddr(a)
	y, errB := netip.ParseAddr(b)
	return errA == nil && errB == nil && x.Unmap() == y.Unmap()
}

// familiesOf returns the families of IP addresses.
func familiesOf(ips []string) []string {
	var families []string
	for _, ip := range ips {
		if family := string(familyOf(ip)); !slices.Contains(families, family) {
			families = append(families, family)
		}
	}
	return families
}

func familyOf(ip string) v1.IPFamily {
	if addr, err := netip.ParseAddr(ip); err == nil && addr.Unmap().Is6() {
		return v1.IPv6Protocol
	}
	return v1.IPv4Protocol
}
