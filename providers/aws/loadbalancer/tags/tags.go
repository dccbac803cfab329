// Package tags computes the tags of the objects of a Service's load balancer, the owner of an object by its
// tags, and the changes of tags that keep those of other owners.
package tags

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// ExtraTag lists the tags that came from the Service: 6 digits of a hash of each key, joined by dots, because
// the values of tags of load balancers allow few characters and at most 256 of them. A tag can then be
// removed when it leaves the Service, while one that a user added by hand stays. The key and its form can
// never change.
const ExtraTag = "unified-ccm.io/extra-tags"

const (
	// ownPrefix is reserved: a Service cannot set tags that begin with it.
	ownPrefix = "unified-ccm.io/"
	// awsPrefix is reserved by AWS.
	awsPrefix = "aws:"
	// hashDigits and maxListed keep ExtraTag within the 256 characters of a value.
	hashDigits, maxListed = 6, 36
)

// Service is the namespace and name of the Service of a key.
func Service(key lbcommon.Key) types.NamespacedName {
	return types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
}

// Desired returns the desired tags of every object of a Service's load balancer: the cluster's, and those that
// the Service sets, unless they collide. With legacy they include the tag of earlier managers.
func Desired(clusterID string, legacy bool, key lbcommon.Key, extra map[string]string) map[string]string {
	tags := maps.Clone(extra)
	if tags == nil {
		tags = map[string]string{}
	}
	maps.Copy(tags, names.OwnerTags(clusterID, legacy, Service(key)))
	if key.ClusterUID != "" {
		tags[names.ClusterUIDTag] = key.ClusterUID
	}
	if len(extra) > 0 {
		tags[ExtraTag] = encodeKeys(extra)
	}
	return tags
}

// isMark reports whether a key marks the owner of an object: a cluster's, in the tags of this manager and of earlier
// ones, or that of the AWS Load Balancer Controller.
func isMark(key string) bool {
	return strings.HasPrefix(key, ownPrefix) || strings.HasPrefix(key, names.ClusterTagPrefix) ||
		strings.HasPrefix(key, names.ControllerTagPrefix) || key == names.LegacyClusterTag || key == names.ServiceTag
}

// Check adds a problem for each tag that a Service cannot have: by the mark of another owner, a tenant could give
// the object away, or take one that another manager looks for. Marks of this cluster have no effect: the manager
// sets them to its values, as earlier managers do. The annotation sets extra, except for the tags that the portable
// annotation sets.
func Check(clusterID string, extra, portable map[string]string, annotation string, problems *intent.Problems) {
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		source := annotation
		if _, ok := portable[key]; ok {
			source = intent.KeyTags
		}
		switch {
		case strings.HasPrefix(strings.ToLower(key), awsPrefix):
			problems.Addf(source, key+"="+extra[key], "AWS reserves keys that begin with %s: choose another key", awsPrefix)
		case isMark(key) && key != names.ServiceTag && key != names.ClusterTag(clusterID) &&
			(key != names.LegacyClusterTag || extra[key] != clusterID):
			problems.Addf(source, key+"="+extra[key], "%s marks the owner of an object, and is set by the manager alone: "+
				"remove it, or choose another key", key)
		case utf8.RuneCountInString(key) > names.MaxTagKey || utf8.RuneCountInString(extra[key]) > names.MaxTagValue:
			problems.Addf(source, key+"="+extra[key], "a key has at most %d and a value at most %d characters: shorten it",
				names.MaxTagKey, names.MaxTagValue)
		}
	}
}

// Warnings returns the warning about more tags than ExtraTag lists: those that it omits stay when they leave the
// Service.
func Warnings(extra map[string]string, annotation string) []string {
	if len(extra) <= maxListed {
		return nil
	}
	return []string{fmt.Sprintf("%s: there are %d tags, and %d of them are not removed from AWS when they are removed "+
		"here: write at most %d", annotation, len(extra), len(extra)-maxListed, maxListed)}
}

