package aws

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// instanceSource answers package instances out of EC2, and load balancers and routes out of the
// same reads. Batching and the rule about when an instance counts as gone are in package instances.
type instanceSource struct {
	ec2      api.EC2
	scope    func(context.Context) (scope, error)
	ids      *instances.TableScheme
	families []string
	nodes    *nodes.LazyLister
	clock    clock.Clock

	known    *describedInstances
	zones    *zoneIDs
	topology *topology
	fargate  *fargateNodes
}

var _ instances.Source = (*instanceSource)(nil)

// instanceSourceOptions configure newInstanceSource. All but TopologyTypes and Nodes are required.
type instanceSourceOptions struct {
	EC2 api.EC2
	// Scope says what to look after. It may make calls, and remembers their answers.
	Scope func(context.Context) (scope, error)
	// ProviderIDs writes provider IDs.
	ProviderIDs *instances.TableScheme
	// Families are the IP families of nodes' addresses in order: ipv4, ipv6.
	Families []string
	// TopologyTypes matches the instance types whose nodes are not initialised before their place
	// in the network is known; nil matches none.
	TopologyTypes *regexp.Regexp
	Clock         clock.Clock
	// Nodes are the cluster's Nodes.
	Nodes *nodes.LazyLister
}

// newInstanceSource makes no call.
func newInstanceSource(o instanceSourceOptions) *instanceSource {
	s := &instanceSource{
		ec2: o.EC2, scope: o.Scope, ids: o.ProviderIDs, families: o.Families, clock: o.Clock, nodes: o.Nodes,
		known:    newDescribedInstances(o.Clock),
		zones:    newZoneIDs(o.EC2, o.Clock),
		topology: newTopology(o.EC2, o.Clock, o.TopologyTypes),
		fargate:  newFargateNodes(),
	}
	s.topology.settled = s.initialised
	return s
}

// List implements instances.Source: the cluster's instances, and the Fargate nodes that were asked
// for before. Both reads are filtered by VPC, because EC2 refuses to list a whole account while
// one zone is in trouble.
func (s *instanceSource) List(ctx context.Context) ([]instances.Instance, error) {
	in, err := s.scope(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.listInTurn(ctx, in)
	if err != nil {
		return nil, err
	}
	out, err := s.convert(ctx, in, found)
	if err != nil {
		return nil, err
	}
	pods, err := s.readFargate(ctx, in, s.fargate.known())
	return append(out, pods...), err
}

// listInTurn is list while nobody else reads what it answers: at a start load balancers ask for all
// instances at the same moment as nodes, and either may be the first.
func (s *instanceSource) listInTurn(ctx context.Context, in scope) ([]ec2types.Instance, error) {
	oldest, before := s.clock.Now().Add(-listAge), s.known.countLists()
	done, err := s.known.reading.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if found, ok := s.known.listed(in, oldest, before); ok {
		return found, nil
	}
	return s.list(ctx, in)
}

// list reads the cluster's instances and remembers them. The caller has the turn.
func (s *instanceSource) list(ctx context.Context, in scope) ([]ec2types.Instance, error) {
	at := s.clock.Now()
	found, err := s.describe(ctx, append(in.inVPC(), in.clusterTagged(), alive()))
	if err != nil {
		return nil, err
	}
	found = in.ours(found)
	s.known.putList(in, found, at)
	return found, nil
}

// ours returns the instances that carry the cluster's tag and exist.
func (s scope) ours(list []ec2types.Instance) []ec2types.Instance {
	return slices.DeleteFunc(list, func(i ec2types.Instance) bool {
		return gone(&i) || !s.has(&i)
	})
}

// has says whether the instance carries the cluster's tag.
func (s scope) has(i *ec2types.Instance) bool { return names.HasCluster(tagsOf(i.Tags), s.ClusterID) }

// Get implements instances.Source. Instances are found by ID whatever their tags and VPC.
func (s *instanceSource) Get(ctx context.Context, ids []string) ([]instances.Instance, error) {
	in, err := s.scope(ctx)
	if err != nil {
		return nil, err
	}
	machines, pods := split(ids)
	found, err := s.get(ctx, machines)
	if err != nil {
		return nil, err
	}
	out, err := s.convert(ctx, in, found)
	if err != nil {
		return nil, err
	}
	nodes, err := s.readFargate(ctx, in, pods)
	return append(out, nodes...), err
}

// get reads these instances and remembers the answer. The filter, unlike a list of IDs, takes an
// ID that does not exist for what it is: no match.
func (s *instanceSource) get(ctx context.Context, ids []string) ([]ec2types.Instance, error) {
	if err := checkIDs(ids); err != nil {
		return nil, err
	}
	at := s.clock.Now()
	found, err := inChunks(ids, "instance-id", nil, func(filters []ec2types.Filter) ([]ec2types.Instance, error) {
		return s.describe(ctx, filters)
	})
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(i ec2types.Instance) bool { return gone(&i) })
	s.known.put(ids, found, at)
	return found, nil
}

