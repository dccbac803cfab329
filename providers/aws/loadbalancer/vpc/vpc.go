// Package vpc has the parts of their VPC that load balancers of both generations share: subnets, security
// groups, and the rules that allow load balancers to reach nodes. Reads are cached and shared between
// Services; selections and diffs are pure functions.
package vpc

import (
	"context"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// InstanceSource reads the instances of nodes.
type InstanceSource interface {
	// Described returns the existing instances of these IDs, from a shared snapshot unless fresh.
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

const (
	// subnetsAge is the max age of shared lists. It only has to span a burst, such as a restart that reconciles
	// every Service within seconds; it is also the time for which a reconcile may miss a change made by hand.
	subnetsAge = 30 * time.Second
	// groupsAge is the same for security groups. Our own writes update their snapshot in between.
	groupsAge = 30 * time.Second
	// zonesAge: the type of a zone never changes, and a region rarely gets a new one; an unknown zone is looked
	// up at once.
	zonesAge = 24 * time.Hour
)

// Reader reads the VPC for all Services. It is safe for concurrent use.
type Reader struct {
	options Options
	subnets *snapshot.Value[[]Subnet]
	zones   *snapshot.Value[map[string]string]
	groups  *GroupStore
}

// NewReader returns a Reader. It makes no calls.
func NewReader(o Options) *Reader {
	o.Clock = clocks.OrReal(o.Clock)
	r := &Reader{options: o, groups: newGroupStore(o)}
	r.zones = snapshot.NewValue(snapshot.ValueOptions[map[string]string]{Read: r.readZones, Clock: o.Clock, Age: zonesAge})
	r.subnets = snapshot.NewValue(snapshot.ValueOptions[[]Subnet]{Read: r.readSubnets, Clock: o.Clock, Age: subnetsAge})
	return r
}

// Groups is the store of security groups.
func (r *Reader) Groups() *GroupStore { return r.groups }

// SharedState is the part of the VPC that Services share and do not own. Readers must not modify it.
type SharedState struct {
	VPC     string
	Cluster Cluster
	// Subnets of the VPC, by ID in ascending order.
	Subnets []Subnet
	// FallbackSubnet is used if no subnet qualifies by its tags; "" for none.
	FallbackSubnet string
	// Instances are the existing requested ones, by ID.
	Instances map[string]*ec2types.Instance
	// Groups are the cluster's security groups, and those of the Instances.
	Groups Groups
}

// SharedState returns the VPC with the instances of these IDs. Errors carry a class of package cloudapi.
func (r *Reader) SharedState(ctx context.Context, instanceIDs []string) (SharedState, error) {
	s := SharedState{VPC: r.options.VPC, Cluster: r.options.Cluster, FallbackSubnet: r.options.FallbackSubnet}
	var reads errgroup.Group
	reads.Go(func() (err error) { s.Subnets, err = r.subnets.Get(ctx); return err })
	if len(instanceIDs) > 0 && r.options.Instances != nil {
		reads.Go(func() (err error) {
			s.Instances, err = r.options.Instances.Described(ctx, instanceIDs, false)
			return err
		})
	}
	err := reads.Wait()
	if err != nil {
		return SharedState{}, err
	}
	s.Groups, err = r.groups.Get(ctx, GroupQuery{IDs: groupIDs(s.Instances)})
	return s, err
}
