package loadbalancer

import (
	"maps"
	"slices"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
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
	// extraTags are those of the configuration.
	extraTags map[string]string
}

// balancerName returns the display name of the objects of a Service.
func balancerName(key lbcommon.Key) string {
	return names.ServiceDisplay(key.ClusterName, key.Namespace, key.Name)
}

func serviceTag(key lbcommon.Key) string { return key.Namespace + "/" + key.Name }

// hasNames reports whether an object has the names of the Service and its cluster.
func (o owner) hasNames(r api.Resource) bool {
	return r.Tag(names.TagOwner) == o.app && r.Tag(names.TagCluster) == o.key.ClusterName &&
		r.Tag(names.TagService) == serviceTag(o.key)
}

// owns reports whether an object belongs to the Service by itself.
func (o owner) owns(r api.Resource, parts ...string) bool {
	uid := r.Tag(names.TagClusterUID)
	switch {
	case !o.hasNames(r):
		return false
	case uid != "" && o.key.ClusterUID != "":
		return uid == o.key.ClusterUID
	default:
		return names.IsIDOf(r.ID, o.idParts(parts)...)
	}
}

// ownsAllocation is owns for the allocation of an address, which the Service may have chosen.
func (o owner) ownsAllocation(a api.IPAllocation) bool {
	return o.owns(a.Resource, partAllocation, a.Pool) ||
		a.AllocationIP != "" && o.owns(a.Resource, partAllocation, a.Pool, a.AllocationIP)
}

// mayOwn reports whether an object can belong to the Service by its address, or because another one refers to it.
func (o owner) mayOwn(r api.Resource) bool {
	uid := r.Tag(names.TagClusterUID)
	return o.hasNames(r) && (uid == "" || o.key.ClusterUID == "" || uid == o.key.ClusterUID)
}

// idParts returns the parts of the ID of an object.
func (o owner) idParts(parts []string) []string {
	id := string(o.key.UID)
	if id == "" {
		id = o.key.ClusterName + "/" + serviceTag(o.key)
	}
	return append([]string{id}, parts...)
}

// newPath returns the path of a new object of the Service in a collection. It is none of those that are taken.
func (o owner) newPath(taken map[string]bool, collection string, parts ...string) string {
	return freePath(taken, collection, o.idParts(parts)...)
}

// freePath returns the first path of these parts that is not taken.
func freePath(taken map[string]bool, collection string, parts ...string) string {
	return collection + "/" + names.FreeID(func(id string) bool { return taken[collection+"/"+id] }, parts...)
}

// tags returns the tags of an object of the Service.
func (o owner) tags(extra map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, o.extraTags)
	out[names.TagOwner], out[names.TagCluster], out[names.TagService] = o.app, o.key.ClusterName, serviceTag(o.key)
	if o.key.ClusterUID != "" {
		out[names.TagClusterUID] = o.key.ClusterUID
	}
	maps.Copy(out, extra)
	return out
}

// setTags returns the tags with values set, new ones in the order of their scopes. All other tags stay.
func setTags(have []api.NSXTag, values map[string]string) []api.NSXTag {
	values = maps.Clone(values)
	out := make([]api.NSXTag, 0, len(have)+len(values))
	for _, t := range have {
		if value, ok := values[t.Scope]; ok {
			t.Tag = value
			delete(values, t.Scope)
		}
		out = append(out, t)
	}
	for _, scope := range slices.Sorted(maps.Keys(values)) {
		out = append(out, api.NSXTag{Scope: scope, Tag: values[scope]})
	}
	return out
}
