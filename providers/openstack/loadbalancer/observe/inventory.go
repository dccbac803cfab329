package observe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Kinds of objects in plans and in the inventory.
const (
	KindLoadBalancer = "load balancer"
	KindListener     = "listener"
	KindPool         = "pool"
	KindMonitor      = "health monitor"
	KindFloatingIP   = "floating IP"
	KindGroup        = "security group"
	KindPort         = "port"
)

// TagID identifies a tag of a load balancer in plans and in the inventory.
func TagID(loadBalancer, tag string) string { return loadBalancer + " " + tag }

// Inventory returns the objects of all clusters in the project, from the shared lists: 4 lists, and 3 more with parts.
// isNode reports whether a server is a node of this cluster, which proves that a security group on its port is this
// cluster's: groups have no mark.
func (s *Store) Inventory(ctx context.Context, request inventory.Request,
	isNode func(server string) bool) inventory.Inventory {
	l := lister{store: s, request: request, isNode: isNode, vips: map[string]string{}}
	l.found.Cluster = request.ClusterName
	l.list(ctx)
	for _, lb := range sortByID(s.LoadBalancers.All(), func(lb api.LoadBalancer) string { return lb.ID }) {
		l.vips[lb.VipPortID] = lb.ID
		l.loadBalancer(lb)
	}
	for _, f := range sortByID(s.FloatingIPs.All(), func(f api.FloatingIP) string { return f.ID }) {
		l.floatingIP(f)
	}
	for _, g := range sortByID(s.Groups.All(), func(g api.SecurityGroup) string { return g.ID }) {
		l.group(g)
	}
	for _, p := range sortByID(s.Ports.All(), func(p api.Port) string { return p.ID }) {
		l.port(p)
	}
	return l.found
}

// sortByID returns the objects of a table, sorted.
func sortByID[T any](all map[string]T, id func(T) string) []T {
	return sorting.SortedFunc(maps.Values(all), func(a, b T) int { return cmp.Compare(id(a), id(b)) })
}

// lister builds one inventory.
type lister struct {
	store   *Store
	request inventory.Request
	isNode  func(server string) bool
	found   inventory.Inventory
	// vips are the IDs of load balancers by that of their port.
	vips map[string]string
}

// list reads the stale lists. An error concerns only one kind and those that need it.
func (l *lister) list(ctx context.Context) {
	s := l.store
	type kind struct {
		inventory.Kind
		table refresher
	}
	kinds := []kind{
		{inventory.Kind{Name: KindLoadBalancer}, s.LoadBalancers},
		{inventory.Kind{Name: KindFloatingIP, Needs: []string{KindLoadBalancer}}, s.FloatingIPs},
		{inventory.Kind{Name: KindGroup, Needs: []string{KindPort}}, s.Groups},
		{inventory.Kind{Name: KindPort, Needs: []string{KindLoadBalancer}}, s.Ports},
	}
	if l.request.Parts {
		kinds = append(kinds,
			kind{inventory.Kind{Name: KindListener, Needs: []string{KindLoadBalancer}}, s.Listeners},
			kind{inventory.Kind{Name: KindPool, Needs: []string{KindLoadBalancer, KindListener}}, s.Pools},
			kind{inventory.Kind{Name: KindMonitor, Needs: []string{KindLoadBalancer, KindListener, KindPool}}, s.Monitors})
	}
	var lists panics.Group
	for i := range kinds {
		lists.Go(func() error { kinds[i].Err = kinds[i].table.Refresh(ctx); return nil })
	}
	_ = lists.Wait() // Each kind has its own error.
	for _, k := range kinds {
		l.found.Kinds = append(l.found.Kinds, k.Kind)
	}
	l.found.Kinds = append(l.found.Kinds, inventory.Kind{Name: inventory.KindTag, Needs: []string{KindLoadBalancer},
		Err: kinds[0].Err})
}

func (l *lister) add(o inventory.Object) { l.found.Objects = append(l.found.Objects, o) }

// loadBalancer adds a load balancer with the name or mark of a cluster, and its parts.
func (l *lister) loadBalancer(lb api.LoadBalancer) {
	uid := names.ClusterUID(lb.Tags)
	owner, cluster := l.owner(lb.Name, lb.Description)
	tags := names.Services(lb.Tags)
	if uid == "" && cluster == "" && len(tags) == 0 {
		return
	}
	object := inventory.Object{
		Kind: KindLoadBalancer, ID: lb.ID, Name: lb.Name, Mark: inventory.Mark{Cluster: cluster, UID: uid},
		Created: lb.CreatedAt, Fields: []inventory.Field{{Name: "address", Value: lb.VipAddress},
			{Name: "provider", Value: lb.Provider}},
	}
	if owner.Name != "" || owner.LoadBalancer != "" {
		object.Owners = append(object.Owners, owner)
	}
	for _, tag := range tags {
		guest, _ := l.owner(tag, "")
		if guest != owner {
			object.Owners = append(object.Owners, guest)
		}
	}
	if status := lb.ProvisioningStatus; strings.HasPrefix(status, "PENDING_") {
		object.Settling = status
	}
	l.add(object)
	for _, tag := range tags {
		if guest, _ := l.owner(tag, ""); guest != owner {
			l.add(inventory.Object{Kind: inventory.KindTag, ID: TagID(lb.ID, tag), Name: tag, Mark: object.Mark,
				Owners: []inventory.Owner{guest}, Settling: object.Settling})
		}
	}
	if l.request.Parts {
		l.parts(object, lb)
	}
}

