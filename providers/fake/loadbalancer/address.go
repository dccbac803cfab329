package loadbalancer

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// addressKind are the addresses of public load balancers. An allocated one never changes.
var addressKind = rows.Kind[*api.Address, *struct{}]{
	Name:     kindAddress,
	Key:      func(a *api.Address) string { return a.Name },
	Deletion: rows.Address("an address is released while it is in use"),
	Unused:   func(a *api.Address) bool { return a.LoadBalancer == "" }, // an orphan
	Rows: []rows.Row[*api.Address, *struct{}]{
		{Name: "family", Value: rows.Text(func(a *api.Address) *string { return &a.Family })},
		{Name: "ip", Value: rows.Text(func(a *api.Address) *string { return &a.IP })},
		{Name: "tags", Value: rows.Map(func(a *api.Address) *map[string]string { return &a.Tags })},
	},
}

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
	change := addressKind.Create(&api.Address{Name: spec.Name, Family: spec.Family, IP: spec.IP, Tags: spec.Tags})
	change.Step = addressAllocation{spec}
	return change
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
		release := addressKind.Delete(&address)
		release.Fields = []plan.Field{{Name: "ip", Before: address.IP}}
		release.ID, release.After, release.Step = address.ID, after, addressRelease{address.ID}
		d.plan.Add(release)
	}
}

// addressNames returns the names of addresses, and the ID of one that is not of the load balancer's name.
func (d *differ) addressNames(ids []string) []string {
	names := slices.Clone(ids)
	for i, id := range ids {
		for _, a := range d.have.Addresses {
			if a.ID == id {
				names[i] = a.Name
			}
		}
	}
	return names
}

// namesOf returns the names of addresses.
func namesOf(refs []addressRef) []string {
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = ref.name
	}
	return names
}

// addressAllocation allocates an address.
type addressAllocation struct{ spec api.AddressSpec }

// Do implements plan.Step.
func (s addressAllocation) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	address, err := w.allocateAddress(ctx, s.spec)
	if err == nil {
		ids.Set(addressRef{name: s.spec.Name}.handle(), address.ID)
	}
	return err
}

// allocateAddress allocates an address. If its name exists, an earlier allocation lost its reply, or another
// cluster uses the name: its tags distinguish the two.
func (w writer) allocateAddress(ctx context.Context, spec api.AddressSpec) (api.Address, error) {
	address, err := w.api.AllocateAddress(ctx, spec)
	if cloudapi.Is(err, cloudapi.Quota) {
		err = fmt.Errorf("%w: delete Services that are not needed, or give the cloud a larger address pool "+
			"(without endpoint: address-pool in section [Global])", err)
	}
	if !cloudapi.Is(err, cloudapi.AlreadyExists) {
		return address, w.finish(err, func(o *Observed) { o.Addresses = append(slices.Clone(o.Addresses), address) })
	}
	have, readErr := w.store.read(ctx, loadBalancerName(w.key))
	if readErr != nil {
		return address, fmt.Errorf("%w; reading it failed: %w", err, readErr)
	}
	i := slices.IndexFunc(have.Addresses, func(a api.Address) bool { return a.Name == spec.Name })
	if i < 0 {
		return address, err
	}
	if owner := foreignOwner(w.key, have.Addresses[i].Cluster, have.Addresses[i].Tags); owner != "" {
		return address, foreignAddressError(w.key, have.Addresses[i], owner)
	}
	return have.Addresses[i], nil
}

// addressRelease releases an address.
type addressRelease struct{ id string }

// Do implements plan.Step.
func (s addressRelease) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	err := cloudapi.IgnoreNotFound(w.api.ReleaseAddress(ctx, s.id))
	return w.finish(err, func(o *Observed) {
		o.Addresses = slices.DeleteFunc(slices.Clone(o.Addresses), func(a api.Address) bool { return a.ID == s.id })
	})
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
