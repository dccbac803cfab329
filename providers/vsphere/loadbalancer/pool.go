package loadbalancer

import (
	"cmp"
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// ensurePool plans the pool of a port. It returns its path, and the change that creates it.
func (d *differ) ensurePool(port Port, monitor string, after []plan.Ref) (path string, created []plan.Ref) {
	monitors := []string{}
	if monitor != "" {
		monitors = []string{monitor}
	}
	tags := d.owner.tags(map[string]string{names.TagPort: port.Name})
	i := slices.IndexFunc(d.have.Pools, func(p api.LBPool) bool {
		return p.Tag(names.TagPort) == port.Name && p.Path == cmp.Or(d.firstServer(port.Name).PoolPath, p.Path)
	})
	if i < 0 {
		return d.poolCreate(port, monitors, tags, after)
	}
	have := d.have.Pools[i]
	monitors = d.activeMonitors(have, monitor)
	var f plan.Fields
	f.Diff("active_monitor_paths", plan.ShowSet(have.ActiveMonitorPaths), plan.ShowSet(monitors))
	diffTags(&f, have.Tags, tags)
	if len(f) > 0 {
		d.plan.Add(plan.Change{
			Ref: d.portRef(kindPool, port.Name, plan.Update), ID: have.Path, Fields: f, After: after,
			Mark: len(f) == 1 && f.Has("tags"),
			Do: func(ctx context.Context, _ *plan.Handles) error {
				return d.write.store.pools.update(ctx, have.Path, func(p *api.LBPool) {
					p.ActiveMonitorPaths, p.Tags = monitors, setTags(p.Tags, tags)
				})
			},
		})
	}
	if change, ok := d.membersUpdate(have, d.want.Members); ok {
		d.plan.Add(change)
	}
	return have.Path, nil
}

// activeMonitors returns the monitors of an existing pool: that of the Service, and those that a user set, which may
// replace it. monitor is the path of that of the Service; "" without one.
func (d *differ) activeMonitors(have api.LBPool, monitor string) []string {
	out := filter(have.ActiveMonitorPaths, func(path string) bool {
		return path == monitor || !slices.ContainsFunc(d.have.Monitors, func(m api.LBMonitor) bool { return m.Path == path })
	})
	if monitor != "" && (len(out) == 0 || d.want.HasHealthCheck && !slices.Contains(out, monitor)) {
		out = append(out, monitor)
	}
	return out
}

// poolCreate plans a new pool with its members.
func (d *differ) poolCreate(
	port Port, monitors []string, tags map[string]string, after []plan.Ref,
) (string, []plan.Ref) {
	want := api.LBPool{
		Members: d.want.Members, ActiveMonitorPaths: monitors, SNATTranslation: &api.SNAT{Type: d.want.SNAT},
	}
	want.DisplayName, want.Tags = d.name(), setTags(nil, tags)
	path := api.LBPools + "/" + d.owner.objectID(partPool, port.Name)
	var f plan.Fields
	f.Diff("snat_translation", "", d.want.SNAT)
	f.Diff("active_monitor_paths", "", plan.ShowSet(monitors))
	if f.Diff("members", "", plan.ShowMembers(addressesOf(want.Members))) {
		f[len(f)-1].Membership = true
	}
	change := plan.Change{
		Ref: d.portRef(kindPool, port.Name, plan.Create), Fields: f, After: after,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			_, err := d.write.store.pools.put(ctx, path, want)
			return err
		},
	}
	d.plan.Add(change)
	return path, []plan.Ref{change.Ref}
}

// membersUpdate returns the change of a pool's members, if they differ. Members that stay keep what a user set.
func (d *differ) membersUpdate(have api.LBPool, want []api.LBPoolMember) (plan.Change, bool) {
	if slices.Equal(addressesOf(have.Members), addressesOf(want)) {
		return plan.Change{}, false
	}
	before, after := plan.ShowMembersChange(addressesOf(have.Members), addressesOf(want))
	return plan.Change{
		Ref: d.portRef(kindMembers, have.Tag(names.TagPort), plan.Update), ID: have.Path, Membership: true,
		Fields: []plan.Field{{Name: "members", Before: before, After: after}},
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return d.write.store.pools.update(ctx, have.Path, func(p *api.LBPool) { p.Members = mergeMembers(p.Members, want) })
		},
	}, true
}

// mergeMembers returns the wanted members: first the existing ones, unchanged, then the others.
func mergeMembers(have, want []api.LBPoolMember) []api.LBPoolMember {
	wantedAddresses := addressesOf(want)
	out := filter(have, func(m api.LBPoolMember) bool { return slices.Contains(wantedAddresses, m.IPAddress) })
	existing := addressesOf(out)
	for _, m := range want {
		if !slices.Contains(existing, m.IPAddress) {
			out = append(out, m)
		}
	}
	return out
}

// addressesOf returns the addresses of members, sorted.
func addressesOf(members []api.LBPoolMember) []string {
	out := make([]string, len(members))
	for i, m := range members {
		out[i] = m.IPAddress
	}
	slices.Sort(out)
	return out
}
