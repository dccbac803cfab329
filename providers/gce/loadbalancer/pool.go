package loadbalancer

import (
	"context"
	"errors"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/batches"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// firstMembers is the number of instances with which a pool is created; the others are added to it.
const firstMembers = 200

// poolChange is the change of a pool: the link of its health check.
type poolChange struct{ check string }

var poolKind = rows.Kind[*api.TargetPool, *poolChange]{
	Name: kindPool,
	Key:  func(p *api.TargetPool) string { return p.Name },
	Rows: []rows.Row[*api.TargetPool, *poolChange]{
		{
			Name: "sessionAffinity", Value: rows.Text(func(p *api.TargetPool) *string { return &p.SessionAffinity }),
			Ignore: func(have, _ *api.TargetPool) bool { return have.SessionAffinity == "" },
			Effect: rows.Traffic("the target pool is replaced, and its forwarding rule with it"),
		},
		{
			Name: "healthChecks", Value: rows.Of(showLinks, func(p *api.TargetPool) *[]string { return &p.HealthChecks }),
			Set:    func(c *poolChange, want *api.TargetPool) { c.check = want.HealthChecks[0] },
			Effect: rows.Traffic("a health check of others leaves the target pool"),
			Disrupts: func(have, _ *api.TargetPool) bool {
				return slices.ContainsFunc(have.HealthChecks, func(link string) bool { return !isOwnCheck(link, have.Name) })
			},
		},
	},
}

// isOwnCheck reports whether this manager, or the other one, has made a health check of a pool: that of its load
// balancer or that of nodes.
func isOwnCheck(link, balancer string) bool {
	name := api.Last(link)
	return name == balancer || names.IsNodeHealthCheck(name)
}

// showLinks formats URLs without regard to their order.
func showLinks(links []string) string {
	paths := make([]string, len(links))
	for i, link := range links {
		paths[i] = api.Path(link)
	}
	return plan.ShowSet(paths)
}

// memberKind are the members of a pool, as ZONE/NAME.
var memberKind = rows.Kind[*api.TargetPool, *[]string]{
	Name: kindMembers,
	Key:  func(p *api.TargetPool) string { return p.Name },
	Rows: []rows.Row[*api.TargetPool, *[]string]{{
		Name:  "instances",
		Value: rows.Members(func(id string) string { return id }, func(p *api.TargetPool) *[]string { return &p.Instances }),
		Set:   func(members *[]string, want *api.TargetPool) { *members = want.Instances }, Membership: true,
	}},
}

// existingPool returns a pool with its instances as ZONE/NAME.
func existingPool(p api.TargetPool) api.TargetPool {
	ids := make([]string, len(p.Instances))
	for i, link := range p.Instances {
		ids[i] = api.InstanceID(link)
	}
	slices.Sort(ids)
	p.Instances = slices.Compact(ids)
	return p
}

// replacesPool returns the deletion of the pool, if it cannot become the wanted one in place.
func (d *differ) replacesPool() (plan.Change, bool) {
	if d.have.Pool == nil || d.want.Internal {
		return plan.Change{}, false
	}
	have := existingPool(*d.have.Pool)
	isUsed := d.have.Used[api.Path(d.link(api.TargetPoolsDelete, api.Target{Name: have.Name}))]
	if isUsed || d.have.Kept[keptPool(have.Name)] {
		// It cannot be deleted, and the Service's own forwarding rule would be deleted without a successor.
		d.plan.Warnf("the target pool %s keeps its session affinity: another forwarding rule or pool uses it, or its "+
			"deletion was refused; delete that one to change it", have.Name)
		d.plan.Unapplied = append(d.plan.Unapplied, intent.FieldSessionAffinity)
		d.want.Pool.SessionAffinity = have.SessionAffinity
		return plan.Change{}, false
	}
	change, replace := poolKind.Replace(&have, &d.want.Pool)
	change.ID = have.Name
	return change, replace
}

// ensurePool plans the pool. The deletion of one that is replaced waits for that of its forwarding rule.
func (d *differ) ensurePool(replaced *plan.Change, ruleDeletion, checks []plan.Ref) []plan.Ref {
	want := d.want.Pool
	var have api.TargetPool
	if d.have.Pool != nil {
		have = existingPool(*d.have.Pool)
	}
	want.Instances = d.members(have.Instances, want.Instances)
	if d.have.Pool == nil {
		return []plan.Ref{d.createPool(want, checks)}
	}
	refs, after := []plan.Ref(nil), checks
	if replaced != nil {
		// The health check is a change of its own, which may be held.
		successor := want
		successor.HealthChecks = have.HealthChecks
		deletion := d.add(*replaced, poolDeletion{want.Name, true}, ruleDeletion...)
		refs = []plan.Ref{d.createPool(successor, append(slices.Clone(checks), deletion))}
		after = refs
	} else {
		d.ensureMembers(have, want)
	}
	if change, differ := poolKind.Update(&have, &want); differ {
		var set poolChange
		poolKind.Set(&set, &want, change.Fields)
		refs = append(refs, d.add(change, poolUpdate{want.Name, have.HealthChecks, set.check, d.nodePoolProbes()},
			after...))
	}
	return refs
}

func (d *differ) createPool(want api.TargetPool, after []plan.Ref) plan.Ref {
	change := poolKind.Create(&want)
	change.Fields = append(change.Fields, memberKind.Create(&want).Fields...)
	return d.add(change, poolCreation{want, d.nodePoolProbes()}, after...)
}

// ensureMembers plans the change of a pool's members.
func (d *differ) ensureMembers(have, want api.TargetPool) {
	if change, differ := memberKind.Update(&have, &want); differ {
		d.add(change, memberUpdate{want.Name, model.Without(want.Instances, have.Instances), model.Without(have.Instances,
			want.Instances)})
	}
}

// nodePoolProbes returns the health check of nodes with its firewall, if the wanted pool has it.
func (d *differ) nodePoolProbes() *nodeProbes[api.HTTPHealthCheck] {
	if !d.want.SharedCheck {
		return nil
	}
	return &nodeProbes[api.HTTPHealthCheck]{d.want.PoolCheck, d.nodeFirewall()}
}

// holdPoolProbes keeps the health check of nodes, if a pool is about to refer to it.
func (w writer) holdPoolProbes(ctx context.Context, probes *nodeProbes[api.HTTPHealthCheck]) (func(), error) {
	return holdProbes[api.HTTPHealthCheck](ctx, w, api.HTTPHealthChecksGet, &poolCheckKind, probes)
}

// poolCreation creates a pool with its first members, and adds the others.
type poolCreation struct {
	want   api.TargetPool
	probes *nodeProbes[api.HTTPHealthCheck]
}

// Do implements plan.Step.
func (s poolCreation) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	release, err := w.holdPoolProbes(ctx, s.probes)
	if err != nil {
		return err
	}
	defer release()
	want := s.want
	members := w.absent.Possible(ctx, want.Instances)
	first := members[:min(len(members), firstMembers)]
	want.Instances = nil
	for _, id := range first {
		want.Instances = append(want.Instances, w.instanceLink(id))
	}
	isWanted := func(have *api.TargetPool) bool {
		existing, wanted := existingPool(*have), existingPool(want)
		return poolKind.Equal(&existing, &wanted)
	}
	err = w.pools.create(ctx, want, isWanted)
	if cloudapi.Is(err, cloudapi.NotFound, cloudapi.Invalid) && len(first) > 0 { // one of them may not exist
		want.Instances, first = nil, nil
		err = w.pools.create(ctx, want, isWanted)
	}
	if err != nil || len(first) == len(members) {
		return err
	}
	// The forwarding rule does not wait for members: those that are missing then are a change of the next plan.
	if err := w.addMembers(ctx, want.Name, members[len(first):]); err != nil {
		w.uses.Keep(failedMembers(want.Name))
	}
	return nil
}

