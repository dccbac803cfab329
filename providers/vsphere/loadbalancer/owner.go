package loadbalancer

import (
	"slices"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// owner identifies the objects of one Service. NSX-T has no unique names, and clusters may share their name, so that
// tags with the names of the cluster and the Service prove nothing. An object belongs to the Service if one of these
// holds:
//
//   - it has the tag with the UID of the cluster;
//   - its ID is computed from the UID of the Service;
//   - its address is that in the status of the Service;
//   - another object that belongs to the Service refers to it.
//
// All others are those of another cluster, and are never changed.
type owner struct {
	key lbcommon.Key
	// app is the value of the tag owner.
	app string
	// address is the address in the status of the Service; "" without one.
	address string
}

func serviceTag(key lbcommon.Key) string { return key.Namespace + "/" + key.Name }

// candidate reports whether an object has the names of the Service and its cluster.
func (o owner) candidate(r api.Resource) bool {
	return r.Tag(names.TagOwner) == o.app && r.Tag(names.TagCluster) == o.key.ClusterName &&
		r.Tag(names.TagService) == serviceTag(o.key)
}

// proven reports whether an object belongs to the Service by itself.
func (o owner) proven(r api.Resource, parts ...string) bool {
	uid := r.Tag(names.TagClusterUID)
	switch {
	case !o.candidate(r):
		return false
	case uid != "" && o.key.ClusterUID != "":
		return uid == o.key.ClusterUID
	default:
		return r.ID == o.objectID(parts...)
	}
}

// mayBe reports whether an object can belong to the Service by its address, or because another one refers to it.
func (o owner) mayBe(r api.Resource) bool {
	uid := r.Tag(names.TagClusterUID)
	return o.candidate(r) && (uid == "" || o.key.ClusterUID == "" || uid == o.key.ClusterUID)
}

// objectID returns the ID of an object of the Service.
func (o owner) objectID(parts ...string) string {
	id := string(o.key.UID)
	if id == "" {
		id = o.key.ClusterName + "/" + serviceTag(o.key)
	}
	return names.ObjectID(append([]string{id}, parts...)...)
}

// selectOwned keeps the objects that belong to the Service, among those with its tag.
func (o owner) selectOwned(have Observed) Observed {
	have.Servers = filter(have.Servers, func(v api.LBVirtualServer) bool {
		return o.proven(v.Resource, partServer, v.Tag(names.TagPort)) ||
			o.mayBe(v.Resource) && o.address != "" && v.IPAddress == o.address
	})
	have.Allocations = filter(have.Allocations, func(a api.IPAllocation) bool {
		used := slices.ContainsFunc(have.Servers, func(v api.LBVirtualServer) bool { return v.IPAddress == a.Address })
		return o.proven(a.Resource, partAllocation, a.Pool) ||
			o.mayBe(a.Resource) && a.Address != "" && (used || a.Address == o.address)
	})
	have.Pools = filter(have.Pools, func(p api.LBPool) bool {
		used := slices.ContainsFunc(have.Servers, func(v api.LBVirtualServer) bool { return v.PoolPath == p.Path })
		return o.proven(p.Resource, partPool, p.Tag(names.TagPort)) || o.mayBe(p.Resource) && used
	})
	have.Monitors = filter(have.Monitors, func(m api.LBMonitor) bool {
		used := slices.ContainsFunc(have.Pools, func(p api.LBPool) bool {
			return slices.Contains(p.ActiveMonitorPaths, m.Path)
		})
		return o.proven(m.Resource, partMonitor, m.Tag(names.TagPort), m.ResourceType) || o.mayBe(m.Resource) && used
	})
	have.Groups = filter(have.Groups, func(g api.Group) bool {
		used := slices.ContainsFunc(have.Servers, func(v api.LBVirtualServer) bool {
			return v.AccessListControl != nil && v.AccessListControl.GroupPath == g.Path
		})
		return o.proven(g.Resource, partGroup, g.Tag(names.TagPort)) || o.mayBe(g.Resource) && used
	})
	return have
}

func filter[T any](all []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !keep(one) })
}