// parts adds listeners, pools and health monitors. Those of a Service that shares the load balancer have no parent:
// they are deleted without it.
func (l *lister) parts(parent inventory.Object, lb api.LoadBalancer) {
	owners := map[string]inventory.Owner{}
	for _, listener := range sortByID(l.store.Listeners.All(), func(x api.Listener) string { return x.ID }) {
		if parentOfListener(listener) != lb.ID {
			continue
		}
		part := parent.Part(KindListener, listener.ID, listener.Name, inventory.Field{Name: "port",
			Value: fmt.Sprintf("%d/%s", listener.ProtocolPort, listener.Protocol)})
		if tags := names.Services(listener.Tags); len(tags) > 0 && tags[0] != lb.Name {
			guest, _ := l.owner(tags[0], "")
			part.Parent, part.Owners = "", []inventory.Owner{guest}
			owners[listener.DefaultPoolID] = guest
		}
		l.add(part)
	}
	for _, pool := range sortByID(l.store.Pools.All(), func(x api.Pool) string { return x.ID }) {
		if parentOfPool(pool) != lb.ID {
			continue
		}
		part := parent.Part(KindPool, pool.ID, pool.Name, inventory.Field{Name: "members",
			Value: fmt.Sprint(len(pool.Members))})
		if guest, shared := owners[pool.ID]; shared {
			part.Parent, part.Owners = "", []inventory.Owner{guest}
		}
		l.add(part)
		if monitor, ok := l.store.Monitors.Get(pool.MonitorID); ok {
			child := part.Part(KindMonitor, monitor.ID, monitor.Name, inventory.Field{Name: "type", Value: monitor.Type})
			child.Parent = cmp.Or(part.Parent, pool.ID)
			l.add(child)
		}
	}
}

// floatingIP adds a floating IP that was created for a Service.
func (l *lister) floatingIP(f api.FloatingIP) {
	service, cluster, ok := names.ParseFloatingIPDescription(f.Description)
	if !ok {
		return
	}
	object := inventory.Object{
		Kind: KindFloatingIP, ID: f.ID, Name: f.FloatingIP, Created: f.CreatedAt,
		Mark:   inventory.Mark{Cluster: cluster, UID: names.ClusterUID(f.Tags)},
		Owners: ownerOf(service),
	}
	if f.PortID != "" {
		object.UsedBy = []string{cmp.Or(l.vips[f.PortID], f.PortID)}
	}
	if slices.Contains(f.Tags, names.KeepTag) {
		object.Keep = "its Service keeps the address after its deletion (tag " + names.KeepTag + ")"
	}
	l.add(object)
}

// group adds a security group that opens the node ports of a Service.
func (l *lister) group(g api.SecurityGroup) {
	uid, service, cluster, ok := names.ParseSecurityGroup(g.Name, g.Description)
	if !ok {
		return
	}
	object := inventory.Object{
		Kind: KindGroup, ID: g.ID, Name: g.Name, Created: g.CreatedAt, Owners: ownerOf(service),
		Mark:   inventory.Mark{Cluster: cluster, UID: names.ClusterUID(g.Tags)},
		Fields: []inventory.Field{{Name: "rules", Value: fmt.Sprint(len(g.Rules))}},
	}
	if len(object.Owners) > 0 {
		object.Owners[0].UID = uid
	}
	ports := l.store.Ports.Lookup(g.ID)
	for _, p := range ports {
		if !l.isNode(p.DeviceID) {
			object.UsedBy = append(object.UsedBy, p.ID)
		}
	}
	slices.Sort(object.UsedBy)
	if object.Mark.UID == "" && len(ports) > 0 && len(object.UsedBy) == 0 && cluster == l.request.ClusterName {
		object.Mark.UID = l.request.ClusterUID // the cluster's nodes have it
	}
	l.add(object)
}

// port adds a port of a load balancer that does not exist. Octavia leaves it if it rejects a creation.
func (l *lister) port(p api.Port) {
	id, ok := strings.CutPrefix(p.Name, api.OctaviaPortPrefix)
	if !ok || p.DeviceOwner != api.OctaviaPortOwner || l.vips[p.ID] != "" {
		return
	}
	if _, exists := l.store.LoadBalancers.Get(id); exists {
		return
	}
	object := inventory.Object{Kind: KindPort, ID: p.ID, Name: p.Name,
		Note: "Octavia made it for a load balancer that does not exist, of any client in the project"}
	object.Created, _ = time.Parse(time.RFC3339, p.CreatedAt)
	l.add(object)
}

// owner returns the Service in the name of a load balancer, or in its description, with the cluster's name. The name is
// ambiguous where it is cut.
func (l *lister) owner(name, description string) (owner inventory.Owner, cluster string) {
	if service, cluster, ok := names.ParseLoadBalancerDescription(description); ok && cluster != "" {
		if owners := ownerOf(service); len(owners) > 0 {
			return owners[0], cluster
		}
	}
	rest, ok := strings.CutPrefix(name, names.LoadBalancerPrefix)
	if !ok {
		return inventory.Owner{}, ""
	}
	if names.IsCut(name) {
		return inventory.Owner{LoadBalancer: name}, l.request.ClusterName
	}
	cluster, service, ok := names.ParseLoadBalancer(name)
	if !ok {
		return inventory.Owner{LoadBalancer: name}, rest
	}
	return ownerOf(service)[0], cluster
}

// ownerOf returns the owner with that namespace and name, none for other texts.
func ownerOf(service string) []inventory.Owner {
	namespace, name, ok := strings.Cut(service, "/")
	if !ok {
		return nil
	}
	return []inventory.Owner{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}
