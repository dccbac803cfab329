package loadbalancer

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
)

// ensureAddress finds the address of the load balancer, or plans its allocation. It returns the changes that
// allocate it, the address if it is known, and the allocations that are not needed.
func (d *differ) ensureAddress() (after []plan.Ref, address string, surplus []api.IPAllocation) {
	if d.want.KeptAddress != "" {
		return nil, d.want.KeptAddress, nil
	}
	chosen := d.chosenAllocation()
	if chosen < 0 {
		creation, replaced := d.allocationCreate()
		d.plan.Add(creation)
		surplus = filter(d.have.Allocations, func(a api.IPAllocation) bool { return a.Path != replaced })
		return []plan.Ref{creation.Ref}, "", surplus
	}
	surplus = slices.Delete(slices.Clone(d.have.Allocations), chosen, chosen+1)
	return nil, d.have.Allocations[chosen].Address, surplus
}

// chosenAllocation returns the index of the allocation with the address of the load balancer; -1 for none.
func (d *differ) chosenAllocation() int {
	chosen := -1
	for i, a := range d.have.Allocations {
		if a.Pool != d.want.Pool || a.Address == "" || d.want.IP != "" && a.Address != d.want.IP {
			continue
		}
		if chosen < 0 || d.inUse(a) && !d.inUse(d.have.Allocations[chosen]) {
			chosen = i
		}
	}
	return chosen
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

// allocationCreate is the change that allocates an address. An allocation of the same ID without an address yet is that
// of an earlier run: its path is returned.
func (d *differ) allocationCreate() (change plan.Change, existing string) {
	id := d.owner.objectID(partAllocation, d.want.Pool)
	if d.want.IP != "" {
		id = d.owner.objectID(partAllocation, d.want.Pool, d.want.IP)
	}
	c := d.write.store.allocations(d.want.Pool)
	path := c.path + "/" + id
	i := slices.IndexFunc(d.have.Allocations, func(a api.IPAllocation) bool { return a.Path == path && a.Address == "" })
	exists, failed := i >= 0, i >= 0 && d.have.Allocations[i].Failed
	var f plan.Fields
	f.Diff("pool", "", d.want.Pool)
	f.Diff("allocation_ip", "", d.want.IP)
	change = plan.Change{
		Ref: d.allocationRef(d.want.Pool, plan.Create), Fields: f,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			if exists && !failed {
				return nil
			}
			if failed { // An allocation cannot be updated: only a new one gets an address that is free now.
				if err := d.write.deleteAllocation(ctx, d.want.Pool, path); err != nil {
					return err
				}
			}
			object := api.IPAllocation{AllocationIP: d.want.IP}
			object.Tags = setTags(nil, d.owner.tags(nil))
			_, err := c.put(ctx, path, object)
			return err
		},
		Ready: func(ctx context.Context, ids *plan.Handles) error {
			address, err := d.write.awaitAddress(ctx, d.want.Pool, d.want.IP, path)
			if err == nil {
				ids.Set(addressHandle, address)
			}
			return err
		},
	}
	d.declareAddress(&change)
	if exists {
		return change, path
	}
	return change, ""
}

// allocationDelete is the change that returns an address to its pool.
func (d *differ) allocationDelete(have api.IPAllocation, after []plan.Ref) plan.Change {
	change := d.deletion(d.allocationRef(have.Pool, plan.Delete), have.Resource, after,
		func(ctx context.Context, path string) error { return d.write.deleteAllocation(ctx, have.Pool, path) })
	change.Fields = []plan.Field{{Name: "allocation_ip", Before: have.Address}}
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
