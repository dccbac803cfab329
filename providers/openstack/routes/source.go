package routes

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	commoninstances "github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	common "github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/instances"
)

const (
	// routerMaxAge is the max age for a read of the router to count as fresh. Our own changes are visible at
	// once, those of other clients after this time: 288 reads a day instead of one every ten seconds.
	routerMaxAge = 5 * time.Minute
	// foreignMaxAge is the time after which the ownership of a foreign route is checked again.
	foreignMaxAge = time.Hour
	// absentMaxAge is the max age of the result that a server does not have the next hop of a route. It may get it.
	absentMaxAge = time.Minute
	// BatchWindow delays a change to batch it with others. The framework creates the routes of all nodes at once, and the
	// first would otherwise be a batch of its own.
	BatchWindow = 20 * time.Millisecond
)

// Source implements routes.Source over one Neutron router. Extra routes have no names, tags or owners.
// A route belongs to the cluster if one of these holds:
//
//   - the router has a tag for it, which is written before the route;
//   - the port at its next hop has the destination as an allowed address pair, as other managers leave it;
//   - a Node has the destination as a pod CIDR and the next hop as an address, and so has its server;
//   - it belonged to the cluster before, during the life of this process.
//
// All other routes are foreign, wherever they lead, and are never changed.
type Source struct {
	api         api.NetworkAPI
	routerID    string
	ports       *instances.Ports
	nodes       *nodes.LazyLister
	providerIDs *commoninstances.TableScheme
	clock       clock.Clock
	// clusterUID returns "" until the manager runs, and where the UID cannot be read.
	clusterUID func() string

	// mu is held while the router is read or changed. It guards the fields below.
	mu locks.Mutex

	router  *api.Router
	readAt  time.Time
	owned   map[api.ExtraRoute]bool
	foreign map[api.ExtraRoute]time.Time
	// checked are the results of leadTo.
	checked    map[target]checkedTarget
	extensions []string
	// tagsFailedAt is when Neutron last rejected the router's tags.
	tagsFailedAt time.Time
}

// target is a route and a server that it may lead to.
type target struct {
	route  api.ExtraRoute
	server string
}

// checkedTarget is whether a route leads to a server, as far as Neutron shows, and when it was read.
type checkedTarget struct {
	leads bool
	at    time.Time
}

// Options configure NewSource.
type Options struct {
	Network     api.NetworkAPI
	RouterID    string
	Ports       *instances.Ports
	Nodes       *nodes.LazyLister
	ProviderIDs *commoninstances.TableScheme
	Clock       clock.Clock
	ClusterUID  func() string
}

// NewSource returns a Source. It makes no call.
func NewSource(o Options) *Source {
	return &Source{
		api: o.Network, routerID: o.RouterID, ports: o.Ports, nodes: o.Nodes, providerIDs: o.ProviderIDs,
		clock: o.Clock, clusterUID: o.ClusterUID,
		owned: map[api.ExtraRoute]bool{}, foreign: map[api.ExtraRoute]time.Time{}, checked: map[target]checkedTarget{},
	}
}

var _ common.Source = (*Source)(nil)

// cluster returns the name of the cluster in the router's tags.
func (s *Source) cluster(clusterName string) string {
	if uid := s.clusterUID(); uid != "" {
		return uid
	}
	return clusterName
}

// read reads the router unless the last read is fresh.
func (s *Source) read(ctx context.Context) error {
	return s.readSince(ctx, s.clock.Now().Add(-routerMaxAge))
}

// readSince reads the router unless the last read is not older than since.
func (s *Source) readSince(ctx context.Context, since time.Time) error {
	if s.router != nil && !s.readAt.Before(since) {
		return nil
	}
	readAt := s.clock.Now()
	r, err := s.api.GetRouter(ctx, s.routerID)
	if cloudapi.Is(err, cloudapi.NotFound) {
		return &cloudapi.Error{
			Class: cloudapi.Invalid, Operation: "ShowRouter", Err: fmt.Errorf("router-id in section [Route]: %w", err),
		}
	}
	if err != nil {
		return err
	}
	s.router, s.readAt = &r, readAt
	maps.DeleteFunc(s.owned, func(route api.ExtraRoute, _ bool) bool { return !slices.Contains(r.Routes, route) })
	maps.DeleteFunc(s.foreign, func(route api.ExtraRoute, _ time.Time) bool { return !slices.Contains(r.Routes, route) })
	maps.DeleteFunc(s.checked, func(t target, _ checkedTarget) bool { return !slices.Contains(r.Routes, t.route) })
	return nil
}

func canonicalCIDR(text string) string {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return text
	}
	return p.Masked().String()
}