// Diff returns the tags to set and the keys to remove so that an object has its desired tags, keeping those
// of other clients. Marks that are missing from an object of an earlier manager are not a reason for a
// change; they are added together with the next one.
func Diff(have, want map[string]string) (set map[string]string, remove []string) {
	set = map[string]string{}
	changed := false
	for key, value := range want {
		existing, ok := have[key]
		if ok && (existing == value || strings.HasPrefix(key, names.ClusterTagPrefix)) {
			continue // the value of a cluster's tag is never changed
		}
		set[key] = value
		changed = changed || ok || key != names.ClusterUIDTag && key != ExtraTag
	}
	for _, key := range slices.Sorted(maps.Keys(have)) {
		if _, desired := want[key]; !desired && isListed(key, have[ExtraTag]) {
			remove = append(remove, key)
			changed = true
		}
	}
	if !changed {
		return nil, nil
	}
	if _, listed := have[ExtraTag]; listed && want[ExtraTag] == "" && len(remove) > 0 {
		remove = append(remove, ExtraTag)
	}
	return set, remove
}

// ForeignOwner returns the owner of an object, "" if it is the cluster's. An object without any cluster's tag is
// ours if it names the Service, as objects of earlier managers do.
func ForeignOwner(have map[string]string, clusterID string, key lbcommon.Key) string {
	owner := OtherOwner(have, clusterID, key)
	if owner == "" && !names.HasCluster(have, clusterID) && have[names.ServiceTag] == "" {
		return "an owner that its tags do not name"
	}
	return owner
}

// OtherOwner returns the owner that the tags of an object name, "" if it is the cluster or if they name none. It is for
// objects with another proof of their owner, such as a name with the Service's UID: those keep it when a job removes
// their tags.
func OtherOwner(have map[string]string, clusterID string, key lbcommon.Key) string {
	uid, service := have[names.ClusterUIDTag], have[names.ServiceTag]
	switch {
	case uid != "" && key.ClusterUID != "" && uid != key.ClusterUID:
		return fmt.Sprintf("another cluster with the ID %q, with a namespace kube-system of UID %s", clusterID, uid)
	case names.HasCluster(have, clusterID):
		return ""
	case names.HasAnyCluster(have):
		return "cluster " + strings.Join(names.ClusterIDs(have), ", ")
	case have[names.LegacyClusterTag] != "":
		return "cluster " + have[names.LegacyClusterTag]
	case have[names.ControllerTag] != "":
		return "the AWS Load Balancer Controller of cluster " + have[names.ControllerTag]
	case service != "" && service != names.ServiceTagValue(Service(key)):
		return "Service " + service + " of an unknown cluster"
	default:
		return ""
	}
}

// Marked reports whether tags name any owner.
func Marked(have map[string]string) bool {
	return names.HasAnyCluster(have) || have[names.LegacyClusterTag] != "" || have[names.ServiceTag] != "" ||
		have[names.ClusterUIDTag] != ""
}

// IsFor reports whether tags mark an object as created for the Service in the cluster.
func IsFor(have map[string]string, clusterID string, key lbcommon.Key) bool {
	return have[names.ServiceTag] == names.ServiceTagValue(Service(key)) && names.HasCluster(have, clusterID)
}

// encodeKeys returns the value of ExtraTag.
func encodeKeys(extra map[string]string) string {
	var hashes []string
	for key := range extra {
		hashes = append(hashes, hash(key))
	}
	slices.Sort(hashes)
	return strings.Join(hashes[:min(len(hashes), maxListed)], ".")
}

// isListed reports whether ExtraTag lists a key as set by the Service. Marks never are, whatever the list
// contains.
func isListed(key, listed string) bool {
	if listed == "" || isMark(key) {
		return false
	}
	return slices.Contains(strings.Split(listed, "."), hash(key))
}

func hash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])[:hashDigits]
}
