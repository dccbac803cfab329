package diff

import (
	"cmp"
	"context"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/members"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/tags"
)

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
func (d *differ) ensurePool(have observe.Pool, exists bool, port model.Port, after []plan.Ref) (poolRef, []plan.Ref) {
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
		return poolRef{id: have.ID, name: have.Name}, nil
	}
	creation := d.poolCreate(port, after)
	d.add(creation)
	ref := poolRef{name: port.Pool.Name, handle: plan.Handle(creation.Ref.Name)}
	ready := []plan.Ref{creation.Ref}
	if len(port.Members) > 0 {
		members := d.membersCreate(port, ref, creation.Ref)
		d.add(members)
		ready = append(ready, members.Ref)
	}
	if port.Monitor != nil {
		monitor := d.monitorCreate(*port.Monitor, ref.resolve, []plan.Ref{creation.Ref})
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
	ref := d.ref(kindPool, port.Pool.Name, plan.Create, "")
	spec := port.Pool
	spec.Tags = d.poolTags(nil, port)
	var f plan.Fields
	f.Diff("protocol", "", string(spec.Protocol))
	f = append(f, d.poolFields(api.Pool{}, port)...)
	return plan.Change{
		Ref: ref, Fields: f, After: after,
		Do: func(ctx context.Context, ids *plan.Handles) (err error) {
			if spec.LoadbalancerID, err = d.loadBalancerID(ids); err != nil {
				return err
			}
			id, err := d.write.CreatePool(ctx, spec)
			if err == nil {
				ids.Set(plan.Handle(ref.Name), id)
			}
			return err
		},
	}
}

// poolUpdate returns the change of a pool's settings, if they differ.
func (d *differ) poolUpdate(have observe.Pool, port model.Port) (plan.Change, bool) {
	f := d.poolFields(have.Pool, port)
	if len(f) == 0 {
		return plan.Change{}, false
	}
	var patch pools.UpdateOpts
	if f.Has("lb_algorithm") {
		patch.LBMethod = port.Pool.LBMethod
	}
	if f.Has("session_persistence") {
		patch.Persistence = cmp.Or(port.Pool.Persistence, &pools.SessionPersistence{}) // an empty one is sent as null
	}
	if f.Has("tags") {
		patch.Tags = ptr.To(d.poolTags(have.Tags, port))
	}
	return markTags(plan.Change{
		Ref:    d.ref(kindPool, have.Name, plan.Update, have.ID),
		Fields: f,
		Do: d.inLoadBalancer(func(ctx context.Context, lb string) error {
			return d.write.UpdatePool(ctx, lb, have.ID, patch)
		}),
	}), true
}

// poolDelete deletes a pool with its members and health monitor, once no listener forwards to it.
func (d *differ) poolDelete(have observe.Pool, reason string, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    d.ref(kindPool, have.Name, plan.Delete, have.ID),
		ID:     have.ID,
		Reason: reason,
		After:  after,
		Do: d.inLoadBalancer(func(ctx context.Context, lb string) error {
			return d.write.DeletePool(ctx, lb, have)
		}),
	}
}

// poolFields returns the differing settings of two pools, by their names in the API. The protocol is not among
// them: it is immutable.
func (d *differ) poolFields(have api.Pool, port model.Port) plan.Fields {
	var f plan.Fields
	f.Diff("lb_algorithm", have.LBMethod, string(port.Pool.LBMethod))
	if !isForeignPersistence(have) {
		f.Diff("session_persistence", have.Persistence.Type,
			ptr.Deref(port.Pool.Persistence, pools.SessionPersistence{}).Type)
	}
	tags.Diff(&f, have.Tags, d.poolTags(have.Tags, port))
	return f
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
