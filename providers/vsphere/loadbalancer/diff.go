package loadbalancer

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// planService returns the changes from the existing to the desired objects of a Service, or to none if want is nil. A
// plan allocates the address, creates the load balancer service, monitors, pools and the group of clients, and then the
// virtual servers. Deletions have the reverse order.
func planService(d differ, want *Desired) plan.Plan {
	d.plan.Subject = d.owner.key.Subject()
	if want == nil {
		d.remove()
		return d.plan
	}
	d.want = *want
	d.ensure()
	return d.plan
}

// planMembers returns the changes of the members of existing pools. No annotation selects nodes.
func planMembers(d differ, nodes []*v1.Node) plan.Plan {
	for _, pool := range d.have.Pools {
		if change, ok := d.membersUpdate(pool, members(d.owner.key, nodes)); ok {
			d.plan.Add(change)
		}
	}
	return d.plan
}

// ensure plans the changes to the desired objects.
func (d *differ) ensure() {
	base, address, surplus := d.ensureAddress()
	if d.have.Service == nil {
		creation := d.serviceCreate()
		d.plan.Add(creation)
		base = append(base, creation.Ref)
	}
	var serverRefs []plan.Ref
	used := map[string]bool{}
	for _, port := range d.want.Ports {
		monitor, created := d.ensureMonitor(port)
		pool, poolCreated := d.ensurePool(port, monitor, created)
		var group string
		var groupCreated []plan.Ref
		if change, refused := d.refuseRanges(port); refused {
			d.plan.Add(change)
		} else {
			group, groupCreated = d.ensureGroup(port)
		}
		used[monitor], used[pool], used[group], used[d.firstServer(port.Name).Path] = true, true, true, true
		after := slices.Concat(base, poolCreated, groupCreated)
		if change, ok := d.ensureServer(port, pool, group, address, after); ok {
			d.plan.Add(change)
			serverRefs = append(serverRefs, change.Ref)
		}
	}
	d.keepPorts(used)
	claims := d.claim(used)
	for _, server := range d.have.Servers {
		if !used[server.Path] {
			deletion := serverKind.delete(d, server, claims)
			d.plan.Add(deletion)
			serverRefs = append(serverRefs, deletion.Ref)
		}
	}
	d.removeUnused(used, surplus, serverRefs)
	d.plan.Warnings = append(d.plan.Warnings, d.want.Warnings...)
}

// keepPorts adds the objects of ports that stay to those that are used. Their members follow the nodes.
func (d *differ) keepPorts(used map[string]bool) {
	for _, server := range d.have.Servers {
		if !slices.Contains(d.want.KeptPorts, server.Tag(names.TagPort)) {
			continue
		}
		used[server.Path] = true
		if server.AccessListControl != nil {
			used[server.AccessListControl.GroupPath] = true
		}
		for _, pool := range d.have.Pools {
			if pool.Path != server.PoolPath {
				continue
			}
			used[pool.Path] = true
			for _, monitor := range pool.ActiveMonitorPaths {
				used[monitor] = true
			}
			if change, ok := d.membersUpdate(pool, d.want.Members); ok {
				d.plan.Add(change)
			}
		}
	}
}

// remove plans the deletion of all objects of the Service, and of the load balancer service after the last one.
func (d *differ) remove() {
	claims := d.claim(nil)
	var servers []plan.Ref
	for _, server := range d.have.Servers {
		deletion := serverKind.delete(d, server, claims)
		d.plan.Add(deletion)
		servers = append(servers, deletion.Ref)
	}
	d.removeUnused(nil, d.have.Allocations, servers)
	if s := d.have.Service; s != nil && !d.have.Used && d.ownsService(*s) {
		d.plan.Add(d.serviceDelete(*s, servers))
	}
}

// claim plans the tags of pools and monitors that are to be deleted and belong to the Service only because another
// object refers to them. That object is changed or deleted first: without a tag, an interruption would leave them
// behind.
func (d *differ) claim(used map[string]bool) []plan.Ref {
	if d.owner.key.ClusterUID == "" {
		return nil
	}
	var claims []plan.Ref
	add := func(change plan.Change) {
		d.plan.Add(change)
		claims = append(claims, change.Ref)
	}
	unmarked := func(r api.Resource) bool { return !used[r.Path] && r.Tag(names.TagClusterUID) == "" }
	for _, p := range d.have.Pools {
		if unmarked(p.Resource) {
			add(poolKind.claim(d, p))
		}
	}
	for _, m := range d.have.Monitors {
		if unmarked(m.Resource) {
			add(monitorKind.claim(d, m))
		}
	}
	for i, change := range d.plan.Changes {
		if change.Kind == kindPool && change.Action == plan.Update && !slices.Contains(claims, change.Ref) {
			d.plan.Changes[i].After = append(slices.Clone(change.After), claims...)
		}
	}
	return claims
}

// removeUnused plans the deletion of allocations, and of pools, monitors and groups with unused paths, after
// the changes of virtual servers.
func (d *differ) removeUnused(used map[string]bool, allocations []api.IPAllocation, after []plan.Ref) {
	poolRefs := slices.Clone(after)
	for _, pool := range d.have.Pools {
		if !used[pool.Path] {
			deletion := poolKind.delete(d, pool, after)
			d.plan.Add(deletion)
			poolRefs = append(poolRefs, deletion.Ref)
		}
	}
	for _, change := range d.plan.Changes {
		if change.Kind == kindPool && change.Action == plan.Update {
			poolRefs = append(poolRefs, change.Ref) // It leaves its monitor.
		}
	}
	for _, m := range d.have.Monitors {
		if !used[m.Path] {
			d.plan.Add(monitorKind.delete(d, m, poolRefs))
		}
	}
	for _, g := range d.have.Groups {
		if !used[g.Path] {
			d.plan.Add(groupKind.delete(d, g, after))
		}
	}
	for _, a := range allocations {
		d.plan.Add(d.allocationDelete(a, after))
	}
}
