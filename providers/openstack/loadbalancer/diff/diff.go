// Package diff computes the changes from the existing to the desired objects of a load balancer in Octavia. It is pure:
// a plan is data, and package apply makes its steps. Its files are in layers, and refer only to earlier ones:
// writer.go, differ.go, owner.go and disruption.go, then one file for each kind of object with its changes and steps,
// then replacement.go, diff.go and members.go with the plans.
package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Effects returns the disruptive changes.
func Effects() []plan.Effect {
	return slices.Concat(kinds.Listeners.Effects(),
		[]plan.Effect{kinds.ClosesNodePort, kinds.ProbesGuest, kinds.MovesFloatingIP}, kinds.LoadBalancers.Effects(),
		[]plan.Effect{kinds.FailsOver, kinds.ReplacesFailed})
}

// Plan returns the changes from the existing to the desired objects of a Service, or to none if want is nil. A new load
// balancer is created with everything in it, and its floating IP follows. In an existing one, a pool is complete before
// a listener forwards to it, and deletions follow the replacements if Octavia lets both exist.
func Plan(key observe.Key, want *model.Desired, have observe.Observed) (plan.Plan, error) {
	d := newDiffer(key, have)
	if want == nil {
		d.deleting = true
		d.remove()
		return d.plan, nil
	}
	var refused error
	d.configured = *want
	d.want, refused = want.For(have.LoadBalancer, have.Subnets)
	d.plan.Warnings, d.plan.Reasons = append(d.plan.Warnings, d.want.Warnings...), d.want.Reasons
	if refused != nil {
		return plan.Plan{}, refused
	}
	if err := d.refuse(); err != nil {
		return plan.Plan{}, err
	}
	if err := d.keepPlace(); err != nil {
		return plan.Plan{}, err
	}
	d.skipConflictingPorts()
	d.keepUnowned()
	d.keepUnmonitored()
	d.keepPorts()
	if err := d.ensure(); err != nil {
		return plan.Plan{}, err
	}
	d.addLast()
	return d.plan, nil
}

// refuse returns an error if the load balancer must not be used for this Service.
func (d *differ) refuse() error {
	if d.have.Denied != "" {
		return d.badReference(d.have.Denied, "it belongs to another project: write the ID of one in this project, or "+
			"remove the annotation")
	}
	if duplicates := d.duplicates(); len(duplicates) > 0 && d.have.LoadBalancer.ID != d.key.Named {
		return d.badReference("", fmt.Sprintf("the load balancers %s and %s have the same name %s: delete one of them, or "+
			"write the ID of the one to use",
			d.have.LoadBalancer.ID, duplicates[0].ID, d.have.LoadBalancer.Name))
	}
	lb := d.have.LoadBalancer
	if lb == nil {
		return nil
	}
	if owner := d.key.Foreign(*lb); owner != "" && d.owner {
		return &cloudapi.Error{Class: cloudapi.Invalid, Operation: d.plan.Subject,
			Err: fmt.Errorf("the load balancer %s (%s) belongs to %s, and is left alone: give each cluster its own "+
				"--cluster-name, or delete that load balancer", lb.Name, lb.ID, owner)}
	}
	switch {
	case !d.owner:
		return d.refuseGuest(*lb)
	case !d.isProven():
		return d.badReference("", fmt.Sprintf("the load balancer %s has the name %s, and nothing shows that "+
			"it is this cluster's rather than that of another one with the --cluster-name %s: "+
			"if it is this Service's, write its ID here; if not, give each cluster its own --cluster-name", lb.ID,
			d.key.LoadBalancer(), d.key.ClusterName))
	}
	return nil
}

// refuseGuest returns an error if this Service cannot share a load balancer.
func (d *differ) refuseGuest(lb api.LoadBalancer) error {
	if err := d.refuseStranger(lb); err != nil {
		return err
	}
	if !d.want.Features.Tags() {
		return d.badReference(lb.ID, fmt.Sprintf("sharing needs tags, which came with version %s of Octavia's API: remove "+
			"the annotation", model.VersionTags))
	}
	guests := d.key.Guests(lb)
	if !slices.Contains(lb.Tags, names.ServiceTag(d.key.LoadBalancer())) && len(guests) >= d.want.MaxShared {
		return d.badReference(lb.ID, fmt.Sprintf("%d Services share it already (%s), and max-shared-lb in the "+
			"configuration is %d: raise it, or use another load balancer",
			len(guests), strings.Join(guests, ", "), d.want.MaxShared))
	}
	if d.wantedFloatingIP(&lb) != nil && len(d.attachedFloatingIPs(&lb)) == 0 {
		return d.badReference(lb.ID, fmt.Sprintf("it has no floating IP, so that only an internal Service can share it: "+
			"set %s to \"true\"", annotation.KeyInternal))
	}
	return d.checkPortConflicts()
}

