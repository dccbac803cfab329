package loadbalancer

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// allocationKind are the addresses. An allocation never changes.
var allocationKind = rows.Kind[*api.IPAllocation, *struct{}]{
	Name: kindAllocation,
	Key:  func(a *api.IPAllocation) string { return a.Path },
	Rows: []rows.Row[*api.IPAllocation, *struct{}]{
		{Name: "pool", Value: rows.Text(func(a *api.IPAllocation) *string { return &a.Pool })},
		{Name: "allocation_ip", Value: rows.Text(func(a *api.IPAllocation) *string { return &a.AllocationIP })},
	},
}

// ensureAddress finds the address of the load balancer, or plans its allocation. It returns the changes that
// allocate it, the address if it is known, and the allocations that are not needed.
func (d *differ) ensureAddress() (after []plan.Ref, address string, surplus []api.IPAllocation) {
	if d.want.KeptAddress != "" {
		return nil, d.want.KeptAddress, nil
	}
	chosen := d.chosenAllocation()
	if chosen < 0 {
		lost := d.lostAddress()
		creation, replaced := d.allocationCreate(lost)
		d.plan.Add(creation)
		surplus = filter(d.have.Allocations, func(a api.IPAllocation) bool { return a.Path != replaced })
		if lost != "" {
			return nil, lost, surplus // The virtual servers have it already.
		}
		return []plan.Ref{creation.Ref}, "", surplus
	}
	surplus = slices.Delete(slices.Clone(d.have.Allocations), chosen, chosen+1)
	return nil, d.have.Allocations[chosen].Address, surplus
}

// chosenAllocation returns the index of the allocation with the address of the load balancer; -1 for none. That in the
// status of the Service comes first: an edit of the address that was taken back may have moved some virtual servers.
func (d *differ) chosenAllocation() int {
	rank := func(a api.IPAllocation) int {
		switch {
		case a.Address == d.have.Address:
			return 2
		case d.inUse(a):
			return 1
		}
		return 0
	}
	chosen := -1
	for i, a := range d.have.Allocations {
		if a.Pool != d.want.Pool || a.Address == "" || d.want.IP != "" && a.Address != d.want.IP {
			continue
		}
		if chosen < 0 || rank(a) > rank(d.have.Allocations[chosen]) {
			chosen = i
		}
	}
	return chosen
}

// lostAddress returns the address that the virtual servers have without an allocation, such as one that a user deleted.
// It is allocated again, because another Service could get it. It is "" if there is none, if the Service wants another
// one, if it cannot be allocated because others have it, and while an allocation that may have it is in error.
func (d *differ) lostAddress() string {
	if len(d.have.Servers) == 0 {
		return ""
	}
	address := d.have.Servers[0].IPAddress
	isOther := func(v api.LBVirtualServer) bool {
		return v.IPAddress != address || v.Tag(names.TagPool) != d.want.Pool
	}
	isUnknown := func(a api.IPAllocation) bool {
		return a.Pool == d.want.Pool && a.Address == "" && (a.Failed || a.AllocationIP != address)
	}
	if d.want.IP != "" && d.want.IP != address || slices.ContainsFunc(d.have.Servers, isOther) ||
		slices.ContainsFunc(d.have.Allocations, isUnknown) {
		return ""
	}
	return address
}

// chosenAddress returns the address of the load balancer; empty before it is allocated.
func (d *differ) chosenAddress() string {
	if i := d.chosenAllocation(); d.want.KeptAddress == "" && i >= 0 {
		return d.have.Allocations[i].Address
	}
	return d.want.KeptAddress
}

// inUse reports whether a virtual server of the Service has the address.
func (d *differ) inUse(a api.IPAllocation) bool {
	return slices.ContainsFunc(d.have.Servers, func(v api.LBVirtualServer) bool { return v.IPAddress == a.Address })
}

func (d *differ) allocationRef(pool string, action plan.Action) plan.Ref {
	name := allocationName(d.name(), pool)
	if d.want.IP != "" && action == plan.Create {
		name += " " + d.want.IP
	}
	return plan.Ref{Kind: kindAllocation, Name: name, Action: action}
}

// allocationName returns the name of an allocation in plans and in the inventory.
func allocationName(balancer, pool string) string { return balancer + " in " + pool }

