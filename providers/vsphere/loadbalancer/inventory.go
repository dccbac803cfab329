package loadbalancer

import (
	"context"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

var _ inventory.Lister = (*Cloud)(nil)

// ListInventory implements inventory.Lister: one list of each collection. Objects of all clusters have the tag owner.
func (c *Cloud) ListInventory(ctx context.Context, request inventory.Request) inventory.Inventory {
	l := &lister{reader: c.reader, found: inventory.Inventory{Cluster: request.ClusterName}, users: map[string][]string{}}
	var err error
	l.servers, err = l.store.servers.list(ctx)
	l.addServers(err)
	pools, err := l.store.pools.list(ctx)
	l.addPools(pools, err)
	monitors, err := l.store.monitors.list(ctx)
	add(l, kindMonitor, []string{kindPool}, monitors, err)
	groups, err := l.store.groups.list(ctx)
	add(l, kindGroup, []string{kindServer}, groups, err)
	services, err := l.store.services.list(ctx)
	l.addServices(services, err)
	allocations, err := l.listAllocations(ctx)
	add(l, kindAllocation, []string{kindServer}, allocations, err)
	return l.found
}

// lister builds one inventory.
type lister struct {
	*reader
	found   inventory.Inventory
	servers []api.LBVirtualServer
	// users are the paths of the users of an object, by its path. Those of an address are listed by the address.
	users map[string][]string
}

// addUser records that an object uses another one.
func (l *lister) addUser(object, user string) {
	if object != "" {
		l.users[object] = append(l.users[object], user)
	}
}

// add adds the objects of one kind. Their users were added before.
func add[T any](l *lister, kind string, needs []string, objects []T, err error) {
	l.found.Kinds = append(l.found.Kinds, inventory.Kind{Name: kind, Needs: needs, Err: err})
	for _, object := range objects {
		if r := resourceOf(object); r.Tag(names.TagOwner) == l.app {
			listed := inventoryObject(kind, r)
			listed.UsedBy = l.users[r.Path]
			l.found.Objects = append(l.found.Objects, listed)
		}
	}
}

func (l *lister) addServers(err error) {
	for _, v := range l.servers {
		l.addUser(v.PoolPath, v.Path)
		l.addUser(v.LBServicePath, v.Path)
		l.addUser(v.IPAddress, v.Path)
		if v.AccessListControl != nil {
			l.addUser(v.AccessListControl.GroupPath, v.Path)
		}
	}
	add(l, kindServer, nil, l.servers, err)
}

func (l *lister) addPools(pools []api.LBPool, err error) {
	for _, p := range pools {
		for _, monitor := range p.ActiveMonitorPaths {
			l.addUser(monitor, p.Path)
		}
	}
	add(l, kindPool, []string{kindServer}, pools, err)
}

// addServices adds the load balancer services. They belong to the Services of their virtual servers.
func (l *lister) addServices(services []api.LBService, err error) {
	start := len(l.found.Objects)
	add(l, kindService, []string{kindServer}, services, err)
	for i := start; i < len(l.found.Objects); i++ {
		object := &l.found.Objects[i]
		if id := l.config.ServiceID; id != "" && object.ID == api.LBServices+"/"+id {
			object.Keep = "vsphere.conf sets it as lb-service-id"
		}
		for _, v := range l.servers {
			if v.LBServicePath != object.ID {
				continue
			}
			user := inventoryObject(kindServer, v.Resource)
			if v.Tag(names.TagOwner) != l.app || user.Mark != object.Mark || len(user.Owners) == 0 {
				object.Keep = "it is in use by virtual server " + v.DisplayName + ", which has another mark or none"
				continue
			}
			if !slices.Contains(object.Owners, user.Owners[0]) {
				object.Owners = append(object.Owners, user.Owners[0])
			}
		}
	}
}

// listAllocations lists the allocations of all pools, and adds their users. An interruption may have left one in a pool
// that the configuration does not name any more.
func (l *lister) listAllocations(ctx context.Context) ([]api.IPAllocation, error) {
	pools, err := l.configuredPools(ctx)
	if err != nil {
		return nil, err
	}
	for _, v := range l.servers {
		if pool := v.Tag(names.TagPool); pool != "" && v.Tag(names.TagOwner) == l.app {
			pools = append(pools, pool)
		}
	}
	byName, err := l.poolsByName.Get(ctx)
	if err != nil && !cloudapi.Is(err, cloudapi.Denied) { // With IDs in the configuration, nothing else lists pools.
		return nil, err
	}
	for _, ids := range byName {
		pools = append(pools, ids...)
	}
	slices.Sort(pools)
	var out []api.IPAllocation
	for _, pool := range slices.Compact(pools) {
		// Syncs do not read a pool because of this.
		all, err := listAll[api.IPAllocation](ctx, l.store.api, api.Allocations(pool))
		if cloudapi.Is(err, cloudapi.NotFound) {
			continue // The pool was deleted.
		}
		if err != nil {
			return out, err
		}
		for _, a := range all {
			if a.Tag(names.TagOwner) == l.app {
				a.Pool = pool
				out = append(out, a)
				l.store.allocations(pool) // Its deletion reads the pool again.
			}
		}
	}
	return out, l.addAddressUsers(ctx, out)
}

// addAddressUsers adds the users of the addresses of allocations. An allocation without a virtual server of its pool
// and Service costs a call, and so do several of one pool and Service.
func (l *lister) addAddressUsers(ctx context.Context, allocations []api.IPAllocation) error {
	type identity struct{ pool, owner, cluster, uid, service string }
	identify := func(pool string, r api.Resource) identity {
		return identity{pool, r.Tag(names.TagOwner), r.Tag(names.TagCluster), r.Tag(names.TagClusterUID),
			r.Tag(names.TagService)}
	}
	addresses := map[identity][]string{}
	for _, v := range l.servers {
		id := identify(v.Tag(names.TagPool), v.Resource)
		if !slices.Contains(addresses[id], v.IPAddress) {
			addresses[id] = append(addresses[id], v.IPAddress)
		}
	}
	counts := map[identity]int{}
	for _, a := range allocations {
		counts[identify(a.Pool, a.Resource)]++
	}
	for _, a := range allocations {
		id := identify(a.Pool, a.Resource)
		address := ""
		if counts[id] == 1 && len(addresses[id]) == 1 {
			address = addresses[id][0]
		}
		if address == "" || a.AllocationIP != "" && address != a.AllocationIP {
			var err error
			// An allocation of a pool without such an address has none.
			if address, err = l.store.addressOf(ctx, a); err != nil && !errors.Is(err, api.ErrNotAllocated) {
				return err
			}
		}
		for _, user := range l.users[address] {
			l.addUser(a.Path, user)
		}
	}
	return nil
}

// inventoryObject returns an object with the name that its changes have in plans.
func inventoryObject(kind string, r api.Resource) inventory.Object {
	object := inventory.Object{
		Kind: kind, ID: r.Path, Name: r.DisplayName, Created: r.Created(),
		Mark: inventory.Mark{Cluster: r.Tag(names.TagCluster), UID: r.Tag(names.TagClusterUID)},
	}
	if namespace, name, ok := strings.Cut(r.Tag(names.TagService), "/"); ok {
		object.Name = names.ServiceDisplay(object.Mark.Cluster, namespace, name)
		object.Owners = []inventory.Owner{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
	}
	port := r.Tag(names.TagPort)
	switch kind {
	case kindService:
	case kindAllocation:
		object.Name = allocationName(object.Name, poolOf(r.Path))
	case kindMonitor:
		object.Name = portObjectName(object.Name, monitorPort(port, r.ResourceType))
	default:
		object.Name = portObjectName(object.Name, port)
	}
	if port != "" {
		object.Fields = []inventory.Field{{Name: "port", Value: port}}
	}
	return object
}

// poolOf returns the ID of the pool of an allocation.
func poolOf(path string) string {
	pool, _, _ := strings.Cut(strings.TrimPrefix(path, api.IPPools+"/"), "/")
	return pool
}
