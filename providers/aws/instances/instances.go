package instances

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
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

// Connection is the client of EC2 and the cluster that it is used for.
type Connection struct {
	EC2 api.EC2
	Scope
}

// Options configure New. All but TopologyTypes and Nodes are required.
type Options struct {
	// Connect returns the connection. It may make calls, and caches their result.
	Connect func(context.Context) (Connection, error)
	// ProviderIDs formats provider IDs.
	ProviderIDs *commoninstances.TableScheme
	// Families are the IP families of node addresses in order: ipv4, ipv6.
	Families []string
	// TopologyTypes matches the instance types of Nodes that are not initialized before their network
	// topology is known; nil matches none.
	TopologyTypes *regexp.Regexp
	Clock         clock.Clock
	// Nodes lists the cluster's Nodes.
	Nodes *nodes.LazyLister
}

// New returns a Source. It makes no call.
func New(o Options) *Source {
	s := &Source{
		connect: o.Connect, ids: o.ProviderIDs, families: o.Families, clock: o.Clock, nodes: o.Nodes,
		cache:   newDescribedInstances(o.Clock),
		fargate: newFargateNodes(),
		outage:  &outage{clock: o.Clock},
	}
	s.zones = newZoneIDs(s.readZoneIDs, o.Clock)
	s.topology = newTopology(topologyOptions{
		Describe: s.describeTopology, Existing: s.existing, Initialized: s.initializedInstances, Required: o.TopologyTypes,
		Clock: o.Clock,
	})
	return s
}

// List implements commoninstances.Source. It returns the cluster's instances, and the Fargate nodes that
// were read before. It omits those with properties that cannot be parsed, and Fargate nodes that cannot be read: Get
// returns their errors. While a zone is disrupted it fails, and nodes are read by ID.
func (s *Source) List(ctx context.Context) ([]commoninstances.Instance, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.sharedList(ctx, conn)
	if err != nil {
		return nil, err
	}
	out := s.convert(ctx, conn, found)
	out = slices.DeleteFunc(out, func(i commoninstances.Instance) bool { return i.Uncertain != nil })
	fargate, err := s.readFargate(ctx, conn, s.fargate.known())
	if err != nil {
		klog.FromContext(ctx).Error(err, "Failed to list Fargate nodes; they are read one by one")
	}
	return append(out, fargate...), ctx.Err()
}

// sharedList lists the cluster's instances, or returns the result of a list that was in flight: at a
// start nodes and load balancers need all instances at the same time.
func (s *Source) sharedList(ctx context.Context, conn Connection) ([]ec2types.Instance, error) {
	oldest := s.clock.Now().Add(-listAge)
	before, _ := s.cache.Listed()
	unlock, err := s.cache.reading.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if last, _ := s.cache.Listed(); last.After(before) && !last.At().Before(oldest) {
		return s.cache.listed(), nil
	}
	return s.list(ctx, conn)
}

// list lists the cluster's instances and caches them. The caller holds the lock cache.reading.
func (s *Source) list(ctx context.Context, conn Connection) ([]ec2types.Instance, error) {
	r := s.cache.store.Begin()
	found, err := conn.filter(ctx, append(conn.InVPC(), conn.ClusterTagged(), existingStates()))
	if err != nil {
		return nil, err
	}
	found = conn.owned(found)
	s.cache.MergeList(r, newDescribed(conn.Scope, found))
	return found, nil
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

// Get implements commoninstances.Source. It returns instances regardless of their tags and VPC. One that cannot be read
// is Uncertain.
func (s *Source) Get(ctx context.Context, ids []string) ([]commoninstances.Instance, error) {
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	instanceIDs, fargateIDs := splitIDs(ids)
	found, unread, err := s.get(ctx, conn, instanceIDs)
	if err != nil {
		return nil, err
	}
	out := s.convert(ctx, conn, found)
	fargate, err := s.readFargate(ctx, conn, fargateIDs)
	if err != nil && len(instanceIDs) == 0 {
		return nil, err
	}
	if err != nil {
		for _, id := range fargateIDs {
			unread[id] = err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(unread)) {
		out = append(out, commoninstances.Instance{ID: id, Uncertain: unread[id]})
	}
	return append(out, fargate...), nil
}

// get reads instances by ID and caches them. Unread are the errors of those that cannot be read; whether they exist is
// not known. It uses a filter, since EC2 rejects a call by ID for a single ID that does not exist; while a zone is
// disrupted, it has to read by ID.
func (s *Source) get(
	ctx context.Context, conn Connection, ids []string,
) (found []ec2types.Instance, unread map[string]error, err error) {
	valid, invalid := validateIDs(ids)
	r := s.cache.store.Begin()
	outage := s.outage.active()
	if !outage {
		found, err = inChunks(valid, "instance-id", nil, func(filters []ec2types.Filter) ([]ec2types.Instance, error) {
			return conn.filter(ctx, filters)
		})
		if outage = isOutage(ctx, err); outage {
			s.outage.begin()
		}
	}
	if outage {
		found, unread, err = s.getDuringOutage(ctx, conn, valid)
	}
	if err != nil {
		return nil, nil, err
	}
	found = slices.DeleteFunc(found, func(i ec2types.Instance) bool { return isTerminated(&i) })
	read := slices.DeleteFunc(valid, func(id string) bool { return unread[id] != nil })
	s.cache.put(r, conn.Scope, read, found)
	maps.Copy(invalid, unread)
	return found, invalid, nil
}

// isOutage reports whether a read by filter failed as it does while a zone is disrupted.
func isOutage(ctx context.Context, err error) bool {
	return cloudapi.Is(err, cloudapi.Unavailable) && ctx.Err() == nil
}

// validateIDs returns the IDs that instances can have, and the errors of the others. A filter matches nothing for
// those, and the Node of an invalid ID would count as one with a deleted instance.
func validateIDs(ids []string) (valid []string, invalid map[string]error) {
	invalid = map[string]error{}
	for _, id := range ids {
		if names.IsInstanceID(id) {
			valid = append(valid, id)
			continue
		}
		invalid[id] = &cloudapi.Error{Class: cloudapi.Invalid, Operation: "DescribeInstances",
			Err: fmt.Errorf("%q is not the ID of an EC2 instance (i- and 17 hexadecimal digits)", id)}
	}
	return valid, invalid
}

// splitIDs separates the IDs of instances from those of Fargate nodes.
func splitIDs(ids []string) (instanceIDs, fargateIDs []string) {
	for _, id := range ids {
		if names.IsFargate(id) {
			fargateIDs = append(fargateIDs, id)
		} else {
			instanceIDs = append(instanceIDs, id)
		}
	}
	return instanceIDs, fargateIDs
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
