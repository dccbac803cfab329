package loadbalancer

import (
	"context"
	"slices"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// The kinds of objects in plans. Members are a separate kind, because only they change when nodes join and leave.
const (
	kindService    = "load balancer service"
	kindAllocation = "IP allocation"
	kindServer     = "virtual server"
	kindPool       = "pool"
	kindMembers    = "members"
	kindMonitor    = "monitor"
	kindGroup      = "group"
)

// The parts of computed IDs.
const (
	partService    = "lb-service"
	partAllocation = "ip-allocation"
	partServer     = "virtual-server"
	partPool       = "pool"
	partMonitor    = "monitor"
	partGroup      = "group"
)

// addressHandle is the address of the load balancer in a plan before it is allocated.
const addressHandle plan.Handle = "address"

// Diff implements loadbalancer.Cloud. A plan allocates the address, creates the load balancer service, monitors, pools
// and the group of clients, and then the virtual servers. Deletions have the reverse order.
func (c *Cloud) Diff(key lbcommon.Key, want *Desired, have Observed) (plan.Plan, error) {
	d := &differ{cloud: c, store: c.store, owner: owner{key: key, app: c.app}, have: have}
	d.plan.Subject = key.Subject()
	if want == nil {
		d.remove()
		return d.plan, nil
	}
	d.want = *want
	d.ensure()
	return d.plan, nil
}

// differ builds one plan.
type differ struct {
	cloud *Cloud
	store *store
	owner owner
	want  Desired
	have  Observed
	plan  plan.Plan
}

func (d *differ) name() string { return d.cloud.Name(d.owner.key) }

// portRef returns the reference of the change of a port's object.
func (d *differ) portRef(kind, port string, action plan.Action) plan.Ref {
	return plan.Ref{Kind: kind, Name: portObjectName(d.name(), port), Action: action}
}

// portObjectName returns the name of a port's object in plans and in the inventory.
func portObjectName(balancer, port string) string { return balancer + " " + port }

// monitorPort is the port in the name of a monitor: a port may have monitors of several types.
func monitorPort(port, resourceType string) string { return port + " " + resourceType }

// tags returns the tags of an object of the Service.
func (d *differ) tags(more map[string]string) map[string]string {
	out := map[string]string{}
	for scope, value := range d.cloud.config.Tags {
		out[scope] = value
	}
	key := d.owner.key
	out[names.TagOwner], out[names.TagCluster], out[names.TagService] = d.cloud.app, key.ClusterName, serviceTag(key)
	if key.ClusterUID != "" {
		out[names.TagClusterUID] = key.ClusterUID
	}
	for scope, value := range more {
		out[scope] = value
	}
	return out
}

// ensure plans the changes to the desired objects.
func (d *differ) ensure() {
	base, address, surplus := d.ensureAddress()
	if d.have.Service == nil {
		creation := d.serviceCreate()
		d.plan.Add(creation)
		base = append(base, creation.Ref)
	}
	var leaving []plan.Ref
	used := map[string]bool{}
	for _, port := range d.want.Ports {
		monitor, created := d.ensureMonitor(port)
		pool, poolCreated := d.ensurePool(port, monitor, created)
		group, groupCreated := d.ensureGroup(port)
		used[monitor], used[pool], used[group], used[d.firstServer(port.Name).Path] = true, true, true, true
		after := slices.Concat(base, poolCreated, groupCreated)
		if change, ok := d.ensureServer(port, pool, group, address, after); ok {
			d.plan.Add(change)
			leaving = append(leaving, change.Ref)
		}
	}
	claims := d.claim(used)
	for _, server := range d.have.Servers {
		if !used[server.Path] {
			deletion := d.serverDelete(server, claims)
			d.plan.Add(deletion)
			leaving = append(leaving, deletion.Ref)
		}
	}
	d.removeRest(used, surplus, leaving)
	d.plan.Warnings = append(d.plan.Warnings, d.want.Warnings...)
}

// remove plans the deletion of all objects of the Service, and of the load balancer service after the last one.
func (d *differ) remove() {
	claims := d.claim(nil)
	var servers []plan.Ref
	for _, server := range d.have.Servers {
		deletion := d.serverDelete(server, claims)
		d.plan.Add(deletion)
		servers = append(servers, deletion.Ref)
	}
	d.removeRest(nil, d.have.Allocations, servers)
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
	add := func(kind, name string, r api.Resource, update func(context.Context, string) error) {
		if used[r.Path] || r.Tag(names.TagClusterUID) != "" {
			return
		}
		var f plan.Fields
		diffTags(&f, r.Tags, d.tags(nil))
		change := d.deletion(d.portRef(kind, name, plan.Update), r, nil, update)
		change.Fields, change.Mark = f, true
		d.plan.Add(change)
		claims = append(claims, change.Ref)
	}
	for _, p := range d.have.Pools {
		add(kindPool, p.Tag(names.TagPort), p.Resource, func(ctx context.Context, path string) error {
			return d.store.pools.update(ctx, path, func(p *api.LBPool) { p.Tags = tagged(p.Tags, d.tags(nil)) })
		})
	}
	for _, m := range d.have.Monitors {
		name := monitorPort(m.Tag(names.TagPort), m.ResourceType)
		add(kindMonitor, name, m.Resource, func(ctx context.Context, path string) error {
			return d.store.monitors.update(ctx, path, func(m *api.LBMonitor) { m.Tags = tagged(m.Tags, d.tags(nil)) })
		})
	}
	for i, change := range d.plan.Changes {
		if change.Kind == kindPool && change.Action == plan.Update && !slices.Contains(claims, change.Ref) {
			d.plan.Changes[i].After = append(slices.Clone(change.After), claims...)
		}
	}
	return claims
}

// removeRest plans the deletion of allocations, and of pools, monitors and groups with paths that are not used any
// more, after the changes of virtual servers.
func (d *differ) removeRest(used map[string]bool, allocations []api.IPAllocation, after []plan.Ref) {
	poolRefs := slices.Clone(after)
	for _, pool := range d.have.Pools {
		if !used[pool.Path] {
			deletion := d.deletion(d.portRef(kindPool, pool.Tag(names.TagPort), plan.Delete), pool.Resource, after,
				d.store.pools.remove)
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
			ref := d.portRef(kindMonitor, monitorPort(m.Tag(names.TagPort), m.ResourceType), plan.Delete)
			d.plan.Add(d.deletion(ref, m.Resource, poolRefs, d.store.monitors.remove))
		}
	}
	for _, g := range d.have.Groups {
		if !used[g.Path] {
			d.plan.Add(d.deletion(d.portRef(kindGroup, g.Tag(names.TagPort), plan.Delete), g.Resource, after,
				d.store.groups.remove))
		}
	}
	for _, a := range allocations {
		d.plan.Add(d.allocationDelete(a, after))
	}
}

// deletion is the change that deletes an object. Two objects of one name have different references.
func (d *differ) deletion(ref plan.Ref, r api.Resource, after []plan.Ref,
	remove func(context.Context, string) error,
) plan.Change {
	for slices.ContainsFunc(d.plan.Changes, func(c plan.Change) bool { return c.Ref == ref }) {
		ref.Name += " " + r.ID
	}
	return plan.Change{
		Ref: ref, ID: r.Path, After: slices.Clone(after),
		Do: func(ctx context.Context, _ *plan.Handles) error { return remove(ctx, r.Path) },
	}
}

// showTags formats tags for plans.
func showTags(tags []api.NSXTag) string {
	shown := map[string]string{}
	for _, t := range tags {
		shown[t.Scope] = t.Tag
	}
	return plan.ShowMap(shown)
}

// diffTags adds the difference of the tags of an object, except for the applied record.
func diffTags(f *plan.Fields, have []api.NSXTag, want map[string]string) bool {
	return f.Diff("tags", showTags(have), showTags(tagged(have, want)))
}
