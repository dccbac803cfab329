package loadbalancer

import (
	"maps"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/firewalls"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// planMembers plans the changes of members of the existing load balancer: of its pool, or of the groups of its backend
// service, and of the tags with which its firewalls select the nodes.
func (d *differ) planMembers(nodes []model.Node, shared model.SharedState) {
	if d.have.Elsewhere != nil || d.have.Rule == nil {
		return
	}
	if d.have.isExternal() {
		if d.have.Pool == nil {
			return
		}
		have := existingPool(*d.have.Pool)
		want := have
		want.Instances, _ = model.PoolMembers(nodes, shared.Environment.Region, nil)
		want.Instances = d.members(have.Instances, want.Instances)
		d.ensureMembers(have, want)
	} else {
		groups, _ := model.GroupsOf(nodes, shared, nil)
		d.planGroups(d.existingGroups(groups))
	}
	d.planTags(shared)
	d.order(nil)
}

// planGroups plans the groups of the backend service that exists.
func (d *differ) planGroups(groups []model.Group) {
	refs := d.ensureGroups(groups)
	for _, have := range append(slices.Clone(d.have.SharedBackends), pointed(d.have.Backend)...) {
		if have.Name != api.Last(d.have.Rule.BackendService) {
			continue
		}
		want := have
		want.Backends = d.backendsOf(&have, groups)
		if change, differ := groupsKind.Update(&have, &want); differ {
			d.add(change, backendUpdate{want: want, fields: change.Fields, groups: d.ownGroups(groups)}, refs...)
		}
	}
}

// pointed returns what a pointer points to; nothing for nil.
func pointed[T any](object *T) []T {
	if object == nil {
		return nil
	}
	return []T{*object}
}

// planTags plans the tags of the firewalls that exist.
func (d *differ) planTags(shared model.SharedState) {
	for _, name := range slices.Sorted(maps.Keys(d.have.Firewalls)) {
		have := d.have.Firewalls[name]
		if len(shared.NodeTags) == 0 || name == names.OldFirewall(d.name()) {
			continue
		}
		want := have
		want.TargetTags = firewalls.KeptTags(have.TargetTags, shared.NodeTags, shared.PartialTags)
		change, differ := firewalls.Kind.Update(&have, &want)
		if !differ || d.isDenied(change, firewalls.UpdateCommand(want)) {
			continue
		}
		var patch api.FirewallPatch
		firewalls.Kind.Set(&patch, &want, change.Fields)
		d.add(change, firewallUpdate{name, patch, d.command(firewalls.UpdateCommand(want))})
	}
}

var _ plan.Step[writer] = firewallUpdate{}