// refuseStranger returns an error if nobody who may decide that has let this Service share a load balancer. A Service
// that shares it already goes on: it was let in, by this manager or by the rules of another one.
func (d *differ) refuseStranger(lb api.LoadBalancer) error {
	foreign := d.key.Foreign(lb)
	if d.joined(lb) && d.isProven() {
		return nil
	}
	if foreign != "" {
		return d.badReference(lb.ID, fmt.Sprintf("this load balancer belongs to %s, which alone may add Services to it: "+
			"remove the annotation, or use a load balancer of this cluster", foreign))
	}
	if slices.ContainsFunc(d.have.Listeners, d.ownsListener) {
		return d.badReference(lb.ID, fmt.Sprintf("this load balancer has listeners with the tag %s, and nothing shows that "+
			"they are this cluster's rather than those of another one with the --cluster-name %s: give each cluster its own "+
			"--cluster-name, or delete those listeners", d.key.LoadBalancer(), d.key.ClusterName))
	}
	if owner := d.ownerToAsk(lb); owner != "" {
		return d.badReference(lb.ID, fmt.Sprintf("this load balancer was created for %s, which has not let this Service "+
			"share it: add %s to %s there, or remove the annotation here", owner, d.key.Service(), annotation.KeyGuests))
	}
	return nil
}

// badReference returns the error about the load balancer that the Service names.
func (d *differ) badReference(value, fix string) error {
	var problems intent.Problems
	problems.Add(annotation.KeyLoadBalancerID, value, fix)
	return problems.Err(d.plan.Subject)
}

// ensure plans the changes to the desired objects.
func (d *differ) ensure() error {
	lb := d.have.LoadBalancer
	d.warnNamedMissing(lb)
	d.warnKeptFloatingIP(lb)
	if lb == nil {
		return d.ensureNew(nil)
	}
	reason, err := d.replaceReason(*lb)
	switch {
	case err != nil:
		return err
	case reason == "":
	case d.needsFailover(*lb):
		d.diffGroup()
		return d.ensureAfterFailover(lb)
	default:
		removal := d.loadBalancerDelete(*lb, reason)
		d.declareReplacement(*lb, &removal)
		created, err := d.configured.For(nil, d.have.Subnets)
		if err == nil {
			return d.replace(*lb, created, removal)
		}
		if unusableReason(*lb) != "" {
			return err
		}
		// The rest of the Service is applied to the load balancer that stays, with its floating IP.
		removal.Reason, removal.Step = err.Error(), refusal{err}
		d.last = append(d.last, removal)
		d.refused = []plan.Ref{removal.Ref}
	}
	d.diffGroup()
	return d.ensureExisting(lb)
}

// replace plans the removal of a load balancer, and the wanted new one.
func (d *differ) replace(lb api.LoadBalancer, created model.Desired, removal plan.Change) error {
	d.freed = d.attachedFloatingIPs(&lb)
	removal.Step = replacementDeletion{d, d.loadBalancerDeletion(lb)}
	isGone := lb.ProvisioningStatus == api.PendingDelete || lb.ProvisioningStatus == api.Error && d.creationFailed(lb)
	if !isGone || d.key.HasAddress(lb.VipAddress) {
		d.replaced = &lb
	}
	if created.Features != d.want.Features || created.LoadBalancer.SubnetID != d.want.LoadBalancer.SubnetID {
		d.want = created
		d.keepPorts()
	}
	removal.After = d.deleteChangedListeners(lb)
	d.add(removal)
	d.have.LoadBalancer, d.have.Listeners, d.have.Pools = nil, nil, nil
	return d.ensureNew([]plan.Ref{removal.Ref})
}

// ensureNew plans a new load balancer, after the deletion of the one that it replaces.
func (d *differ) ensureNew(after []plan.Ref) error {
	d.diffGroup()
	creation := d.loadBalancerCreate(after)
	d.add(creation)
	if d.want.Serial {
		d.ensurePorts([]plan.Ref{creation.Ref})
	}
	return d.diffFloatingIP(nil, d.freed, []plan.Ref{creation.Ref})
}