// poolUpdate replaces the health check of a pool. A pool has at most one, and without one all members get traffic.
type poolUpdate struct {
	name     string
	existing []string
	check    string
	probes   *nodeProbes[api.HTTPHealthCheck]
}

// Do implements plan.Step.
func (s poolUpdate) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	release, err := w.holdPoolProbes(ctx, s.probes)
	if err != nil {
		return err
	}
	defer release()
	for _, change := range []struct {
		call  *api.Call
		links []string
	}{
		{api.TargetPoolsRemoveHealthCheck, s.existing}, {api.TargetPoolsAddHealthCheck, []string{s.check}},
	} {
		for _, link := range change.links {
			list := api.HealthCheckList{HealthChecks: []api.HealthCheckReference{{HealthCheck: link}}}
			err := w.api.Change(ctx, change.call, api.Target{Name: s.name}, list)
			err = w.pools.changed(s.name, err, func(p *api.TargetPool) {
				if p.HealthChecks = nil; change.call == api.TargetPoolsAddHealthCheck {
					p.HealthChecks = []string{link}
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// poolDeletion deletes a pool, which may be replaced by another one of its name.
type poolDeletion struct {
	name     string
	replaced bool
}

// Do implements plan.Step.
func (s poolDeletion) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	inUse, err := w.pools.remove(ctx, s.name)
	isRefused := inUse || cloudapi.Is(err, cloudapi.Denied, cloudapi.Conflict, cloudapi.Invalid)
	switch {
	case isRefused && s.replaced:
		w.uses.KeepLong(keptPool(s.name))
	case inUse:
		w.uses.Keep("pools/" + s.name)
	}
	return err
}

// memberUpdate adds members to a pool, and removes others then.
type memberUpdate struct {
	pool        string
	add, remove []string
}

// Do implements plan.Step.
func (s memberUpdate) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	// A node that cannot be added keeps no other one in the pool.
	err := errors.Join(w.addMembers(ctx, s.pool, s.add), w.removeMembers(ctx, s.pool, s.remove))
	return w.membersChanged(s.pool, s.add, err)
}

func (w writer) removeMembers(ctx context.Context, pool string, remove []string) error {
	return batches.Each(remove, cloudapi.NotFound, func(ids []string) error {
		err := w.api.Change(ctx, api.TargetPoolsRemoveInstance, api.Target{Name: pool}, instanceList(ids, w.instanceLink))
		return w.pools.changed(pool, err, func(p *api.TargetPool) {
			p.Instances = slices.DeleteFunc(slices.Clone(p.Instances), func(link string) bool {
				return slices.Contains(ids, api.InstanceID(link))
			})
		})
	})
}

func (w writer) addMembers(ctx context.Context, pool string, ids []string) error {
	return batches.Each(w.absent.Possible(ctx, ids), cloudapi.AlreadyExists, func(ids []string) error {
		err := w.api.Change(ctx, api.TargetPoolsAddInstance, api.Target{Name: pool}, instanceList(ids, w.instanceLink))
		if w.isAbsent(ctx, ids, err) {
			return nil
		}
		return w.pools.changed(pool, err, func(p *api.TargetPool) {
			p.Instances = slices.Clone(p.Instances)
			for _, id := range ids {
				p.Instances = append(p.Instances, w.instanceLink(id))
			}
		})
	})
}
