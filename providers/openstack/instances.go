package openstack

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

const (
	// namesPerCall keeps the regular expression of a search below what Nova's database takes.
	namesPerCall = 20
	// singlePause is how often a single server is read by itself. Nova cannot read several by ID: the
	// next that is asked for within this time is a list, whose other servers answer the questions
	// that follow.
	singlePause = 10 * time.Second
)

// instanceSource answers package instances out of Nova and Neutron. Batching, snapshots and the
// rule about when an instance counts as gone are all there.
type instanceSource struct {
	compute   api.ComputeAPI
	ports     *nodePorts
	ids       *instances.TableScheme
	region    string
	regional  bool
	addresses addressRules
	flavors   *flavors
	clock     clock.PassiveClock

	mu         sync.Mutex
	lastSingle time.Time
}

type instanceSourceOptions struct {
	Compute     api.ComputeAPI
	Network     api.NetworkAPI
	ProviderIDs *instances.TableScheme
	// Region labels nodes; Regional puts it into their provider IDs too.
	Region     string
	Regional   bool
	Networking Networking
	Clock      clock.PassiveClock
}

func newInstanceSource(o instanceSourceOptions) *instanceSource {
	return &instanceSource{
		compute: o.Compute, ports: newNodePorts(o.Network, o.Clock), ids: o.ProviderIDs, region: o.Region, regional: o.Regional,
		addresses: newAddressRules(o.Networking), flavors: &flavors{api: o.Compute, clock: o.Clock}, clock: o.Clock,
	}
}

var _ instances.Source = (*instanceSource)(nil)

// List implements instances.Source.
func (s *instanceSource) List(ctx context.Context) ([]instances.Instance, error) {
	servers, err := s.compute.ListServers(ctx, "")
	if err != nil {
		return nil, err
	}
	return s.convert(ctx, servers)
}

// Get implements instances.Source. Beside what was asked for, the answer may have all others.
func (s *instanceSource) Get(ctx context.Context, ids []string) ([]instances.Instance, error) {
	var (
		servers []api.Server
		err     error
	)
	if len(ids) > 1 || !s.mayReadSingly() {
		if servers, err = s.compute.ListServers(ctx, ""); err != nil {
			return nil, err
		}
	}
	// Of what the list does not have, only Nova's answer about that one server says that it is gone.
	for _, id := range ids {
		if slices.ContainsFunc(servers, func(one api.Server) bool { return one.ID == id }) {
			continue
		}
		one, err := s.compute.GetServer(ctx, id)
		switch {
		case cloudapi.Is(err, cloudapi.NotFound):
		case err != nil:
			return nil, err
		default:
			servers = append(servers, one)
		}
	}
	return s.convert(ctx, servers)
}

// mayReadSingly says whether a server may be read by itself, and takes note that it is.
func (s *instanceSource) mayReadSingly() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if !s.lastSingle.IsZero() && now.Sub(s.lastSingle) < singlePause {
		return false
	}
	s.lastSingle = now
	return true
}

// Find implements instances.Source. The name of a server is the name of its node, but for capital
// letters, which names of nodes do not have.
func (s *instanceSource) Find(ctx context.Context, nodeNames []string) ([]instances.Instance, error) {
	servers, err := s.compute.ListServers(ctx, namePattern(nodeNames))
	if err != nil {
		return nil, err
	}
	servers = slices.DeleteFunc(servers, func(one api.Server) bool { return !slices.Contains(nodeNames, nodeName(one)) })
	first := map[string]string{}
	for _, one := range servers {
		name := nodeName(one)
		if other, twice := first[name]; twice {
			return nil, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "ListServersDetailed",
				Err: fmt.Errorf("the servers %s and %s are both called %s; rename one, or set the node's provider ID with the kubelet's --provider-id", other, one.ID, name)}
		}
		first[name] = one.ID
	}
	return s.convert(ctx, servers)
}

// namePattern is a regular expression for Nova that fits these names only; "" for too many.
func namePattern(nodeNames []string) string {
	if len(nodeNames) > namesPerCall {
		return ""
	}
	quoted := make([]string, len(nodeNames))
	for i, name := range nodeNames {
		quoted[i] = regexp.QuoteMeta(name)
	}
	if len(quoted) == 1 {
		return "^" + quoted[0] + "$"
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}

func nodeName(s api.Server) string { return strings.ToLower(s.Name) }

func (s *instanceSource) convert(ctx context.Context, servers []api.Server) ([]instances.Instance, error) {
	ports, err := s.ports.of(ctx, servers)
	if err != nil {
		return nil, err
	}
	below := s.ports.below(ctx, ports)
	out := make([]instances.Instance, 0, len(servers))
	for _, one := range servers {
		providerID, err := names.FormatProviderID(s.ids, s.regional, s.region, one.ID)
		if err != nil {
			return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: "ListServersDetailed", Err: fmt.Errorf("server %q: %w", one.Name, err)}
		}
		kind, err := s.flavors.typeOf(ctx, one)
		if err != nil {
			return nil, err
		}
		addresses, err := s.addresses.nodeAddresses(one, ports[one.ID], below[one.ID])
		if err != nil {
			return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: "ListServersDetailed", Err: fmt.Errorf("server %q: %w", one.Name, err)}
		}
		out = append(out, instances.Instance{
			ID:         one.ID,
			ProviderID: providerID,
			NodeName:   nodeName(one),
			Type:       kind,
			Zone:       labelValue(one.Zone),
			Region:     s.region,
			State:      stateOf(one.Status),
			Addresses:  addresses,
		})
	}
	return out, nil
}

// stateOf maps Nova's statuses. All but a few are those of an instance that exists and runs, which
// never taints or deletes a node: a machine that is paused, suspended or shelved comes back.
func stateOf(status string) instances.State {
	switch status {
	case api.ServerShutOff:
		return instances.Stopped
	case api.ServerBuild:
		return instances.Pending
	case api.ServerDeleted, api.ServerSoftDeleted:
		return instances.Terminating
	default:
		return instances.Running
	}
}
