package instances

import (
	"context"
	"maps"
	"regexp"
	"slices"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
)

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
