package names

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Keys of tags.
const (
	// ClusterTagPrefix and the cluster's ID mark objects of a cluster.
	ClusterTagPrefix = "kubernetes.io/cluster/"
	// LegacyClusterTag is the previous mark, with the ID as its value.
	LegacyClusterTag = "KubernetesCluster"
	// ControllerTagPrefix begins the tags by which the AWS Load Balancer Controller recognizes its objects.
	// ControllerTag is its mark, with the cluster's name as its value.
	ControllerTagPrefix = "elbv2.k8s.aws/"
	ControllerTag       = ControllerTagPrefix + "cluster"
	// ServiceTag holds the namespace and name of the Service that an object is for.
	ServiceTag = "kubernetes.io/service-name"
	// RoleELBTag and RoleInternalELBTag prefer a subnet for public and for internal load balancers;
	// their values do not matter.
	RoleELBTag         = "kubernetes.io/role/elb"
	RoleInternalELBTag = "kubernetes.io/role/internal-elb"
	// NameTag is the name that the console shows for objects without a name.
	NameTag = "Name"
)

// MaxTagKey and MaxTagValue are the maximum lengths of a tag in EC2 and Elastic Load Balancing, in characters.
const (
	MaxTagKey   = 128
	MaxTagValue = 256
)

// Tags of this manager.
const (
	// ClusterUIDTag holds the UID of the namespace kube-system, which distinguishes clusters of the same ID.
	ClusterUIDTag = "unified-ccm.io/cluster-uid"
	// AppliedTag holds the applied record of a load balancer without its targets; TargetsTag holds a
	// digest of the targets.
	AppliedTag = "unified-ccm.io/applied"
	TargetsTag = "unified-ccm.io/targets"
)

// Owned is the value of the cluster's tag on objects that are deleted with the cluster. Any other value means shared.
const Owned = "owned"

// ClusterTag returns the key of the tag of a cluster.
func ClusterTag(clusterID string) string { return ClusterTagPrefix + clusterID }

// ServiceTagValue returns the value of ServiceTag.
func ServiceTagValue(service types.NamespacedName) string { return service.String() }

// HasCluster reports whether the tags mark an object as owned by the cluster or as shared with it.
func HasCluster(tags map[string]string, clusterID string) bool {
	if _, ok := tags[ClusterTag(clusterID)]; ok {
		return true
	}
	legacy, ok := tags[LegacyClusterTag]
	return ok && legacy == clusterID
}

// OwnedByCluster reports whether the tags mark an object as owned by the cluster.
func OwnedByCluster(tags map[string]string, clusterID string) bool {
	legacy, ok := tags[LegacyClusterTag]
	return tags[ClusterTag(clusterID)] == Owned || ok && legacy == clusterID
}

// HasAnyCluster reports whether the tags name any cluster. Every cluster may use subnets without such a tag. The
// legacy tag does not count here.
func HasAnyCluster(tags map[string]string) bool {
	for key := range tags {
		if strings.HasPrefix(key, ClusterTagPrefix) {
			return true
		}
	}
	return false
}

// ClusterIDs returns the IDs of the clusters that the tags name, sorted. It ignores the legacy tag.
func ClusterIDs(tags map[string]string) []string {
	var ids []string
	for key := range tags {
		if id, ok := strings.CutPrefix(key, ClusterTagPrefix); ok && id != "" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// OwnerTags returns the tags of an object that the manager creates for a Service and owns. With legacy they include the
// legacy cluster tag.
func OwnerTags(clusterID string, legacy bool, service types.NamespacedName) map[string]string {
	tags := map[string]string{ClusterTag(clusterID): Owned, ServiceTag: ServiceTagValue(service)}
	if legacy {
		tags[LegacyClusterTag] = clusterID
	}
	return tags
}
