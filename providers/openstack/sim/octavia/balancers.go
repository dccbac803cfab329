// Package octavia simulates Octavia.
package octavia

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
)

func (t *Tx) newBase(project string) base {
	return base{Object: t.NewObject(t.NewID()), Project: project, Tenant: project, AdminStateUp: true,
		Provisioning: pendingCreate, Operating: operatingOffline, Created: t.Now.UTC().Format(timeFormat), Tags: []string{}}
}

func (t *Tx) failoverBalancer() (any, error) {
	b, err := t.balancer(t.Call.Params["id"])
	if err != nil {
		return nil, err
	}
	if !t.Call.Admin() && !t.Options.AllowFailover {
		return nil, core.ErrPolicy()
	}
	if b.Provisioning != neutron.StatusActive && b.Provisioning != statusError {
		return nil, errState(b)
	}
	t.startChange(b, pendingUpdate, nil)
	return nil, nil
}

// noTraffic returns the statistics of a load balancer or a listener: the simulator forwards nothing.
func noTraffic() any {
	return map[string]any{"stats": map[string]int{
		"active_connections": 0, "bytes_in": 0, "bytes_out": 0, "request_errors": 0, "total_connections": 0,
	}}
}

// refresh updates the references of a load balancer to its children.
func (b *balancer) refresh() {
	b.Listeners, b.Pools = []ref{}, []ref{}
	for _, l := range b.listeners {
		b.Listeners = append(b.Listeners, ref{l.ID})
	}
	for _, p := range b.pools {
		b.Pools = append(b.Pools, ref{p.ID})
	}
}

func (t *Tx) balancer(id string) (*balancer, error) {
	return lookup(t, t.Balancers, "Load Balancer", id)
}

// checkMutable returns an error unless a load balancer and children can be changed: none of them may be pending.
func (t *Tx) checkMutable(b *balancer, children ...entity) error {
	if b.Provisioning != neutron.StatusActive {
		return errImmutable("Load Balancer", b.ID)
	}
	for _, c := range children {
		switch c.common().Provisioning {
		case pendingCreate, pendingUpdate, pendingDelete:
			return errImmutable(kindOf(c), c.Meta().ID)
		}
	}
	return nil
}

func kindOf(c entity) string {
	switch c.(type) {
	case *listener:
		return "Listener"
	case *pool:
		return "Pool"
	case *member:
		return "Member"
	case *monitor:
		return "Health Monitor"
	}
	return "Load Balancer"
}

// startChange starts a change of a load balancer. Parts without the status of a creation or deletion become
// PENDING_UPDATE.
func (t *Tx) startChange(b *balancer, status string, parts []entity) {
	duration := t.Options.SettleTime
	if status == pendingCreate {
		duration = t.Options.ProvisionTime
	}
	now := t.Now.UTC().Format(timeFormat)
	for _, p := range parts {
		if o := p.common(); o.Provisioning != pendingCreate && o.Provisioning != pendingDelete {
			o.Provisioning, o.Updated = pendingUpdate, &now
		}
	}
	b.Provisioning = status
	if status != pendingCreate {
		b.Updated = &now
	}
	t.changes = append(t.changes, &pendingChange{
		due: t.Now.Add(duration), balancer: b, parts: parts, outcome: t.nextOutcome(),
	})
}

// Unstick lets all stuck changes succeed.
func (t *Tx) Unstick() {
	for _, c := range t.changes {
		if c.outcome == OutcomeStuck {
			c.outcome = OutcomeActive
		}
	}
	t.FinishDueChanges()
	for _, b := range core.BySeq(t.Balancers) {
		for _, part := range b.descendants() {
			t.unstick(b, part)
		}
	}
}

// unstick finishes the change of a child that is PENDING under a load balancer that is ACTIVE.
func (t *Tx) unstick(b *balancer, part entity) {
	o := part.common()
	switch {
	case b.Provisioning != neutron.StatusActive:
	case o.Provisioning == pendingDelete:
		t.removePart(b, part)
	case o.Provisioning == pendingCreate || o.Provisioning == pendingUpdate:
		o.Provisioning, o.Operating = neutron.StatusActive, operatingOnline
	}
}

// FinishDueChanges finishes the changes that are due.
func (t *Tx) FinishDueChanges() {
	var pending []*pendingChange
	for _, c := range t.changes {
		if t.Now.Before(c.due) || c.outcome == OutcomeStuck {
			pending = append(pending, c)
			continue
		}
		t.finishChange(c)
	}
	t.changes = pending
}

