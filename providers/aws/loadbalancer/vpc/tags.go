package vpc

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// ExtraTagsTag lists, separated by spaces, the keys that came from the Service's annotations. It
// is what lets a tag be removed when it leaves the annotation, while a tag that somebody added in
// the AWS console stays. It can never change.
const ExtraTagsTag = ownTagPrefix + "extra-tags"

// ownTagPrefix is reserved: a Service cannot set tags that begin with it, nor those that AWS
// keeps for itself.
const (
	ownTagPrefix = "unified-ccm.io/"
	awsTagPrefix = "aws:"
)

// What AWS allows: characters of a key and of a value, and tags of one object.
const (
	maxTagKey   = 128
	maxTagValue = 256
	maxTags     = 50
	// systemTags is how many of them may be the manager's.
	systemTags = 7
)

// CheckTags notes what AWS, or we, would refuse in the tags that a Service asks for.
func CheckTags(tags map[string]string, where string, problems *intent.Problems) {
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		value := tags[key]
		switch {
		case strings.HasPrefix(strings.ToLower(key), awsTagPrefix), strings.HasPrefix(key, ownTagPrefix):
			problems.Addf(where, key+"="+value, "tags that begin with %s or %s are not for Services; choose another key", awsTagPrefix, ownTagPrefix)
		case len([]rune(key)) > maxTagKey:
			problems.Addf(where, key, "the key has more than %d characters; shorten it", maxTagKey)
		case len([]rune(value)) > maxTagValue:
			problems.Addf(where, key+"="+value, "the value has more than %d characters; shorten it", maxTagValue)
		}
	}
	if len(tags) > maxTags-systemTags {
		problems.Addf(where, "", "it has %d tags, and an object of AWS has room for %d beside the manager's own; remove some", len(tags), maxTags-systemTags)
	}
}

// BalancerTags are the tags of a load balancer: those of the Service, the memory of which those
// are, and the manager's own, which win.
func BalancerTags(cluster Cluster, clusterUID string, service types.NamespacedName, extra map[string]string) map[string]string {
	tags := GroupTags(cluster, clusterUID, extra)
	tags[names.ServiceTag] = names.ServiceTagValue(service)
	if len(extra) > 0 {
		tags[ExtraTagsTag] = rememberKeys(extra)
	}
	return tags
}

// GroupTags are the tags of a managed security group. It has never carried the Service's name.
func GroupTags(cluster Cluster, clusterUID string, extra map[string]string) map[string]string {
	tags := maps.Clone(extra)
	if tags == nil {
		tags = map[string]string{}
	}
	tags[names.ClusterTag(cluster.ID)] = names.Owned
	if cluster.Legacy {
		tags[names.LegacyClusterTag] = cluster.ID
	}
	if clusterUID != "" {
		tags[names.ClusterUIDTag] = clusterUID
	}
	return tags
}

// rememberKeys lists as many keys as a value holds. Keys with a space are not listed, so that a tag
// of such a key stays when it leaves the annotation.
func rememberKeys(extra map[string]string) string {
	var list string
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		if strings.Contains(key, " ") || len(list)+1+len(key) > maxTagValue {
			continue
		}
		list = strings.TrimPrefix(list+" "+key, " ")
	}
	return list
}

// DiffTags returns the tags to set on an object, and the keys of those to remove: the ones that
// the Service asked for earlier. Everybody else's tags stay.
func DiffTags(have, want map[string]string) (set map[string]string, remove []string) {
	set = map[string]string{}
	for key, value := range want {
		if old, ok := have[key]; !ok || old != value {
			set[key] = value
		}
	}
	for key := range strings.SplitSeq(have[ExtraTagsTag], " ") {
		_, exists := have[key]
		_, wanted := want[key]
		// The list is in the cloud, where somebody may have edited it: it never takes away a mark.
		if exists && !wanted && !strings.HasPrefix(key, ownTagPrefix) && !strings.HasPrefix(key, names.ClusterTagPrefix) {
			remove = append(remove, key)
		}
	}
	_, listed := have[ExtraTagsTag]
	if _, wanted := want[ExtraTagsTag]; listed && !wanted {
		remove = append(remove, ExtraTagsTag)
	}
	slices.Sort(remove)
	return set, remove
}

// ForeignBalancer says whose a load balancer or target group is if its tags are another cluster's,
// and "" if it is ours or has no mark at all.
func ForeignBalancer(cluster Cluster, clusterUID string, tags map[string]string) string {
	uid := tags[names.ClusterUIDTag]
	switch {
	case cluster.foreign(tags):
		return "another cluster (" + clusterTags(tags) + ")"
	case clusterUID != "" && uid != "" && uid != clusterUID:
		return "another cluster of the ID " + cluster.ID + ", with the UID " + uid
	default:
		return ""
	}
}

// clusterTags shows the tags that mark clusters.
func clusterTags(tags map[string]string) string {
	marks := map[string]string{}
	for key, value := range tags {
		if strings.HasPrefix(key, names.ClusterTagPrefix) || key == names.LegacyClusterTag {
			marks[key] = value
		}
	}
	return showTags(marks)
}