// machineID are the IDs that EC2 assigns: 8 hexadecimal digits until 2016, 17 since.
var machineID = regexp.MustCompile(`\Ai-([0-9a-f]{8}|[0-9a-f]{17})\z`)

// checkIDs refuses IDs that no instance can have. A filter would answer that they don't exist, and
// the node of a made-up ID would be taken for one whose instance is gone.
func checkIDs(ids []string) error {
	for _, id := range ids {
		if !machineID.MatchString(id) {
			return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "DescribeInstances",
				Err: fmt.Errorf("%q is no ID of an EC2 instance (i- and 17 hexadecimal digits)", id)}
		}
	}
	return nil
}

// split tells instances and Fargate nodes apart.
func split(ids []string) (machines, pods []string) {
	for _, id := range ids {
		if names.IsFargate(id) {
			pods = append(pods, id)
		} else {
			machines = append(machines, id)
		}
	}
	return machines, pods
}

// convert puts instances into the terms of package instances.
func (s *instanceSource) convert(ctx context.Context, in scope, found []ec2types.Instance) ([]instances.Instance, error) {
	zoneIDs := s.zones.of(ctx, found)
	places := s.topology.of(ctx, found)
	out := make([]instances.Instance, 0, len(found))
	for n := range found {
		i := &found[n]
		id, zone := aws.ToString(i.InstanceId), zoneOf(i)
		addresses, err := addressesOf(i, s.families)
		if err != nil {
			return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: "DescribeInstances", Err: fmt.Errorf("instance %s: %w", id, err)}
		}
		providerID, err := s.providerID(zone, id)
		if err != nil {
			return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: "DescribeInstances", Err: fmt.Errorf("instance %s: %w", id, err)}
		}
		out = append(out, instances.Instance{
			ID: id, ProviderID: providerID, NodeName: aws.ToString(i.PrivateDnsName),
			Type: string(i.InstanceType), Zone: zone, Region: in.Region,
			State: stateOf(i), Addresses: addresses,
			Labels:     nodeLabels(zoneIDs[zone], places.layers[id]),
			Incomplete: places.errs[id],
		})
	}
	return out, nil
}

func (s *instanceSource) providerID(zone, id string) (string, error) {
	if zone == "" {
		return s.ids.FormatAs("without a zone", instances.Fields{names.FieldID: id})
	}
	return s.ids.Format(instances.Fields{names.FieldZone: zone, names.FieldID: id})
}

func zoneOf(i *ec2types.Instance) string {
	if i.Placement == nil {
		return ""
	}
	return aws.ToString(i.Placement.AvailabilityZone)
}

// nodeLabels are the labels of a node beside those that the framework sets.
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

// stateOf maps EC2's states. An instance that is stopping still runs, and one whose state is
// missing or new to us exists and runs: the answer that never taints or deletes a node.
func stateOf(i *ec2types.Instance) instances.State {
	if i.State == nil {
		return instances.Running
	}
	switch i.State.Name {
	case ec2types.InstanceStateNamePending:
		return instances.Pending
	case ec2types.InstanceStateNameStopped:
		return instances.Stopped
	case ec2types.InstanceStateNameShuttingDown:
		return instances.Terminating
	default:
		return instances.Running
	}
}