// ensureExisting plans the changes of a load balancer that stays.
func (d *differ) ensureExisting(lb *api.LoadBalancer) error {
	index := len(d.plan.Changes)
	d.ensurePorts(nil)
	d.warnStuckParts(*lb)
	if d.owner {
		d.warnImmutable(*lb)
		if len(d.want.Families) > 1 && len(lb.AdditionalVips) == 0 && d.want.Features.AdditionalVIPs() {
			d.warnf("the load balancer has no %s address, and Octavia adds none to one that exists: delete the Service and "+
				"create it again, with a subnet of that family in the load balancer's network", d.want.Families[1])
		}
		if err := d.diffFloatingIP(lb, nil, nil); err != nil {
			return err
		}
	}
	update, changed := d.loadBalancerUpdate(*lb)
	switch {
	case !changed:
	case plan.Fields(update.Fields).Has("name"):
		// The parts with the tags of the earlier name are found by it: after an interruption it still is.
		for _, c := range d.plan.Changes[index:] {
			if !d.waitsForRefused(c) {
				update.After = append(update.After, c.Ref)
			}
		}
		d.add(update)
	default:
		d.plan.Changes = slices.Insert(d.plan.Changes, index, update)
	}
	return nil
}

// ensureAfterFailover plans the failover of a load balancer, and all other changes after it.
func (d *differ) ensureAfterFailover(lb *api.LoadBalancer) error {
	failover := d.requestFailover(*lb)
	index := len(d.plan.Changes)
	if err := d.ensureExisting(lb); err != nil {
		return err
	}
	for i := range d.plan.Changes[index:] {
		after := &d.plan.Changes[index+i].After
		*after = append([]plan.Ref{failover.Ref}, *after...)
	}
	d.add(failover)
	return nil
}

// warnNamedMissing warns if the Service names a load balancer that does not exist. The text is the same before and
// after the creation, so that there is one Event.
func (d *differ) warnNamedMissing(lb *api.LoadBalancer) {
	named := d.key.Named
	if named == "" || d.want.Reference == "" || lb != nil && lb.ID == named {
		return
	}
	d.warnf("%s is %q: there is no such load balancer, and the Service has one of its own instead",
		annotation.KeyLoadBalancerID, named)
}

// warnStuckParts warns about parts that stay PENDING in a load balancer that is ACTIVE.
func (d *differ) warnStuckParts(lb api.LoadBalancer) {
	if lb.ProvisioningStatus != api.Active {
		return
	}
	for _, l := range d.have.Listeners {
		if observe.IsPending(l.ProvisioningStatus) {
			d.warnf("the listener %s (%s) stays %s although its load balancer is %s: Octavia refuses every change of it until "+
				"the cloud's operator resets it", l.Name, l.ID, l.ProvisioningStatus, lb.ProvisioningStatus)
		}
	}
	for _, p := range d.have.Pools {
		if observe.IsPending(p.ProvisioningStatus) {
			d.warnf("the pool %s (%s) stays %s although its load balancer is %s: Octavia refuses every change of it until the "+
				"cloud's operator resets it", p.Name, p.ID, p.ProvisioningStatus, lb.ProvisioningStatus)
		}
	}
}

// ensurePorts plans listeners and pools. after are the changes that creations wait for.
func (d *differ) ensurePorts(after []plan.Ref) {
	stale := d.surplusListeners()
	for _, port := range d.want.Ports {
		d.ensurePort(port, after)
	}
	d.deleteListeners(stale)
	d.deleteUnusedPools()
}

// ensurePort plans the listener and the pool of a port.
func (d *differ) ensurePort(port model.Port, after []plan.Ref) {
	have, exists := d.listenerOf(port)
	current, hasPool := d.poolOf(have.DefaultPoolID)
	pool, reused := current, hasPool && d.isReusable(current, port)
	if !reused {
		pool, reused = d.orphanedPool(port)
	}
	ref, ready := d.ensurePool(pool, reused, port, after)
	ready = append(ready, after...)
	if !exists {
		d.add(d.listenerCreate(port, ref, ready))
		return
	}
	switched := d.switchListener(have, port, ref, ready)
	if hasPool && current.ID != ref.ID && !d.isSharedPool(current.ID, have.ID) {
		d.add(d.poolDelete(current, "another pool replaces it", []plan.Ref{switched}))
		d.planned[current.ID] = true
	}
}

// switchListener plans the update of a listener, or its replacement by one of another protocol. It returns the change
// after which the listener does not use its former pool.
func (d *differ) switchListener(have api.Listener, port model.Port, ref reference, ready []plan.Ref) plan.Ref {
	if have.Protocol == string(port.Listener.Protocol) {
		change, ok := d.listenerUpdate(have, port, ref, ready)
		if ok {
			d.add(change)
		}
		return change.Ref
	}
	removal := d.listenerReplacement(have, port, ready)
	d.add(removal)
	d.add(d.listenerCreate(port, ref, append(slices.Clone(ready), removal.Ref)))
	return removal.Ref
}