// allocationCreate is the change that allocates an address: the lost one, unless that is "". An allocation without an
// address yet that requests the same is that of an earlier run: its path is returned.
func (d *differ) allocationCreate(lost string) (change plan.Change, existing string) {
	parts, ip := []string{partAllocation, d.want.Pool}, cmp.Or(lost, d.want.IP)
	if ip != "" {
		parts = append(parts, ip)
	}
	i := slices.IndexFunc(d.have.Allocations, func(a api.IPAllocation) bool {
		return a.Address == "" && a.Pool == d.want.Pool && a.AllocationIP == ip
	})
	step := allocationCreation{want: api.IPAllocation{AllocationIP: ip, Pool: d.want.Pool}, lost: lost}
	taken := d.have.Deleted
	if i >= 0 {
		existing = d.have.Allocations[i].Path
		step.exists = !d.have.Allocations[i].Failed
	}
	if existing != "" && !step.exists {
		step.failed, taken = existing, withPath(taken, existing)
	}
	step.want.Path = d.owner.newPath(taken, api.Allocations(d.want.Pool), parts...)
	if step.exists {
		step.want.Path = existing
	}
	step.want.Tags = setTags(nil, d.owner.tags(nil))
	want := step.want
	change = allocationKind.Create(&want)
	change.Ref, change.Step = d.allocationRef(want.Pool, plan.Create), step
	if lost == "" {
		d.declareAddress(&change)
	}
	return change, existing
}

// withPath returns the paths and another one.
func withPath(paths map[string]bool, path string) map[string]bool {
	out := map[string]bool{path: true}
	maps.Copy(out, paths)
	return out
}

// allocationDelete is the change that returns an address to its pool. One that no virtual server has is returned at
// once: with virtual servers that cannot be created, a Service would get a further address with each edit.
func (d *differ) allocationDelete(have api.IPAllocation, after []plan.Ref) plan.Change {
	if !d.inUse(have) {
		after = nil
	}
	change := plan.Change{
		Ref: d.unused(d.allocationRef(have.Pool, plan.Delete), have.ID), ID: have.Path, After: slices.Clone(after),
		Fields: []plan.Field{{Name: "allocation_ip", Before: have.Address}}, Step: allocationDeletion{have.Pool, have.Path},
	}
	if d.inUse(have) && len(d.want.Ports) > 0 {
		d.declareAddress(&change)
	}
	return change
}

// declareAddress declares that a change serves another address of the virtual servers that exist.
func (d *differ) declareAddress(change *plan.Change) {
	if len(d.have.Servers) == 0 {
		return
	}
	change.Fields = append(change.Fields, plan.Field{
		Name: fieldAddress, Before: d.have.Servers[0].IPAddress, After: d.wantedAddress(), Place: placeAddress,
	})
	movesAddress.Declare(change)
}

// wantedAddress names the address of the load balancer, which may be still to be allocated.
func (d *differ) wantedAddress() string {
	if address := d.chosenAddress(); address != "" {
		return address
	}
	return "that of " + d.allocationRef(d.want.Pool, plan.Create).Name
}

// allocationCreation allocates an address. An allocation cannot be updated: only a new one gets an address that is free
// now.
type allocationCreation struct {
	want api.IPAllocation
	// exists is set if the allocation is to get its address. failed is the path of one that gets none; "" without it.
	exists bool
	failed string
	// lost is the address that virtual servers have already; "" without one.
	lost string
}

// Do implements plan.Step.
func (s allocationCreation) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	if s.exists {
		return nil
	}
	if s.lost == "" {
		if err := w.checkChoice(s.want.AllocationIP); err != nil {
			return err
		}
	}
	if s.failed != "" {
		if err := w.deleteAllocation(ctx, s.want.Pool, s.failed); err != nil {
			return err
		}
	}
	object := api.IPAllocation{AllocationIP: s.want.AllocationIP}
	object.Tags = s.want.Tags
	_, err := w.store.allocations(s.want.Pool).put(ctx, s.want.Path, object)
	// An allocation of the same path may have been deleted by others. The new one has an address of its own.
	w.store.recordAddress(s.want.Path, "")
	return err
}

// Ready implements plan.WaitingStep.
func (s allocationCreation) Ready(ctx context.Context, w writer, ids *plan.Handles) error {
	address, err := w.awaitAddress(ctx, s.want.Pool, s.want.AllocationIP, s.want.Path)
	if err == nil {
		ids.Set(addressHandle, address)
	} else if s.lost != "" {
		err = fmt.Errorf("the allocation of %s was deleted, and virtual servers have this address: %w", s.lost, err)
	}
	return err
}

// allocationDeletion returns an address to its pool.
type allocationDeletion struct{ pool, path string }

// Do implements plan.Step.
func (s allocationDeletion) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	return w.deleteAllocation(ctx, s.pool, s.path)
}
