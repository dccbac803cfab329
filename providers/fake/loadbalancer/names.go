package loadbalancer

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
)

// Everything in this file is written into users' clouds. None of it can ever change: the next release would
// create an object again if it did not recognise the name or the tags, and would never delete the old one.

// Tags that mark an object as ours.
const (
	// TagCluster is the cluster's name (the flag --cluster-name).
	TagCluster = "unified-ccm.io/cluster"
	// TagClusterUID is the UID of the namespace kube-system. It distinguishes clusters of one name.
	TagClusterUID = "unified-ccm.io/cluster-uid"
	// TagService is the Service, as namespace/name. It is for users only.
	TagService = "unified-ccm.io/service"
	// TagExtraKeys lists, separated by commas, the keys that came from the Service's annotation.
	// A tag of this list is removed when it leaves the annotation, while a tag that a user added in the cloud stays.
	TagExtraKeys = "unified-ccm.io/extra-tags"

	// TagApplied is the applied record of a load balancer: see package loadbalancer of pkg/common.
	TagApplied = "unified-ccm.io/applied"

	// tagPrefix is reserved: a Service cannot set tags that begin with it.
	tagPrefix = "unified-ccm.io/"
)

const (
	// maxNameLength keeps names usable as DNS labels, which is how clouds tend to limit them.
	maxNameLength = 63
	namePrefix    = "k8s-"
	uidLength     = 8
	// noUID stands for the UID of a Service that the API server has not seen yet: `ccm plan -f`.
	noUID = "00000000"
)

// loadBalancerName returns k8s-NAMESPACE-NAME-UID, with the last 8 digits of the Service's UID.
// Long namespaces and names are cut at their end. The UID is never cut: it distinguishes two
// Services with cut names, and a Service from a deleted one of the same name.
func loadBalancerName(key lbcommon.Key) string {
	uid := strings.ReplaceAll(string(key.UID), "-", "")
	if uid == "" {
		uid = noUID
	}
	uid = uid[max(0, len(uid)-uidLength):]
	readable := truncate(key.Namespace+"-"+key.Name, maxNameLength-len(namePrefix)-1-uidLength)
	return namePrefix + strings.TrimRight(readable, "-.") + "-" + uid
}

// addressName returns the name of a load balancer's address of one family. The name contains a particular IP
// address, if the Service requires one, so that it can be allocated before the address that it replaces is
// released.
func addressName(loadBalancer string, family v1.IPFamily, ip string) string {
	name := loadBalancer + "-" + strings.ToLower(string(family))
	if ip != "" {
		name += "-" + ip
	}
	return name
}

// addressOwner is the inverse of addressName: it returns the name of the load balancer that an address was
// allocated for, and false for other addresses.
func addressOwner(address string) (loadBalancer string, ok bool) {
	for _, family := range []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} {
		suffix := "-" + strings.ToLower(string(family))
		if owner, ok := strings.CutSuffix(address, suffix); ok {
			return owner, true
		}
		// The last occurrence, because a Service's own name may contain the word.
		i := strings.LastIndex(address, suffix+"-")
		if i < 0 {
			continue
		}
		if _, err := netip.ParseAddr(address[i+len(suffix)+1:]); err == nil {
			return address[:i], true
		}
	}
	return "", false
}

// portName returns the name of a port's listener and of its pool: tcp-80. The protocol and the Service port
// are immutable in a listener, so the name of a port changes exactly when its listener has to be replaced; a
// new node port only changes the pool's members.
func portName(protocol v1.Protocol, port int32) string {
	return fmt.Sprintf("%s-%d", strings.ToLower(string(protocol)), port)
}

// ownTags returns the tags of all objects of a Service, with the user's extra ones.
func ownTags(key lbcommon.Key, extra map[string]string) map[string]string {
	tags := maps.Clone(extra)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[TagCluster] = key.ClusterName
	tags[TagService] = key.Namespace + "/" + key.Name
	if key.ClusterUID != "" {
		tags[TagClusterUID] = key.ClusterUID
	}
	if len(extra) > 0 {
		tags[TagExtraKeys] = strings.Join(slices.Sorted(maps.Keys(extra)), ",")
	}
	return tags
}

// mergeTags returns the desired tags of an object: our own, without those that the Service requested earlier
// and no longer does. Tags of other clients stay.
func mergeTags(have, want map[string]string) map[string]string {
	merged := maps.Clone(have)
	if merged == nil {
		merged = map[string]string{}
	}
	for key := range strings.SplitSeq(have[TagExtraKeys], ",") {
		// The list is in the cloud and may have been edited: it never removes a tag of ours.
		if !strings.HasPrefix(key, tagPrefix) {
			delete(merged, key)
		}
	}
	delete(merged, TagExtraKeys)
	maps.Copy(merged, want)
	return merged
}

// truncate cuts s to at most n bytes; namespaces, names and UIDs are ASCII.
func truncate(s string, n int) string { return s[:min(len(s), n)] }