// deleteListeners deletes listeners and their pools.
func (d *differ) deleteListeners(stale []api.Listener) {
	for _, l := range stale {
		removal := d.listenerDelete(l, "the Service has no such port", nil)
		d.add(removal)
		if pool, ok := d.poolOf(l.DefaultPoolID); ok && !d.planned[pool.ID] && !d.isSharedPool(pool.ID, l.ID) {
			d.planned[pool.ID] = true
			d.add(d.poolDelete(pool, "", []plan.Ref{removal.Ref}))
		}
	}
}

// deleteUnusedPools deletes pools of the Service without a listener: orphans of interrupted changes.
func (d *differ) deleteUnusedPools() {
	for _, p := range d.have.Pools {
		if !d.planned[p.ID] && !d.isUsed(p.ID) && d.hasOurName(p) {
			d.add(d.poolDelete(p, "no listener uses it", nil))
		}
	}
}

// remove plans the deletion of all objects of the Service. Objects of another cluster or project are ignored: they
// must neither block the deletion of the Service nor be changed.
func (d *differ) remove() {
	for _, lb := range d.duplicates() {
		if len(d.key.Guests(lb)) == 0 {
			d.add(d.loadBalancerDelete(lb, "it has the name of this Service's load balancer"))
		}
	}
	d.stopUsing(d.have.LoadBalancer)
	for _, left := range d.have.Left {
		if d.key.Owns(*left.LoadBalancer) && len(d.key.Guests(*left.LoadBalancer)) == 0 {
			continue // It is a duplicate.
		}
		earlier := newDiffer(d.key, left)
		earlier.deleting, earlier.refs, earlier.plan = true, d.refs, d.plan
		earlier.stopUsing(left.LoadBalancer)
		d.plan = earlier.plan
	}
	d.releaseFloatingIPs(d.orphanedFloatingIPs(), nil)
	d.removeGroups()
}

// stopUsing plans the deletion of the load balancer, or of what the Service has in it.
func (d *differ) stopUsing(lb *api.LoadBalancer) {
	switch {
	case lb == nil:
	case d.owner && d.key.Foreign(*lb) != "":
		d.warnf("the load balancer %s (%s) belongs to %s, and is left alone", lb.Name, lb.ID, d.key.Foreign(*lb))
	case !d.owner && !d.joined(*lb): // the Service only names it
	case !d.isProven():
		d.warnf("the load balancer %s (%s) has the name or tag of this Service, and nothing shows that it is this cluster's "+
			"rather than that of another one with the --cluster-name %s: it is left alone; delete it if it is not needed",
			lb.Name, lb.ID, d.key.ClusterName)
	case d.isLastUser(*lb), d.owner && d.withdraws(*lb):
		d.removeWithAddresses(*lb)
	default:
		d.leave(*lb)
	}
}

// removeWithAddresses plans the deletion of a load balancer with its floating IPs. They are deleted after it, so that a
// denied or failed deletion leaves a load balancer that works; but one that would not be found as this Service's
// afterwards is deleted before.
func (d *differ) removeWithAddresses(lb api.LoadBalancer) {
	removal := d.loadBalancerDelete(lb, "")
	for _, f := range d.attachedFloatingIPs(&lb) {
		change, ok := d.releaseAtDeletion(f)
		if !ok {
			continue
		}
		detached := f
		detached.PortID = ""
		if change.Action == plan.Delete && d.ownsFloatingIP(detached) {
			change.After = append(change.After, removal.Ref)
		} else {
			removal.After = append(removal.After, change.Ref)
		}
		d.add(change)
	}
	d.add(removal)
}

// leave plans the removal of all objects of this Service from a load balancer that stays.
func (d *differ) leave(lb api.LoadBalancer) {
	index := len(d.plan.Changes)
	d.deleteListeners(filter(d.have.Listeners, d.ownsListener))
	d.deleteUnusedPools()
	for _, f := range d.attachedFloatingIPs(&lb) {
		// The Service that leaves last decides about an address only as its owner does now.
		if change, ok := d.floatingIPMark(f); ok && d.owner {
			d.add(change)
		}
	}
	var after []plan.Ref
	for _, change := range d.plan.Changes[index:] {
		after = append(after, change.Ref)
	}
	if slices.Contains(lb.Tags, names.ServiceTag(d.key.LoadBalancer())) {
		d.add(d.untag(lb, after))
	}
}
