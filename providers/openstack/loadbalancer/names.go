package loadbalancer

import (
	"slices"
	"strings"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
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
func foreign(key lbcommon.Key, lb api.LoadBalancer) string {
	uid := names.ClusterUID(lb.Tags)
	if key.ClusterUID == "" || uid == "" || uid == key.ClusterUID {
		return ""
	}
	return "another cluster, whose namespace kube-system has the UID " + uid
}

// owns says whether a load balancer was made for this Service: by its name, of today or of before.
func owns(key lbcommon.Key, lb api.LoadBalancer) bool {
	name := names.LoadBalancer(key.ClusterName, serviceOf(key))
	return lb.Name == name || key.UID != "" && lb.Name == names.LegacyLoadBalancer(key.UID) || renamed(key, lb)
}

// renamed says whether a load balancer was made for this Service under another --cluster-name of
// the same cluster. The cluster's mark proves it; a name alone never does.
func renamed(key lbcommon.Key, lb api.LoadBalancer) bool {
	return key.ClusterUID != "" && names.ClusterUID(lb.Tags) == key.ClusterUID && lb.ID == reference(key.Hint) &&
		strings.HasPrefix(lb.Name, names.LoadBalancerPrefix) && strings.HasSuffix(lb.Name, "_"+key.Namespace+"_"+key.Name)
}

// guests are the tags of other Services that share a load balancer.
func guests(key lbcommon.Key, lb api.LoadBalancer) []string {
	name := names.LoadBalancer(key.ClusterName, serviceOf(key))
	return slices.DeleteFunc(names.Services(lb.Tags), func(tag string) bool {
		return tag == name || renamed(key, lb) && tag == lb.Name
	})
}
