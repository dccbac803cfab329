package loadbalancer

import (
	"cmp"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// poolKind are the pools. The translation of the addresses of clients is set at the creation, and users may change it.
var poolKind = objectKind[api.LBPool, *api.LBPool]{
	in: func(s *store) *collection[api.LBPool, *api.LBPool] { return s.pools },
	Kind: rows.Kind[*api.LBPool, *api.LBPool]{
		Name: kindPool,
		Key:  func(p *api.LBPool) string { return p.Tag(names.TagPort) },
		Rows: rows.InPlace([]rows.Row[*api.LBPool, *api.LBPool]{
			{
				Name:   "snat_translation",
				Value:  rows.Of(showSNAT, func(p *api.LBPool) **api.SNAT { return &p.SNATTranslation }),
				Ignore: func(*api.LBPool, *api.LBPool) bool { return true },
			},
			{
				Name:  "active_monitor_paths",
				Value: rows.Set(func(p *api.LBPool) *[]string { return &p.ActiveMonitorPaths }),
			},
			{Name: "algorithm", Value: rows.Text(func(p *api.LBPool) *string { return &p.Algorithm })},
			tagsRow[api.LBPool](),
		}),
	},
}

// memberKind are the members of a pool. Those that stay keep what a user set.
var memberKind = objectKind[api.LBPool, *api.LBPool]{
	in: poolKind.in,
	Kind: rows.Kind[*api.LBPool, *api.LBPool]{
		Name: kindMembers,
		Key:  poolKind.Key,
		Rows: []rows.Row[*api.LBPool, *api.LBPool]{{
			Name: "members",
			Value: rows.Members(func(m api.LBPoolMember) string { return m.IPAddress },
				func(p *api.LBPool) *[]api.LBPoolMember { return &p.Members }),
			Set:        func(p *api.LBPool, want *api.LBPool) { p.Members = mergeMembers(p.Members, want.Members) },
			Membership: true,
		}},
	},
}

func showSNAT(s *api.SNAT) string {
	if s == nil {
		return ""
	}
	return s.Type
}

// ensurePool plans the pool of a port. It returns its path, and the change that creates it.
func (d *differ) ensurePool(port Port, monitor string, after []plan.Ref) (path string, created []plan.Ref) {
	tags := d.owner.tags(map[string]string{names.TagPort: port.Name})
	i := d.poolIndex(port.Name)
	if i < 0 {
		return d.poolCreate(port, monitor, tags, after)
	}
	have := d.have.Pools[i]
	want := api.LBPool{ActiveMonitorPaths: d.activeMonitors(have, monitor), Algorithm: d.algorithm(have)}
	want.Tags = setTags(have.Tags, tags)
	if update, ok := poolKind.update(d, have, want, tags); ok {
		update.After = after
		d.plan.Add(update)
	}
	if update, ok := d.membersUpdate(have, d.want.Members); ok {
		d.plan.Add(update)
	}
	return have.Path, nil
}

// poolIndex returns the index of the pool of a port, -1 for none: that of its virtual server, or else another one, as
// where a user gave the virtual server a pool of their own.
func (d *differ) poolIndex(port string) int {
	found := -1
	for i, p := range d.have.Pools {
		if p.Tag(names.TagPort) != port {
			continue
		}
		if p.Path == d.firstServer(port).PoolPath {
			return i
		}
		if found < 0 {
			found = i
		}
	}
	return found
}

// algorithm returns the algorithm of a pool that exists: one that a user has set in NSX-T stays without an annotation.
func (d *differ) algorithm(have api.LBPool) string {
	record := storedRecord(d.have)
	if d.want.Options.Algorithm == "" && (record.Has(annotation.KeyAlgorithm) || record.Has(intent.KeyAlgorithm)) {
		return annotation.RoundRobin
	}
	return cmp.Or(d.want.Options.Algorithm, have.Algorithm)
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
func (d *differ) poolCreate(port Port, monitor string, tags map[string]string, after []plan.Ref) (string, []plan.Ref) {
	want := api.LBPool{
		Members: d.want.Members, ActiveMonitorPaths: []string{}, SNATTranslation: &api.SNAT{Type: d.want.SNAT},
		Algorithm: d.want.Options.Algorithm,
	}
	if monitor != "" {
		want.ActiveMonitorPaths = append(want.ActiveMonitorPaths, monitor)
	}
	want.DisplayName, want.Tags = d.name(), setTags(nil, tags)
	path := d.owner.newPath(d.have.Deleted, api.LBPools, partPool, port.Name)
	creation := poolKind.create(d, path, want)
	creation.Fields, creation.After = append(creation.Fields, memberKind.Create(&want).Fields...), after
	d.plan.Add(creation)
	return path, []plan.Ref{creation.Ref}
}

// membersUpdate returns the change of a pool's members, if they differ.
func (d *differ) membersUpdate(have api.LBPool, want []api.LBPoolMember) (plan.Change, bool) {
	wanted := have
	wanted.Members = want
	return memberKind.update(d, have, wanted, nil)
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
