package names

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Tags of this manager. Neutron stores at most 60 characters, treats commas as separators in filters, and has
// tags in paths: hence short keys without commas and slashes. None has the prefix LoadBalancerPrefix, because
// tags with it are counted as Services.
const (
	// ClusterTagPrefix and the UID of the namespace kube-system mark objects of a cluster, and distinguish
	// clusters of the same name.
	ClusterTagPrefix = "unified-ccm:cluster="
	// ExtraTagPrefix and the tags in a Service's annotations, separated by commas, record the tags that the
	// manager has set: a tag can then be removed when it leaves the annotation, while a tag of another client
	// stays.
	ExtraTagPrefix = "unified-ccm:extra="
	// AppliedTagPrefix and an applied record describe the Service at the last change of its load balancer.
	AppliedTagPrefix = "unified-ccm:applied="
	// UnmonitoredTag marks a load balancer that another manager created without health monitors, while its
	// Service has not requested any since.
	UnmonitoredTag = "unified-ccm:unmonitored"
	// GuestsTagPrefix and the Services that the owner of a load balancer lets in, separated by commas, are what guests
	// of other namespaces need.
	GuestsTagPrefix = "unified-ccm:guests="
	// KeepTag marks a floating IP that outlives its Service.
	KeepTag = "unified-ccm:keep"
)

// MaxTag is the maximum length of a tag in Octavia.
const MaxTag = 255

// IsReservedTag reports whether a tag has the form of the tags that mark the owner of an object.
func IsReservedTag(tag string) bool {
	return strings.HasPrefix(tag, LoadBalancerPrefix) || strings.HasPrefix(tag, "unified-ccm:")
}

// ClusterTag returns the tag of objects of the cluster with that UID.
func ClusterTag(clusterUID string) string { return ClusterTagPrefix + clusterUID }

// ServiceTag returns the tag of a load balancer or listener for the Service with a load balancer of that
// name: see LoadBalancer.
func ServiceTag(loadBalancer string) string { return loadBalancer }

// ClusterUID returns the UID in the tag of ClusterTag, and "" if there is none.
func ClusterUID(tags []string) string { return Value(tags, ClusterTagPrefix) }

// Value returns the rest of the first tag with the prefix, and "" if there is none.
func Value(tags []string, prefix string) string {
	for _, tag := range tags {
		if value, ok := strings.CutPrefix(tag, prefix); ok {
			return value
		}
	}
	return ""
}

// Services returns the tags with names of Services: their number is that of the Services that share a load
// balancer, and the first is its owner.
func Services(tags []string) []string {
	var out []string
	for _, tag := range tags {
		if strings.HasPrefix(tag, LoadBalancerPrefix) {
			out = append(out, tag)
		}
	}
	return out
}

// LetsIn reports whether the owner of a load balancer with these tags lets a Service share it. set is false if the
// owner has no list.
func LetsIn(tags []string, namespace, name string) (in, set bool) {
	i := slices.IndexFunc(tags, func(tag string) bool { return strings.HasPrefix(tag, GuestsTagPrefix) })
	if i < 0 {
		return false, false
	}
	list := strings.Split(strings.TrimPrefix(tags[i], GuestsTagPrefix), ",")
	return slices.Contains(list, namespace+"/"+name) || slices.Contains(list, namespace+"/*"), true
}

// RouteTagPrefix is the prefix of the tags of a router that identify a cluster's routes.
const RouteTagPrefix = "unified-ccm:route="

// RouteTagPrefixOf returns the common prefix of the tags of all routes of one cluster. cluster is the UID of the
// namespace kube-system, or the cluster's name if the UID is unknown.
func RouteTagPrefixOf(cluster string) string { return RouteTagPrefix + digest(8, cluster) + "-" }

// RouteTag returns the router's tag for a route of the cluster. Routes have no names or tags of their own,
// and the text of an IPv6 route is longer than a tag: hence the hash.
func RouteTag(cluster, destination, nextHop string) string {
	return RouteTagPrefixOf(cluster) + digest(16, destination, nextHop)
}

// digest returns the first digits of a hash over the parts.
func digest(digits int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, " ")))
	return hex.EncodeToString(sum[:])[:digits]
}
