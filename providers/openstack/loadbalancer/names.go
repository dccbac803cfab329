package loadbalancer

import (
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// maxTag is the longest tag that Octavia stores.
const maxTag = 255

// mergeTags returns what an object's tags should be: marks and what the Service asks for, without
// what it asked for earlier and no longer does, and everybody else's as they are.
func mergeTags(have, want, extra []string) []string {
	asked := strings.Split(names.Value(have, names.ExtraTagPrefix), ",")
	var merged []string
	for _, tag := range have {
		switch {
		case tag == "", strings.HasPrefix(tag, names.ExtraTagPrefix):
		case slices.Contains(asked, tag) && !slices.Contains(want, tag):
		case slices.Contains(merged, tag):
		default:
			merged = append(merged, tag)
		}
	}
	for _, tag := range want {
		if !slices.Contains(merged, tag) {
			merged = append(merged, tag)
		}
	}
	if mark := names.ExtraTagPrefix + strings.Join(slices.Sorted(slices.Values(extra)), ","); len(extra) > 0 && len(mark) <= maxTag {
		merged = append(merged, mark)
	}
	if merged == nil {
		merged = []string{}
	}
	return merged
}

// foreign says whose a load balancer is if it is marked as another cluster's, and "" if it is not.
// A missing mark is none: load balancers that were made before carry the cluster's name alone.
func foreign(key serviceKey, lb api.LoadBalancer) string {
	uid := names.ClusterUID(lb.Tags)
	if key.ClusterUID == "" || uid == "" || uid == key.ClusterUID {
		return ""
	}
	return "another cluster, whose namespace kube-system has the UID " + uid
}

// proven says whether a load balancer that has the name of this Service's is this cluster's beyond
// doubt. Today's managers put nothing but the cluster's name on it, and two clusters may have the
// same: what proves it is our mark, the Service that names it, or a name made of the Service's UID.
// Where nothing can be marked, because nobody knows the cluster's UID or because Octavia has no
// tags, the name has to do.
func proven(key serviceKey, lb api.LoadBalancer) bool {
	return key.ClusterUID == "" || lb.Tags == nil || names.ClusterUID(lb.Tags) == key.ClusterUID ||
		lb.ID == key.named || key.UID != "" && lb.Name == names.LegacyLoadBalancer(key.UID)
}

// servesUs says whether a load balancer has a node of this cluster among its members, by name and
// address: that shows whose it is, too.
func (d *differ) servesUs() bool {
	type member struct{ name, address string }
	nodes := map[member]bool{}
	for _, port := range d.want.Ports {
		for _, m := range port.Members {
			nodes[member{m.Name, m.Address}] = true
		}
	}
	return slices.ContainsFunc(d.have.Pools, func(p Pool) bool {
		return slices.ContainsFunc(p.Members, func(m api.Member) bool { return nodes[member{m.Name, m.Address}] })
	})
}

// owns says whether a load balancer was made for this Service: by its name, of today or of before.
func owns(key serviceKey, lb api.LoadBalancer) bool {
	name := names.LoadBalancer(key.ClusterName, serviceOf(key.Key))
	return lb.Name == name || key.UID != "" && lb.Name == names.LegacyLoadBalancer(key.UID) || renamed(key, lb)
}

// renamed says whether a load balancer was made for this Service under another --cluster-name of
// the same cluster. The cluster's mark proves it; a name alone never does.
func renamed(key serviceKey, lb api.LoadBalancer) bool {
	return key.ClusterUID != "" && names.ClusterUID(lb.Tags) == key.ClusterUID && lb.ID == key.named &&
		strings.HasPrefix(lb.Name, names.LoadBalancerPrefix) && strings.HasSuffix(lb.Name, "_"+key.Namespace+"_"+key.Name)
}

// guests are the tags of other Services that share a load balancer.
func guests(key serviceKey, lb api.LoadBalancer) []string {
	name := names.LoadBalancer(key.ClusterName, serviceOf(key.Key))
	return slices.DeleteFunc(names.Services(lb.Tags), func(tag string) bool {
		return tag == name || renamed(key, lb) && tag == lb.Name
	})
}
