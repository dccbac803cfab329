// Package instances implements the Source of pkg/common/instances with Nova servers and Neutron ports.
package instances

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
	common "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/config"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

const (
	// singleReadInterval limits reads of single servers. Nova cannot read several servers by ID: a second read within
	// the interval lists all servers, which serves the reads that follow.
	singleReadInterval = 10 * time.Second
)

// Source implements instances.Source.
type Source struct {
	compute     api.ComputeAPI
	ports       *Ports
	providerIDs *common.TableScheme
	region      string
	regional    bool
	addresses   addressRules
	flavors     flavorCache
	clock       clock.PassiveClock

	mu             sync.Mutex
	lastSingleRead time.Time
}

// Options configure NewSource.
type Options struct {
	Compute     api.ComputeAPI
	Network     api.NetworkAPI
	ProviderIDs *common.TableScheme
	// Region is the region of nodes. Regional adds it to their provider IDs.
	Region     string
	Regional   bool
	Networking config.Networking
	Clock      clock.PassiveClock
}

// NewSource returns a Source. It makes no call.
func NewSource(o Options) *Source {
	return &Source{
		compute: o.Compute, ports: NewPorts(o.Network, o.Clock), providerIDs: o.ProviderIDs, region: o.Region,
		regional: o.Regional, addresses: newAddressRules(o.Networking), flavors: newFlavorCache(o.Compute, o.Clock),
		clock: o.Clock,
	}
}

// Ports returns the cache of the servers' ports.
func (s *Source) Ports() *Ports { return s.ports }

var _ common.Source = (*Source)(nil)

// List implements instances.Source.
func (s *Source) List(ctx context.Context) ([]common.Instance, error) {
	servers, err := s.compute.ListServers(ctx, "")
	if err != nil {
		return nil, err
	}
	return s.convert(ctx, servers)
}

// Get implements instances.Source. The result may contain other instances too.
func (s *Source) Get(ctx context.Context, ids []string) ([]common.Instance, error) {
	var (
		servers []api.Server
		err     error
	)
	if len(ids) > 1 || !s.allowSingleRead() {
		if servers, err = s.compute.ListServers(ctx, ""); err != nil {
			return nil, err
		}
	}
	// A server that is not in the list counts as deleted only if a read of it returns NotFound.
	for _, id := range ids {
		if slices.ContainsFunc(servers, func(s api.Server) bool { return s.ID == id }) {
			continue
		}
		server, err := s.compute.GetServer(ctx, id)
		switch {
		case cloudapi.Is(err, cloudapi.NotFound):
		case err != nil:
			return nil, err
		default:
			servers = append(servers, server)
		}
	}
	return s.convert(ctx, servers)
}

// allowSingleRead reports whether a single server may be read now, and records the read.
func (s *Source) allowSingleRead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if !s.lastSingleRead.IsZero() && now.Sub(s.lastSingleRead) < singleReadInterval {
		return false
	}
	s.lastSingleRead = now
	return true
}

// Find implements instances.Source. The name of a node is the name of its server in lower case.
func (s *Source) Find(ctx context.Context, nodes []common.NodeRef) ([]common.Instance, error) {
	servers, err := s.serversNamed(ctx, common.NamesOf(nodes))
	if err != nil {
		return nil, err
	}
	idByName := map[string]string{}
	for _, server := range servers {
		name := nodeName(server)
		if otherID, duplicate := idByName[name]; duplicate {
			return nil, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "ListServersDetailed",
				Err: fmt.Errorf("the servers %s and %s are both called %s; rename one, "+
					"or set the node's provider ID with the kubelet's --provider-id", otherID, server.ID, name)}
		}
		idByName[name] = server.ID
	}
	return s.convert(ctx, servers)
}

// serversNamed returns the servers with the names of nodes. A search for one name only saves a list if it finds the
// server: Nova passes the pattern to its database. Which patterns match depends on the database: on MySQL Nova escapes
// alternatives, PostgreSQL distinguishes upper and lower case, and on others the pattern is taken literally. Only the
// list shows that there is no such server.
func (s *Source) serversNamed(ctx context.Context, nodeNames []string) ([]api.Server, error) {
	patterns := []string{""}
	if len(nodeNames) == 1 {
		patterns = []string{"^" + regexp.QuoteMeta(nodeNames[0]) + "$", ""}
	}
	var servers []api.Server
	for _, pattern := range patterns {
		var err error
		if servers, err = s.compute.ListServers(ctx, pattern); err != nil {
			return nil, err
		}
		servers = slices.DeleteFunc(servers, func(server api.Server) bool {
			return !slices.Contains(nodeNames, nodeName(server))
		})
		if len(servers) > 0 {
			break
		}
	}
	return servers, nil
}

func nodeName(s api.Server) string { return strings.ToLower(s.Name) }

func (s *Source) convert(ctx context.Context, servers []api.Server) ([]common.Instance, error) {
	ports, err := s.ports.ofServers(ctx, servers)
	if err != nil {
		return nil, err
	}
	subPorts := s.ports.subPorts(ctx, ports)
	out := make([]common.Instance, 0, len(servers))
	for _, server := range servers {
		providerID, err := names.FormatProviderID(s.providerIDs, s.regional, s.region, server.ID)
		if err != nil {
			return nil, invalidServer(server, err)
		}
		instanceType, err := s.flavors.typeOf(ctx, server)
		if err != nil {
			return nil, err
		}
		addresses, err := s.addresses.nodeAddresses(server, ports[server.ID], subPorts[server.ID])
		if err != nil {
			return nil, invalidServer(server, err)
		}
		out = append(out, common.Instance{
			ID:         server.ID,
			ProviderID: providerID,
			NodeName:   nodeName(server),
			Type:       instanceType,
			Zone:       labelValue(server.Zone),
			Region:     s.region,
			State:      stateOf(server.Status),
			Addresses:  addresses,
		})
	}
	return out, nil
}

// invalidServer wraps an error about a server in a response of Nova.
func invalidServer(s api.Server, err error) error {
	return &cloudapi.Error{
		Class: cloudapi.Unknown, Operation: "ListServersDetailed", Err: fmt.Errorf("server %q: %w", s.Name, err),
	}
}

// stateOf maps Nova's statuses. All but a few map to Running, which never taints or deletes a node: a paused,
// suspended or shelved server comes back.
func stateOf(status string) common.State {
	switch status {
	case api.ServerShutOff:
		return common.Stopped
	case api.ServerBuild:
		return common.Pending
	case api.ServerDeleted, api.ServerSoftDeleted:
		return common.Terminating
	default:
		return common.Running
	}
}
