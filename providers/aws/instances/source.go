package instances

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Source implements commoninstances.Source over EC2, and serves load balancers and routes from the same
// reads. Batching and the rules for deleted instances are in pkg/common/instances.
type Source struct {
	connect  func(context.Context) (Connection, error)
	ids      *commoninstances.TableScheme
	families []string
	nodes    *nodes.LazyLister
	clock    clock.Clock

	cache    *describedInstances
	zones    *zoneIDs
	topology *topology
	fargate  *fargateNodes
	outage   *outage
}

var _ commoninstances.Source = (*Source)(nil)

// outage remembers what EC2 could not read. It is safe for concurrent use.
type outage struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// until is the end of the time in which reads by filter are not tried.
	until time.Time
	// unread are the errors of instances that could not be read, zones those of instances that were never read, by ID.
	// They end with the outage.
	unread map[string]error
	zones  map[string]string
}

// fargateNodes holds the IDs of known Fargate nodes. EC2 cannot list them, because their network interfaces
// carry no tag of the cluster; Source.List reads the known ones in bulk.
type fargateNodes struct {
	mu  sync.Mutex
	ids map[string]bool
}

// describedInstances caches instances, and the IDs of instances that reads by ID did not find. A list that lacks an
// instance proves nothing, because EC2 is eventually consistent: it is read by ID before it counts as deleted.
type describedInstances struct {
	*snapshot.Table[described]
	store *snapshot.Store
	// reading is held during reads of all instances, or of many for Described, so that concurrent callers
	// share their result: at a start load balancers need what the nodes' first list returns.
	reading locks.Mutex
}

// described is an instance as EC2 described it.
type described struct {
	// Instance is shared by all callers and never written. The structure is large: copies of it for each of
	// thousands of nodes and hundreds of Services in flight would be most of the memory of this process.
	*ec2types.Instance
	// tagged reports whether it has the cluster's tag, and listed whether lists include it.
	tagged, listed bool
}

// owned returns the instances that exist and carry the cluster's tag.
func (s Scope) owned(list []ec2types.Instance) []ec2types.Instance {
	return slices.DeleteFunc(list, func(i ec2types.Instance) bool {
		return isTerminated(&i) || !s.has(&i)
	})
}

// has reports whether the instance carries the cluster's tag.
func (s Scope) has(i *ec2types.Instance) bool {
	return names.HasCluster(api.TagMap(i.Tags), s.ClusterID)
}

// isOutage reports whether a read by filter failed as it does while a zone is disrupted.
func isOutage(ctx context.Context, err error) bool {
	return cloudapi.Is(err, cloudapi.Unavailable) && ctx.Err() == nil
}

// convert converts instances to those of pkg/common/instances, in the same order. One with a property that cannot be
// parsed is Uncertain.
func (s *Source) convert(ctx context.Context, conn Connection, found []ec2types.Instance) []commoninstances.Instance {
	zoneIDs := s.zones.idsOfInstances(ctx, found)
	topology := s.topology.get(ctx, found)
	out := make([]commoninstances.Instance, len(found))
	for n := range found {
		i := &found[n]
		id, zone := aws.ToString(i.InstanceId), zoneOf(i)
		addresses, err := addressesOf(i, s.families)
		providerID, idErr := s.providerID(zone, id)
		if err == nil {
			err = idErr
		}
		if err != nil {
			out[n] = commoninstances.Instance{ID: id, Uncertain: unreadable("instance "+id, err)}
			continue
		}
		out[n] = commoninstances.Instance{
			ID: id, ProviderID: providerID, NodeName: aws.ToString(i.PrivateDnsName),
			Type: string(i.InstanceType), Zone: zone, Region: conn.Region,
			State: stateOf(i), Addresses: addresses,
			Labels:     nodeLabels(zoneIDs[zone], topology.layers[id]),
			Incomplete: topology.errs[id],
		}
	}
	return out
}

// unreadable returns an error about a property of an instance that this manager cannot parse.
func unreadable(name string, err error) error {
	return &cloudapi.Error{Class: cloudapi.Unknown, Operation: "DescribeInstances", Err: fmt.Errorf("%s: %w", name, err)}
}

func (s *Source) providerID(zone, id string) (string, error) {
	if zone == "" {
		return s.ids.FormatAs("without a zone", commoninstances.Fields{names.FieldID: id})
	}
	return s.ids.Format(commoninstances.Fields{names.FieldZone: zone, names.FieldID: id})
}

// describeTopology reads the topology of instances.
func (s *Source) describeTopology(ctx context.Context, ids []string) ([]ec2types.InstanceTopology, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	out, err := conn.EC2.DescribeInstanceTopology(ctx, &ec2.DescribeInstanceTopologyInput{InstanceIds: ids})
	if err != nil {
		return nil, awserr.Wrap("DescribeInstanceTopology", err)
	}
	return out.Instances, nil
}

func (s *Source) readZoneIDs(ctx context.Context) (map[string]string, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	out, err := conn.EC2.DescribeAvailabilityZones(ctx, &ec2.DescribeAvailabilityZonesInput{})
	if err != nil {
		err = awserr.Wrap("DescribeAvailabilityZones", err)
		klog.FromContext(ctx).Info("Failed to read zone IDs; nodes get no zone ID label", "err", err)
		return nil, err
	}
	ids := make(map[string]string, len(out.AvailabilityZones))
	for _, zone := range out.AvailabilityZones {
		ids[aws.ToString(zone.ZoneName)] = aws.ToString(zone.ZoneId)
	}
	return ids, nil
}

func zoneOf(i *ec2types.Instance) string {
	if i.Placement == nil {
		return ""
	}
	return aws.ToString(i.Placement.AvailabilityZone)
}

// nodeLabels returns the labels of a Node besides those that the framework sets.
func nodeLabels(zoneID string, layers []string) map[string]string {
	out := map[string]string{}
	if zoneID != "" {
		out[names.ZoneIDLabel] = zoneID
	}
	for n, node := range layers {
		out[fmt.Sprintf("%s%d", names.NetworkNodeLabelPrefix, n+1)] = node
	}
	return out
}

// stateOf maps EC2's states. An instance that is stopping still runs. A missing or unknown state counts as
// running, which never taints or deletes a Node.
func stateOf(i *ec2types.Instance) commoninstances.State {
	if i.State == nil {
		return commoninstances.Running
	}
	switch i.State.Name {
	case ec2types.InstanceStateNamePending:
		return commoninstances.Pending
	case ec2types.InstanceStateNameStopped:
		return commoninstances.Stopped
	case ec2types.InstanceStateNameShuttingDown:
		return commoninstances.Terminating
	default:
		return commoninstances.Running
	}
}
