package loadbalancer

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

var _ inventory.Lister = (*Cloud)(nil)

// ListInventory implements inventory.Lister: one list of each collection. Objects of all clusters have the tag owner.
func (c *Cloud) ListInventory(ctx context.Context, request inventory.Request) inventory.Inventory {
	found := inventory.Inventory{Cluster: request.ClusterName}
	users := map[string][]string{}
	add := func(kind string, needs []string, list func(context.Context) ([]api.Resource, error)) {
		all, err := list(ctx)
		found.Kinds = append(found.Kinds, inventory.Kind{Name: kind, Needs: needs, Err: err})
		for _, r := range all {
			if r.Tag(names.TagOwner) == c.app {
				object := inventoryObject(kind, r)
				object.UsedBy = users[r.Path]
				found.Objects = append(found.Objects, object)
			}
		}
	}
	add(kindServer, nil, func(ctx context.Context) ([]api.Resource, error) {
		all, err := c.store.servers.list(ctx)
		for _, v := range all {
			users[v.PoolPath] = append(users[v.PoolPath], v.Path)
			users[v.LBServicePath] = append(users[v.LBServicePath], v.Path)
			users[v.IPAddress] = append(users[v.IPAddress], v.Path)
			if v.AccessListControl != nil {
				users[v.AccessListControl.GroupPath] = append(users[v.AccessListControl.GroupPath], v.Path)
			}
		}
		return resources(all), err
	})
	servers := []string{kindServer}
	add(kindPool, servers, func(ctx context.Context) ([]api.Resource, error) {
		all, err := c.store.pools.list(ctx)
		for _, p := range all {
			for _, m := range p.ActiveMonitorPaths {
				users[m] = append(users[m], p.Path)
			}
		}
		return resources(all), err
	})
	add(kindMonitor, []string{kindPool}, func(ctx context.Context) ([]api.Resource, error) {
		all, err := c.store.monitors.list(ctx)
		return resources(all), err
	})
	add(kindGroup, servers, func(ctx context.Context) ([]api.Resource, error) {
		all, err := c.store.groups.list(ctx)
		return resources(all), err
	})
	add(kindService, servers, func(ctx context.Context) ([]api.Resource, error) {
		all, err := c.store.services.list(ctx)
		return resources(all), err
	})
	add(kindAllocation, servers, func(ctx context.Context) ([]api.Resource, error) {
		pools, err := c.configuredPools(ctx)
		slices.Sort(pools)
		var out []api.Resource
		for _, pool := range slices.Compact(pools) {
			all, listErr := c.store.allocations(pool).list(ctx)
			if listErr != nil {
				return out, listErr
			}
			for _, a := range all {
				address, addressErr := c.store.addressOf(ctx, a)
				if addressErr != nil {
					return out, addressErr
				}
				users[a.Path] = users[address]
			}
			out = append(out, resources(all)...)
		}
		return out, err
	})
	return found
}

// resources returns what all objects have in common.
func resources[T any](all []T) []api.Resource {
	out := make([]api.Resource, len(all))
	for i, object := range all {
		out[i] = common(object)
	}
	return out
}

func inventoryObject(kind string, r api.Resource) inventory.Object {
	object := inventory.Object{
		Kind: kind, ID: r.Path, Name: r.DisplayName,
		Mark: inventory.Mark{Cluster: r.Tag(names.TagCluster), UID: r.Tag(names.TagClusterUID)},
	}
	if namespace, name, ok := strings.Cut(r.Tag(names.TagService), "/"); ok {
		object.Owners = []inventory.Owner{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
	}
	if port := r.Tag(names.TagPort); port != "" {
		object.Name += " " + port
		object.Fields = []inventory.Field{{Name: "port", Value: port}}
	}
	return object
}
