package diff

import (
	"context"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/steps"
)

// existingMonitor returns the fields of a health monitor. Only HTTP probes have the last three.
func existingMonitor(m api.HealthMonitor) kinds.Monitor {
	have := kinds.Monitor{Key: m.Name, CreateOpts: monitors.CreateOpts{
		Type: m.Type, Delay: m.Delay, Timeout: m.Timeout, MaxRetries: m.MaxRetries, MaxRetriesDown: m.MaxRetriesDown,
	}}
	if m.Type == monitors.TypeHTTP {
		have.URLPath, have.HTTPMethod, have.ExpectedCodes = m.URLPath, m.HTTPMethod, m.ExpectedCodes
	}
	return have
}

// diffMonitor plans the health monitor of a pool that stays. A change of its type is a deletion and
// a creation, since Octavia cannot change it.
func (d *differ) diffMonitor(pool observe.Pool, want model.Port) {
	have, spec := pool.Monitor, want.Monitor
	var after []plan.Ref
	if have != nil && (spec == nil || have.Type != spec.Type) {
		removal := d.monitorDelete(pool, *have)
		d.add(removal)
		after = []plan.Ref{removal.Ref}
		have = nil
	}
	switch {
	case spec == nil:
	case have == nil:
		creation := d.monitorCreate(*spec, reference{ID: pool.ID}, after)
		creation.Key = portKey(want)
		if len(after) == 0 && d.addsProbesToGuest(pool) {
			kinds.ProbesGuest.Declare(&creation)
		}
		d.add(creation)
	default:
		if change, ok := d.monitorUpdate(*have, *spec); ok {
			d.add(change)
		}
	}
}

// addsProbesToGuest reports whether the pool of a guest on a shared load balancer receives traffic without
// probes, and would get them only for externalTrafficPolicy: Local. Probes that a firewall drops would stop
// its traffic. For the owner see keepUnmonitored.
func (d *differ) addsProbesToGuest(pool observe.Pool) bool {
	return !d.owner && d.want.ProbedForLocal && d.isUsed(pool.ID)
}

func (d *differ) monitorCreate(spec monitors.CreateOpts, pool reference, after []plan.Ref) plan.Change {
	change := kinds.Monitors.Create(&kinds.Monitor{CreateOpts: spec, Key: spec.Name})
	change.After, change.Step = after, monitorCreation{d.loadBalancer(), pool, spec}
	return change
}

// monitorCreation creates the health monitor of a pool.
type monitorCreation struct {
	lb, pool reference
	spec     monitors.CreateOpts
}

// Do implements plan.Step.
func (s monitorCreation) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	lb, pool, err := steps.ResolveBoth(ids, s.lb, s.pool)
	if err != nil {
		return err
	}
	s.spec.PoolID = pool
	return w.CreateMonitor(ctx, lb, s.spec)
}

func (d *differ) monitorUpdate(have api.HealthMonitor, spec monitors.CreateOpts) (plan.Change, bool) {
	existing, want := existingMonitor(have), kinds.Monitor{CreateOpts: spec, Key: spec.Name}
	if index := monitorIndex(have.Name); d.owner && index != "" && index != monitorIndex(spec.Name) {
		existing.NewName, want.NewName = have.Name, spec.Name
	}
	change, differ := kinds.Monitors.Update(&existing, &want)
	var patch monitors.UpdateOpts
	kinds.Monitors.Set(&patch, &want, change.Fields)
	change.Step = partStep{d.loadBalancer(), monitorUpdate{have.ID, patch}}
	return change, differ
}

// monitorUpdate changes settings of a health monitor.
type monitorUpdate struct {
	id    string
	patch monitors.UpdateOpts
}

// changeIn implements part.
func (s monitorUpdate) changeIn(ctx context.Context, w Writer, lb string) error {
	return w.UpdateMonitor(ctx, lb, s.id, s.patch)
}

// monitorIndex returns the part of a health monitor's name with the index of its port, or "" for other names. Other
// managers correct the name when the ports of a Service are reordered, while they leave those of listeners and pools:
// a name with another index would be a change when they take over again. On a shared load balancer they name the
// monitors of a guest in two ways in turn.
func monitorIndex(name string) string {
	parts := strings.SplitN(name, "_", 3)
	if len(parts) < 3 || parts[0] != "monitor" {
		return ""
	}
	return parts[1]
}

func (d *differ) monitorDelete(pool observe.Pool, have api.HealthMonitor) plan.Change {
	existing := existingMonitor(have)
	change := kinds.Monitors.Delete(&existing)
	change.Step = partStep{d.loadBalancer(), monitorDeletion{pool.ID, have.ID}}
	return change
}

// monitorDeletion deletes the health monitor of a pool.
type monitorDeletion struct{ pool, id string }

// changeIn implements part.
func (s monitorDeletion) changeIn(ctx context.Context, w Writer, lb string) error {
	return w.DeleteMonitor(ctx, lb, s.pool, s.id)
}
