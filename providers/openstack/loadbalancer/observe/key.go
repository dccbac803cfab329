package observe

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Key identifies the load balancer of a Service: by its names, or by the ID that the Service names. It
// determines which load balancers belong to the Service, and to its cluster.
type Key struct {
	lbcommon.Key
	// Named is the ID of the load balancer that the Service names; empty if it names none.
	Named string
	// Addresses are the IP addresses and host names in the Service's status.
	Addresses []string
	// Followed is the ID of a load balancer with the name of another cluster that is proven to be this Service's: see
	// Observed.Followed.
	Followed string
}

// Service returns the name of the Service.
func (k Key) Service() types.NamespacedName {
	return types.NamespacedName{Namespace: k.Namespace, Name: k.Name}
}

// LoadBalancer returns the name of the Service's load balancer, which is also the tag of all objects of the
// Service.
func (k Key) LoadBalancer() string { return names.LoadBalancer(k.ClusterName, k.Service()) }

// Foreign returns the owner of a load balancer that is marked as another cluster's, and "" for all others.
// Load balancers of other managers have no mark: they have only the cluster's name. If the UID of this
// cluster is unknown, a mark may be another cluster's, unless the Service names the load balancer.
func (k Key) Foreign(lb api.LoadBalancer) string {
	uid := names.ClusterUID(lb.Tags)
	switch {
	case uid == "" || uid == k.ClusterUID:
		return ""
	case k.ClusterUID == "" && lb.ID == k.Named:
		return ""
	case k.ClusterUID == "":
		return "the cluster with the UID " + uid + ", and the UID of this one cannot be read"
	}
	return "another cluster (the UID of its namespace kube-system is " + uid + ")"
}

// Marks reports whether a load balancer has the mark of this cluster. While the cluster's UID is unknown, that is the
// applied record.
func (k Key) Marks(lb api.LoadBalancer) bool {
	return names.ClusterUID(lb.Tags) == k.ClusterUID &&
		(k.ClusterUID != "" || names.Value(lb.Tags, names.AppliedTagPrefix) != "")
}

// Proves reports whether a load balancer that has the name or the tag of this Service is certainly this
// cluster's. Other managers mark it only with the cluster's name, and two clusters may have the same name.
// The proof is our mark, its address in the Service's status, or a name that contains the Service's UID. The ID in the
// Service's annotation proves only the load balancer of its own name: whoever may edit a Service can write the ID of
// another one's.
func (k Key) Proves(lb api.LoadBalancer) bool {
	return k.Marks(lb) || k.Owns(lb) && k.Named != "" && lb.ID == k.Named || k.HasAddress(lb.VipAddress) ||
		k.UID != "" && lb.Name == names.LegacyLoadBalancer(k.UID)
}

// HasAddress reports whether an address is in the Service's status.
func (k Key) HasAddress(address string) bool {
	return slices.ContainsFunc(k.Addresses, func(a string) bool { return model.SameIP(a, address) })
}

// OwnsListener reports whether a listener is for this Service. One without a tag of a Service was created
// before tags were used, if its name is the Service's too, and belongs to the owner of the load balancer. A
// listener of another name without a tag was created by hand, and is not changed.
func (k Key) OwnsListener(lb api.LoadBalancer, l api.Listener) bool {
	if slices.Contains(l.Tags, names.ServiceTag(k.LoadBalancer())) {
		return true
	}
	if len(names.Services(l.Tags)) > 0 {
		return k.Owns(lb) && slices.Contains(l.Tags, lb.Name)
	}
	return k.Owns(lb) && strings.HasPrefix(l.Name, "listener_") && strings.HasSuffix(l.Name, "_"+lb.Name)
}

// Owns reports whether a load balancer was created for this Service: by its current or earlier name.
func (k Key) Owns(lb api.LoadBalancer) bool {
	return lb.Name == k.LoadBalancer() || k.UID != "" && lb.Name == names.LegacyLoadBalancer(k.UID) || k.Renamed(lb)
}

// Renamed reports whether a load balancer was created for this Service under another --cluster-name of the
// same cluster. The cluster's mark proves it, or what Observed.Followed has; a name alone never does.
func (k Key) Renamed(lb api.LoadBalancer) bool {
	marked := k.ClusterUID != "" && names.ClusterUID(lb.Tags) == k.ClusterUID && lb.ID == k.Named &&
		strings.HasPrefix(lb.Name, names.LoadBalancerPrefix) && strings.HasSuffix(lb.Name, "_"+k.Namespace+"_"+k.Name)
	return marked || k.Followed != "" && lb.ID == k.Followed && k.mayFollow(lb)
}

// mayFollow reports whether a load balancer that the Service names may have been created for it under another
// --cluster-name by another manager. One with the tag of this Service is another one's, which this one shares.
func (k Key) mayFollow(lb api.LoadBalancer) bool {
	cluster, service, ok := names.ParseLoadBalancer(lb.Name)
	return ok && cluster != k.ClusterName && service == k.Service().String() && lb.ID == k.Named &&
		names.ClusterUID(lb.Tags) == "" && !slices.Contains(lb.Tags, names.ServiceTag(k.LoadBalancer()))
}

// followsAddress reports whether an address in the Service's status proves that a load balancer is the Service's. It
// is no proof if several Services share it: they all have its address.
func (k Key) followsAddress(lb api.LoadBalancer, addresses []string) bool {
	others := slices.DeleteFunc(names.Services(lb.Tags), func(tag string) bool { return tag == names.ServiceTag(lb.Name) })
	return k.mayFollow(lb) && len(others) == 0 && slices.ContainsFunc(addresses, k.HasAddress)
}

// followsMembers reports whether a node of this cluster among the members proves that a load balancer is the Service's.
// Its own listeners have its name; they have this Service's tag if the change of their name was interrupted. nodes are
// the IDs of listeners that have one.
func (k Key) followsMembers(lb api.LoadBalancer, listeners []api.Listener, nodes map[string]bool) bool {
	if !k.mayFollow(lb) {
		return false
	}
	earlier := k
	earlier.ClusterName, _, _ = names.ParseLoadBalancer(lb.Name)
	own := slices.DeleteFunc(slices.Clone(listeners), func(l api.Listener) bool { return !earlier.OwnsListener(lb, l) })
	if len(own) == 0 {
		own = slices.DeleteFunc(slices.Clone(listeners), func(l api.Listener) bool { return !k.OwnsListener(lb, l) })
	}
	return slices.ContainsFunc(own, func(l api.Listener) bool { return nodes[l.ID] })
}

// Guests returns the tags of other Services that share a load balancer.
func (k Key) Guests(lb api.LoadBalancer) []string {
	name := k.LoadBalancer()
	return slices.DeleteFunc(names.Services(lb.Tags), func(tag string) bool {
		return tag == name || k.Renamed(lb) && tag == lb.Name
	})
}

// CreatedFloatingIP reports whether a floating IP was created for this Service: by its description, in which
// the name of the cluster only matters if no mark identifies the cluster.
func (k Key) CreatedFloatingIP(f api.FloatingIP) bool {
	if uid := names.ClusterUID(f.Tags); uid != "" && k.ClusterUID != "" {
		return uid == k.ClusterUID && strings.HasPrefix(f.Description,
			names.FloatingIPMark+" "+k.Service().String()+" from cluster ")
	}
	return f.Description == names.FloatingIPDescription(k.ClusterName, k.Service())
}

// subject is the owner of the Service's objects in the snapshot.
func (k Key) subject() string { return k.Namespace + "/" + k.Name }
