package loadbalancer

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/firewalls"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

var poolCheckKind, checkKind = kinds.PoolCheck, kinds.Check

// ensureCheck plans the health check of the wanted pool or backend service.
func (d *differ) ensureCheck() []plan.Ref {
	if d.want.Internal {
		have := d.have.Check
		if d.want.SharedCheck {
			have = d.have.NodeCheck
		}
		return ensureCheck(d, &checkKind, have, d.want.Check)
	}
	have := d.have.PoolCheck
	if d.want.SharedCheck {
		have = d.have.NodePoolCheck
	}
	return ensureCheck(d, &poolCheckKind, have, d.want.PoolCheck)
}

// ensureCheck plans a health check of one of the two kinds.
func ensureCheck[T any, P api.Object[T]](d *differ, kind *rows.Kind[*T, *T], have *T, want T) []plan.Ref {
	if have == nil {
		return []plan.Ref{d.add(kind.Create(&want), checkCreation[T, P]{kind, want})}
	}
	existing := *have
	want = kinds.Kept(kind, want, existing, d.want.Held)
	change, differ := kind.Update(&existing, &want)
	if !differ {
		return nil
	}
	return []plan.Ref{d.add(change, checkUpdate[T, P]{kind, want, change.Fields})}
}

// removeCheck plans the deletion of health checks of pools or of backend services, with the firewalls of their probes.
// The one of nodes stays while others use it.
func (d *differ) removeCheck(kind, name string, shared bool, after ...plan.Ref) []plan.Ref {
	call, firewall := api.HTTPHealthChecksGet, names.PoolHealthFirewall(name)
	var change plan.Change
	if kind == kindPoolCheck {
		change = poolCheckKind.Delete(&api.HTTPHealthCheck{Resource: api.Resource{Name: name}})
		if shared {
			firewall = names.NodePoolHealthFirewall(d.have.ClusterID)
		}
	} else {
		call, firewall = api.HealthChecksGet, names.BackendHealthFirewall(name)
		change = checkKind.Delete(&api.HealthCheck{Resource: api.Resource{Name: name}})
	}
	link := d.link(call, api.Target{Name: name})
	check, deletion := checkOf{kind, name, link}, checkDeletion{kind, name, link}
	if kind == kindPoolCheck && refersTo(d.want.Pool.HealthChecks, name) {
		return nil // The pool keeps it while its change is held.
	}
	if d.isUsed(link) {
		d.left = append(d.left, leftObject{link, check.exists, deletion.isUsed})
		return nil
	}
	change.ID = name
	refs := after
	if d.checkExists(kind, name) {
		refs = []plan.Ref{d.add(change, deletion, after...)}
	}
	if have, ok := d.have.Firewalls[firewall]; ok {
		refs = append(refs, d.removeFirewall(have, check, refs...)...)
	}
	return refs
}

// refersTo reports whether a list of URLs has an object.
func refersTo(links []string, name string) bool {
	return slices.ContainsFunc(links, func(link string) bool { return api.Last(link) == name })
}

func (d *differ) checkExists(kind, name string) bool {
	if kind == kindPoolCheck {
		return isNamed(d.have.PoolCheck, name) || isNamed(d.have.NodePoolCheck, name)
	}
	return isNamed(d.have.Check, name) || isNamed(d.have.NodeCheck, name)
}

// isNamed reports whether an object exists and has a name.
func isNamed[T any](object *T, name string) bool { return object != nil && nameOf(*object) == name }

// collectionOf returns the collection of a kind of health checks.
func collectionOf[T any, P api.Object[T]](w writer) *collection[T, P] {
	for _, c := range []any{w.checks, w.poolChecks} {
		if found, ok := c.(*collection[T, P]); ok {
			return found
		}
	}
	return nil
}

// checkCreation creates a health check.
type checkCreation[T any, P api.Object[T]] struct {
	kind *rows.Kind[*T, *T]
	want T
}

// Do implements plan.Step.
func (s checkCreation[T, P]) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	return createCheck[T, P](ctx, w, s.kind, s.want)
}

func createCheck[T any, P api.Object[T]](ctx context.Context, w writer, kind *rows.Kind[*T, *T], want T) error {
	return collectionOf[T, P](w).create(ctx, want, func(have *T) bool {
		existing, wanted := *have, want
		return kind.Equal(&existing, &wanted)
	})
}

// nodeProbes are the health check of nodes, which load balancers share, and the firewall of its probes.
type nodeProbes[T any] struct {
	check T
	// firewall creates the firewall. It is nil if the plan has a change of its own for that.
	firewall *firewallCreation
}

// nodeFirewall returns what creates the firewall for the probes of nodes again, if it exists: it may be deleted while
// the plan is made.
func (d *differ) nodeFirewall() *firewallCreation {
	want, kind := d.probeFirewall(pendingAddress)
	if _, exists := d.have.Firewalls[want.Name]; !exists || len(want.TargetTags) == 0 {
		return nil
	}
	return &firewallCreation{kind, want, d.command(firewalls.CreateCommand(want))}
}

// holdProbes keeps the health check of nodes, with its firewall, while a load balancer is about to refer to it. Without
// shared probes it does nothing.
func holdProbes[T any, P api.Object[T]](ctx context.Context, w writer, call *api.Call, kind *rows.Kind[*T, *T],
	probes *nodeProbes[T]) (release func(), err error) {
	if probes == nil {
		return func() {}, nil
	}
	name := nameOf(probes.check)
	return w.holdShared(ctx, w.link(call, api.Target{Name: name}), func(ctx context.Context) error {
		if collectionOf[T, P](w).find(name) == nil {
			if err := createCheck[T, P](ctx, w, kind, probes.check); err != nil {
				return err
			}
		}
		if probes.firewall == nil || w.firewalls.find(probes.firewall.want.Name) != nil {
			return nil
		}
		return probes.firewall.Do(ctx, w, nil)
	})
}

// checkUpdate changes a health check. All else in it stays.
type checkUpdate[T any, P api.Object[T]] struct {
	kind   *rows.Kind[*T, *T]
	want   T
	fields plan.Fields
}

// Do implements plan.Step.
func (s checkUpdate[T, P]) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	want := s.want
	return collectionOf[T, P](w).replace(ctx, nameOf(want), func(object *T) { s.kind.Set(object, &want, s.fields) })
}

// checkDeletion deletes a health check, unless others use it.
type checkDeletion struct{ kind, name, link string }

// Do implements plan.Step.
func (s checkDeletion) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	return w.removeShared(ctx, s.link, func() bool { return s.isUsed(w) }, func(ctx context.Context) (bool, error) {
		if s.kind == kindPoolCheck {
			return w.poolChecks.remove(ctx, s.name)
		}
		return w.checks.remove(ctx, s.name)
	})
}

// isUsed reports whether the snapshot has an object that refers to the health check.
func (s checkDeletion) isUsed(w writer) bool {
	refers := func(link string) bool { return api.SameLink(link, s.link) }
	for _, pool := range w.pools.table.All() {
		if s.kind == kindPoolCheck && slices.ContainsFunc(pool.HealthChecks, refers) {
			return true
		}
	}
	for _, backend := range w.backends.table.All() {
		if s.kind == kindCheck && slices.ContainsFunc(backend.HealthChecks, refers) {
			return true
		}
	}
	return false
}
