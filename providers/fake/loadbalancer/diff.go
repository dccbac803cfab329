package loadbalancer

import (
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// planService returns the changes from the existing to the desired objects of a Service, or to none if want is nil. A
// plan allocates addresses, creates the load balancer and waits until it is active, and creates pools, then the
// listeners that forward to them. Deletions have the reverse order.
func planService(key lbcommon.Key, want *Desired, have Observed) (plan.Plan, error) {
	d := differ{key: key, have: have, plan: plan.Plan{Subject: key.Subject()}}
	if want == nil {
		d.remove()
		return d.plan, nil
	}
	d.want = *want
	if err := d.refuse(); err != nil {
		return plan.Plan{}, err
	}
	d.ensure()
	return d.plan, nil
}

// refuse returns an error if an object of our name is marked as another cluster's.
func (d *differ) refuse() error {
	if lb := d.have.LoadBalancer; lb != nil && foreignOwner(d.key, lb.Cluster, lb.Tags) != "" {
		return foreignLoadBalancerError(d.key, *lb)
	}
	for _, address := range d.have.Addresses {
		if owner := foreignOwner(d.key, address.Cluster, address.Tags); owner != "" {
			return foreignAddressError(d.key, address, owner)
		}
	}
	return nil
}

// ensure plans the changes to the desired objects.
func (d *differ) ensure() {
	lb := d.have.LoadBalancer
	var replaced []plan.Ref
	var reason string
	if lb != nil {
		if removal, replace := d.balancerReplace(*lb); replace {
			d.plan.Add(removal)
			lb, replaced, reason = nil, []plan.Ref{removal.Ref}, removal.Reason
		}
	}
	addresses, surplus, created := d.ensureAddresses()
	if lb == nil {
		creation := d.balancerCreate(addresses, append(created, replaced...), reason)
		d.plan.Add(creation)
		d.ensurePorts(api.LoadBalancer{}, []plan.Ref{creation.Ref})
		d.releaseAddresses(surplus, replaced)
		return
	}
	var detached []plan.Ref
	if change, ok := d.balancerUpdate(*lb, addresses, created); ok {
		d.plan.Add(change)
		detached = []plan.Ref{change.Ref}
	}
	d.ensurePorts(*lb, nil)
	d.releaseAddresses(surplus, detached)
	if lb.Warning != "" {
		d.plan.Warnf("%s", lb.Warning)
	}
}

// ensurePorts plans pools and listeners. Their creations wait for that of the load balancer.
func (d *differ) ensurePorts(lb api.LoadBalancer, created []plan.Ref) {
	listeners := d.diffListeners(lb)
	pools := d.diffPools(lb, created, listeners)
	for _, change := range pools {
		d.plan.Add(change)
	}
	for _, change := range listeners {
		change.After = append(change.After, created...)
		for _, pool := range pools {
			// A listener needs its pool; the deletion of a pool waits for its listeners instead.
			if pool.Action == plan.Create && change.Action != plan.Delete && pool.Name == change.pool {
				change.After = append(change.After, pool.Ref)
			}
		}
		d.plan.Add(change.Change)
	}
}

// remove plans the deletion of all objects of ours. It ignores objects of another cluster, which must neither
// change nor block the deletion of the Service.
func (d *differ) remove() {
	var after []plan.Ref
	if lb := d.have.LoadBalancer; lb != nil {
		if owner := foreignOwner(d.key, lb.Cluster, lb.Tags); owner != "" {
			d.plan.Warnf("load balancer %s belongs to %s and is not changed", lb.Name, owner)
			d.have.LoadBalancer = nil // An address of ours that it uses is not released either.
		} else {
			removal := d.balancerDelete(*lb)
			d.plan.Add(removal)
			after = []plan.Ref{removal.Ref}
		}
	}
	var ours []api.Address
	for _, address := range d.have.Addresses {
		if owner := foreignOwner(d.key, address.Cluster, address.Tags); owner != "" {
			d.plan.Warnf("address %s belongs to %s and is not changed", address.Name, owner)
			continue
		}
		ours = append(ours, address)
	}
	d.releaseAddresses(ours, after)
}
