package diff

import (
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/members"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/tags"
)

// wantedPool returns the fields of the pool of a port. A session persistence of another client stays.
func (d *differ) wantedPool(have api.Pool, port model.Port) kinds.Pool {
	want := kinds.Pool{
		Name: port.Pool.Name, Protocol: string(port.Pool.Protocol), Method: string(port.Pool.LBMethod),
		Persistence: port.Pool.Persistence, Tags: d.poolTags(have.Tags, port),
	}
	if isForeignPersistence(have) {
		want.Persistence = &have.Persistence
	}
	return want
}

// orphanedPool returns a pool that was created for a port and that no listener uses: a creation was interrupted.
func (d *differ) orphanedPool(port model.Port) (observe.Pool, bool) {
	i := slices.IndexFunc(d.have.Pools, func(p observe.Pool) bool {
		return p.Name == port.Pool.Name && !d.isUsed(p.ID) && d.isReusable(p, port) && !d.planned[p.ID]
	})
	if i < 0 {
		return observe.Pool{}, false
	}
	return d.have.Pools[i], true
}

// isReusable reports whether a pool can become the desired one in place: its protocol is immutable, and so is
// the subnet of a member. Only a subnet that the Service or its class sets replaces members: existing ones
// are reachable, and a discovered subnet depends on the order of the nodes.
func (d *differ) isReusable(have observe.Pool, port model.Port) bool {
	return have.Protocol == string(port.Pool.Protocol) && !d.changesSubnet(have, port)
}

// changesSubnet reports whether a member that stays has to be reached from another subnet.
func (d *differ) changesSubnet(have observe.Pool, port model.Port) bool {
	return d.want.MemberSubnet.Explicit && members.ChangesSubnet(have.Members, port.Members)
}

// ensurePool plans the pool of one port with its members and monitor. It returns the pool, and the changes
// that its listener waits for.
func (d *differ) ensurePool(have observe.Pool, exists bool, port model.Port, after []plan.Ref) (reference, []plan.Ref) {
	if exists {
		d.planned[have.ID] = true
		port = d.keepMethod(have, port)
		if isForeignPersistence(have.Pool) && port.Pool.Persistence != nil {
			d.warnf("spec.sessionAffinity has no effect on port %s %d: its pool %s has the session persistence %s, which "+
				"another client set and which stays; remove it from the pool", port.Transport, port.Number, have.ID,
				have.Persistence.Type)
		}
		if change, ok := d.poolUpdate(have, port); ok {
			d.add(change)
		}
		if change, ok := d.membersUpdate(have, port); ok {
			d.add(change)
		}
		d.diffMonitor(have, port)
		return reference{ID: have.ID, Name: have.Name}, nil
	}
	creation := d.poolCreate(port, after)
	d.add(creation)
	ref := reference{Name: port.Pool.Name, Handle: plan.Handle(creation.Ref.Name)}
	ready := []plan.Ref{creation.Ref}
	if len(port.Members) > 0 {
		members := d.membersCreate(port, ref, creation.Ref)
		d.add(members)
		ready = append(ready, members.Ref)
	}
	if port.Monitor != nil {
		monitor := d.monitorCreate(*port.Monitor, ref, []plan.Ref{creation.Ref})
		d.add(monitor)
		ready = append(ready, monitor.Ref)
	}
	return ref, ready
}

// keepMethod returns a port with the algorithm of its pool if the provider does not support the requested one, or if
// Octavia has refused it: all other changes are made.
func (d *differ) keepMethod(have observe.Pool, port model.Port) model.Port {
	refused := have.RefusedMethod != "" && have.RefusedMethod == string(port.Pool.LBMethod)
	if refused && have.LBMethod != have.RefusedMethod {
		d.warnWithReason(events.LoadBalancerLbMethodUnknown, "the pool %s keeps the algorithm %s: Octavia refused %s; "+
			"choose another in %s, or in lb-method in the configuration", have.Name, have.LBMethod, have.RefusedMethod,
			d.want.Sources.FieldOf(annotation.KeyMethod))
	}
	if refused || port.KeepsMethod {
		port.Pool.LBMethod = pools.LBMethod(have.LBMethod)
	}
	return port
}

// poolCreate creates a pool without members: Octavia accepts those only with a new load balancer.
func (d *differ) poolCreate(port model.Port, after []plan.Ref) plan.Change {
	want := d.wantedPool(api.Pool{}, port)
	change := kinds.Pools.Create(&want)
	spec := port.Pool
	spec.Tags = d.poolTags(nil, port)
	change.Ref, change.After = d.ref(kindPool, spec.Name, plan.Create, ""), after
	change.Step = poolCreation{d.loadBalancer(), plan.Handle(change.Name), spec}
	return change
}

// poolCreation creates a pool.
type poolCreation struct {
	lb     reference
	handle plan.Handle
	spec   pools.CreateOpts
}

// Do implements plan.Step.
func (s poolCreation) Do(ctx context.Context, w Writer, ids *plan.Handles) (err error) {
	if s.spec.LoadbalancerID, err = s.lb.Resolve(ids); err != nil {
		return err
	}
	id, err := w.CreatePool(ctx, s.spec)
	if err == nil {
		ids.Set(s.handle, id)
	}
	return err
}

// poolUpdate returns the change of a pool's settings, if they differ.
func (d *differ) poolUpdate(have observe.Pool, port model.Port) (plan.Change, bool) {
	existing := kinds.Pool{Name: have.Name, Protocol: have.Protocol, Method: have.LBMethod, Persistence: &have.Persistence,
		Tags: have.Tags}
	want := d.wantedPool(have.Pool, port)
	change, differ := kinds.Pools.Update(&existing, &want)
	if !differ {
		return plan.Change{}, false
	}
	var patch pools.UpdateOpts
	kinds.Pools.Set(&patch, &want, change.Fields)
	change.Ref = d.ref(kindPool, have.Name, plan.Update, have.ID)
	change.Step = partStep{d.loadBalancer(), poolUpdate{have.ID, patch}}
	return change, true
}

// poolUpdate changes settings of a pool.
type poolUpdate struct {
	id    string
	patch pools.UpdateOpts
}

// changeIn implements part.
func (s poolUpdate) changeIn(ctx context.Context, w Writer, lb string) error {
	return w.UpdatePool(ctx, lb, s.id, s.patch)
}

// poolDelete deletes a pool with its members and health monitor, once no listener forwards to it.
func (d *differ) poolDelete(have observe.Pool, reason string, after []plan.Ref) plan.Change {
	change := kinds.Pools.Delete(&kinds.Pool{Name: have.Name})
	change.Ref, change.ID = d.ref(kindPool, have.Name, plan.Delete, have.ID), have.ID
	change.Reason, change.After, change.Step = reason, after, partStep{d.loadBalancer(), poolDeletion(have)}
	return change
}

// poolDeletion deletes a pool with its members and health monitor.
type poolDeletion observe.Pool

// changeIn implements part.
func (s poolDeletion) changeIn(ctx context.Context, w Writer, lb string) error {
	return w.DeletePool(ctx, lb, observe.Pool(s))
}

// isForeignPersistence reports whether a pool has a session persistence that no Service can request. It
// stays.
func isForeignPersistence(have api.Pool) bool {
	return have.Persistence.Type != "" && have.Persistence.Type != api.PersistenceSourceIP
}

// poolTags returns the Service's tags, and existing ones of other clients.
func (d *differ) poolTags(have []string, port model.Port) []string {
	if !d.want.Features.Tags() {
		return have
	}
	return tags.Merge(have, port.PoolTags, port.PoolTags)
}
