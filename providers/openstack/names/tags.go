package names

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Tags of our own. Neutron stores at most 60 characters, takes commas for the end of a tag where it
// filters, and has tags in paths: hence short keys without commas and slashes. None begins like
// LoadBalancerPrefix, because tags that do are counted as Services.
const (
	// ClusterTagPrefix and the UID of the namespace kube-system mark what belongs to a cluster, and
	// distinguish clusters of the same name.
	ClusterTagPrefix = "unified-ccm:cluster="
	// ExtraTagPrefix and the tags that a Service's annotations ask for, separated by commas, are what
	// lets a tag be removed when it leaves the annotation, while one that another client set stays.
	ExtraTagPrefix = "unified-ccm:extra="
	// AppliedTagPrefix and an applied record describe what the Service asked for when its load balancer was last
	// changed.
	AppliedTagPrefix = "unified-ccm:applied="
	// UnmonitoredTag says that another manager made a load balancer without health monitors, and that
	// no one has asked for any since.
	UnmonitoredTag = "unified-ccm:unmonitored"
	// KeepTag marks a floating IP that outlives its Service.
	KeepTag = "unified-ccm:keep"
)

// ClusterTag marks what belongs to the cluster with that UID.
func ClusterTag(clusterUID string) string { return ClusterTagPrefix + clusterUID }

// ServiceTag marks a load balancer or listener as one for the Service whose load balancer would
// have that name: see LoadBalancer.
func ServiceTag(loadBalancer string) string { return loadBalancer }

// ClusterUID returns the UID in the tag of ClusterTag, and "" if there is none.
func ClusterUID(tags []string) string { return Value(tags, ClusterTagPrefix) }

// Value returns what follows the prefix in the first tag that has it, and "" if none has.
func Value(tags []string, prefix string) string {
	for _, tag := range tags {
		if value, ok := strings.CutPrefix(tag, prefix); ok {
			return value
		}
	}
	return ""
}

// Services returns the tags that name Services: how many share a load balancer, and its owner.
func Services(tags []string) []string {
	var out []string
	for _, tag := range tags {
		if strings.HasPrefix(tag, LoadBalancerPrefix) {
			out = append(out, tag)
		}
	}
	return out
}

// RouteTagPrefix begins the tags of a router that say which of its routes are a cluster's.
const RouteTagPrefix = "unified-ccm:route="

// RouteTagsOf is how the tags of all routes of one cluster begin. cluster is the UID of the namespace
// kube-system, or the cluster's name where that is not known.
func RouteTagsOf(cluster string) string { return RouteTagPrefix + digest(8, cluster) + "-" }

// RouteTag marks a router's route as one of the cluster's. Routes have no names and no tags of their
// own, and the text of an IPv6 route is longer than a tag: hence the hash.
func RouteTag(cluster, destination, nextHop string) string {
	return RouteTagsOf(cluster) + digest(16, destination, nextHop)
}

// digest is the first digits of a hash over the parts.
func digest(digits int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, " ")))
	return hex.EncodeToString(sum[:])[:digits]
}
