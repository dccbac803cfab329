package vpc

import (
	"context"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// InstanceSource reads the instances of nodes.
type InstanceSource interface {
	// Described returns the existing instances of these IDs, from a shared snapshot unless fresh. Beside them it may
	// return an *awserr.UnreadError about the others.
	Described(ctx context.Context, ids []string, fresh bool) (map[string]*ec2types.Instance, error)
}

// Cluster has the marks of the cluster's objects.
type Cluster struct {
	// ID is the cluster's ID in tags. Legacy is set if the tag of earlier managers is written too.
	ID     string
	Legacy bool
}

// has reports whether tags mark an object as the cluster's own or as shared with it.
func (c Cluster) has(tags map[string]string) bool { return names.HasCluster(tags, c.ID) }

// Foreign reports whether tags mark an object as another cluster's and not as this one's.
func (c Cluster) Foreign(tags map[string]string) bool {
	if c.has(tags) {
		return false
	}
	legacy, ok := tags[names.LegacyClusterTag]
	return names.HasAnyCluster(tags) || ok && legacy != c.ID
}

// Options of a Reader.
type Options struct {
	API api.EC2
	// VPC is the ID of the VPC in which the nodes are.
	VPC     string
	Cluster Cluster
	// FallbackSubnet is used if no subnet qualifies by its tags: the configured one, or the manager's own. May
	// be empty.
	FallbackSubnet string
	Instances      InstanceSource
	// Clock is the real one if nil.
	Clock clock.Clock
}