// finishChange applies the outcome of a change.
func (t *Tx) finishChange(c *pendingChange) {
	b := c.balancer
	if t.Balancers[b.ID] != b {
		return
	}
	deleting := b.Provisioning == pendingDelete
	switch {
	case c.outcome == OutcomeError:
		b.Provisioning, b.Operating = statusError, operatingError
	case deleting:
		t.removeBalancer(b)
		return
	default:
		b.Provisioning, b.Operating = neutron.StatusActive, operatingOnline
	}
	for _, p := range c.parts {
		o := p.common()
		switch {
		case c.outcome == OutcomeChildrenStuck:
		case c.outcome == OutcomeError, c.outcome == OutcomeChildrenError:
			o.Provisioning, o.Operating = statusError, operatingError
		case o.Provisioning == pendingDelete:
			t.removePart(b, p)
		default:
			o.Provisioning, o.Operating = neutron.StatusActive, operatingOnline
		}
	}
}

// removePart deletes a child from the state.
func (t *Tx) removePart(b *balancer, part entity) {
	switch x := part.(type) {
	case *listener:
		delete(t.Listeners, x.ID)
		b.listeners = core.Only(b.listeners, func(l *listener) bool { return l != x })
	case *pool:
		delete(t.Pools, x.ID)
		b.pools = core.Only(b.pools, func(p *pool) bool { return p != x })
		if x.monitor != nil {
			delete(t.Monitors, x.monitor.ID)
		}
		for _, l := range b.listeners {
			if core.Deref(l.DefaultPool) == x.ID {
				l.DefaultPool = nil
			}
		}
	case *member:
		x.pool.members = core.Only(x.pool.members, func(m *member) bool { return m != x })
	case *monitor:
		delete(t.Monitors, x.ID)
		x.pool.monitor = nil
	}
}

// removeBalancer deletes a load balancer with its children. It deletes a VIP port that Octavia created, and
// detaches its floating IP.
func (t *Tx) removeBalancer(b *balancer) {
	t.removeChildren(b)
	delete(t.Balancers, b.ID)
	p := t.Ports[b.VIPPort]
	switch {
	case p == nil:
	case p.DeviceOwner == neutron.OwnerLoadBalancer:
		t.RemovePort(p)
	default:
		p.DeviceID = ""
	}
}

// removeChildren deletes the listeners and pools of a load balancer from the state.
func (t *Tx) removeChildren(b *balancer) {
	for _, l := range b.listeners {
		delete(t.Listeners, l.ID)
	}
	for _, p := range b.pools {
		delete(t.Pools, p.ID)
		if p.monitor != nil {
			delete(t.Monitors, p.monitor.ID)
		}
	}
}

type balancerUpdate struct {
	Name         opt[string]   `json:"name"`
	Description  opt[string]   `json:"description"`
	AdminStateUp opt[bool]     `json:"admin_state_up"`
	VIPQoS       opt[string]   `json:"vip_qos_policy_id"`
	Tags         opt[[]string] `json:"tags"`
}

func (t *Tx) updateBalancer() (any, error) {
	b, err := t.balancer(t.Call.Params["id"])
	if err != nil {
		return nil, err
	}
	in, err := core.Decode[balancerUpdate](t.Base(), "loadbalancer")
	if err != nil {
		return nil, err
	}
	if err := checkTexts(in.Name.v, in.Description.v, in.Tags.v); err != nil {
		return nil, err
	}
	if b.Provisioning != neutron.StatusActive {
		return nil, errState(b)
	}
	merge(b, &in)
	t.startChange(b, pendingUpdate, nil)
	b.refresh()
	return map[string]any{"loadbalancer": b}, nil
}

func (t *Tx) deleteBalancer() error {
	b, err := t.balancer(t.Call.Params["id"])
	if err != nil {
		return err
	}
	cascade := slices.Contains([]string{"true", "True", "1", "yes"}, t.Call.Query.Get("cascade"))
	if len(b.listeners)+len(b.pools) > 0 && !cascade {
		return invalid("Cannot delete Load Balancer %s - it has children", b.ID)
	}
	if b.Provisioning != neutron.StatusActive && b.Provisioning != statusError {
		return errState(b)
	}
	t.startChange(b, pendingDelete, nil)
	return nil
}

func (t *Tx) listener(id string) (*listener, error) {
	return lookup(t, t.Listeners, "Listener", id)
}

func (t *Tx) pool(id string) (*pool, error) { return lookup(t, t.Pools, "Pool", id) }

// lookup returns an object by its ID, or an error unless the caller may read it.
func lookup[T entity](t *Tx, all map[string]T, kind, id string) (T, error) {
	x, ok := all[id]
	var none T
	switch {
	case !ok:
		return none, errMissing(kind, id)
	case !t.Call.May(x.common().Project):
		return none, core.ErrPolicy()
	}
	return x, nil
}

// maxText is the maximum length of a name, description or tag.
const maxText = 255

func checkTexts(name, description string, tags []string) error {
	check := func(field, text string) error {
		if len(text) <= maxText {
			return nil
		}
		return badField(field, text, fmt.Sprintf("Value should have a maximum character requirement of %d", maxText))
	}
	errs := []error{check("name", name), check("description", description)}
	for _, tag := range tags {
		errs = append(errs, check("tags", tag))
	}
	return cmp.Or(errs...)
}
