package openstack

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

const (
	// routerAge is how long the router is remembered. Our own changes are seen at once, and those of
	// others after this time: 288 reads a day instead of one every ten seconds.
	routerAge = 5 * time.Minute
	// strangerAge is how long a route stays somebody else's before its evidence is looked at again.
	strangerAge = time.Hour
	// gather is how long a creation waits for those that come with it. The framework asks for the
	// routes of all nodes at once, and the first would otherwise go alone. It is the time between
	// goroutines, and not one that a cloud or a test counts in.
	gather = 20 * time.Millisecond
)

// newRoutes puts package routes over a Neutron router.
func newRoutes(source routes.Source, targets routes.NodeTargets) *routes.Routes {
	return routes.New(routes.Options{Provider: ProviderName}, source, targets)
}

// routeSource answers package routes out of one Neutron router. Routes there have no names, tags
// or owners. A route is the cluster's if one of these says so:
//
//   - a tag of the router, which is written before the route;
//   - the Node at its next hop has the destination as its pod range;
//   - the port at its next hop may send from the destination, which is how other managers leave it;
//   - it was the cluster's before, in the life of this process.
//
// All others are somebody else's, wherever they lead, and are never touched.
type routeSource struct {
	api    api.NetworkAPI
	router string
	ports  *nodePorts
	nodes  *nodes.LazyLister
	ids    *instances.TableScheme
	clock  clock.PassiveClock
	// clusterUID is empty until the manager runs, and where it cannot be read.
	clusterUID func() string

	// turn is held by the one that reads or changes the router. It guards what follows.
	turn locks.Mutex

	known      *api.Router
	readAt     time.Time
	mine       map[api.ExtraRoute]bool
	strangers  map[api.ExtraRoute]time.Time
	extensions []string
	tagsOff    time.Time
}

type routeSourceOptions struct {
	Network     api.NetworkAPI
	RouterID    string
	Ports       *nodePorts
	Nodes       *nodes.LazyLister
	ProviderIDs *instances.TableScheme
	Clock       clock.PassiveClock
	ClusterUID  func() string
}

func newRouteSource(o routeSourceOptions) *routeSource {
	return &routeSource{
		api: o.Network, router: o.RouterID, ports: o.Ports, nodes: o.Nodes, ids: o.ProviderIDs, clock: o.Clock, clusterUID: o.ClusterUID,
		mine: map[api.ExtraRoute]bool{}, strangers: map[api.ExtraRoute]time.Time{},
	}
}

var _ routes.Source = (*routeSource)(nil)

// cluster is what the router's tags name the cluster by.
func (s *routeSource) cluster(clusterName string) string {
	if uid := s.clusterUID(); uid != "" {
		return uid
	}
	return clusterName
}

// routeName names a route, which is unique on a router and says all of it.
func routeName(r api.ExtraRoute) string { return r.DestinationCIDR + " via " + r.NextHop }

// List implements routes.Source.
func (s *routeSource) List(ctx context.Context, clusterName string) ([]routes.Route, error) {
	done, err := s.turn.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	all, err := s.nodes.All()
	if err != nil {
		return nil, err
	}
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	at := byAddress(all)
	owned, err := s.owned(ctx, s.cluster(clusterName), at)
	if err != nil {
		return nil, err
	}
	out := make([]routes.Route, 0, len(s.known.Routes))
	for _, r := range s.known.Routes {
		route := routes.Route{Name: routeName(r), Destination: canonicalCIDR(r.DestinationCIDR), Owned: owned[r], Blackhole: at[r.NextHop] == nil}
		if node := at[r.NextHop]; node != nil {
			route.NodeName = node.Name
			// A node whose ID cannot be read has a route all the same.
			route.InstanceID, _ = s.ids.Parse(node.Spec.ProviderID)
		}
		out = append(out, route)
	}
	return out, nil
}

// read makes sure that the router is known well enough.
func (s *routeSource) read(ctx context.Context) error {
	if s.known != nil && s.clock.Now().Sub(s.readAt) < routerAge {
		return nil
	}
	at := s.clock.Now()
	r, err := s.api.GetRouter(ctx, s.router)
	if cloudapi.Is(err, cloudapi.NotFound) {
		return &cloudapi.Error{Class: cloudapi.Invalid, Operation: "ShowRouter", Err: fmt.Errorf("router-id in section [Route]: %w", err)}
	}
	if err != nil {
		return err
	}
	s.known, s.readAt = &r, at
	maps.DeleteFunc(s.mine, func(mine api.ExtraRoute, _ bool) bool { return !slices.Contains(r.Routes, mine) })
	maps.DeleteFunc(s.strangers, func(stranger api.ExtraRoute, _ time.Time) bool { return !slices.Contains(r.Routes, stranger) })
	return nil
}

// owned returns the routes that are the cluster's.
func (s *routeSource) owned(ctx context.Context, cluster string, at map[string]*v1.Node) (map[api.ExtraRoute]bool, error) {
	out := map[api.ExtraRoute]bool{}
	var doubtful []api.ExtraRoute
	now := s.clock.Now()
	for _, r := range s.known.Routes {
		destination, err := netip.ParsePrefix(r.DestinationCIDR)
		if err != nil {
			continue
		}
		node := at[r.NextHop]
		switch {
		case s.mine[r], slices.Contains(s.known.Tags, names.RouteTag(cluster, r.DestinationCIDR, r.NextHop)),
			node != nil && hasRange(node, destination.Masked()):
			out[r] = true
		case now.Sub(s.strangers[r]) >= strangerAge:
			doubtful = append(doubtful, r)
		}
	}
	if err := s.judge(ctx, doubtful, out); err != nil {
		return nil, err
	}
	for r := range out {
		s.mine[r] = true
		delete(s.strangers, r)
	}
	return out, nil
}

// judge adds those of the routes that the ports at their next hops show to be the cluster's.
func (s *routeSource) judge(ctx context.Context, doubtful []api.ExtraRoute, out map[api.ExtraRoute]bool) error {
	if len(doubtful) == 0 {
		return nil
	}
	var hops []string
	for _, r := range doubtful {
		hops = append(hops, r.NextHop)
	}
	slices.Sort(hops)
	ports, err := s.ports.at(ctx, slices.Compact(hops), sendsFrom(doubtful))
	if err != nil {
		return err
	}
	for _, r := range doubtful {
		if port, ok := ports[r.NextHop]; ok && hasPair(port, r.DestinationCIDR) {
			out[r] = true
			continue
		}
		s.strangers[r] = s.clock.Now()
	}
	return nil
}

// Create implements routes.Source. The ports come first and the routes last, because a route that
// exists is what says that all is done.
func (s *routeSource) Create(ctx context.Context, clusterName string, list []routes.Route) []error {
	errs := make([]error, len(list))
	if err := clocks.Sleep(ctx, clock.RealClock{}, gather); err != nil {
		return slices.Repeat([]error{err}, len(errs))
	}
	done, err := s.turn.Lock(ctx)
	if err != nil {
		return slices.Repeat([]error{err}, len(errs))
	}
	defer done()
	all, err := s.nodes.All()
	if err == nil {
		err = s.read(ctx)
	}
	if err != nil {
		return slices.Repeat([]error{err}, len(errs))
	}
	at := byAddress(all)
	owned, err := s.owned(ctx, s.cluster(clusterName), at)
	if err != nil {
		return slices.Repeat([]error{err}, len(errs))
	}
	wanted := make([]api.ExtraRoute, len(list))
	var stale []api.ExtraRoute
	for i, r := range list {
		var replaced []api.ExtraRoute
		wanted[i], errs[i] = s.wanted(r, all)
		if errs[i] == nil {
			replaced, errs[i] = s.inTheWay(wanted[i], owned, at)
		}
		stale = append(stale, replaced...)
	}
	s.pairAll(ctx, wanted, errs, ofServers(list, wanted), addPair)
	s.mark(ctx, s.cluster(clusterName), withoutErrors(wanted, errs))
	if err := s.change(ctx, stale, remove); err != nil {
		return slices.Repeat([]error{err}, len(errs))
	}
	s.changeEach(ctx, wanted, errs, add)
	return errs
}

// wanted returns the route to a node's address.
func (s *routeSource) wanted(r routes.Route, all []*v1.Node) (api.ExtraRoute, error) {
	destination, err := netip.ParsePrefix(r.Destination)
	if err != nil {
		return api.ExtraRoute{}, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "AddExtraRoutes", Err: err}
	}
	for _, node := range all {
		if node.Name != r.NodeName {
			continue
		}
		if hop := nextHop(node, destination); hop != "" {
			return api.ExtraRoute{DestinationCIDR: r.Destination, NextHop: hop}, nil
		}
		family := "IPv6"
		if destination.Addr().Is4() {
			family = "IPv4"
		}
		return api.ExtraRoute{}, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "AddExtraRoutes",
			Err: fmt.Errorf("node %s has no internal %s address to route %s to; see internal-network-name and ipv6-support-disabled in section [Networking]", node.Name, family, r.Destination)}
	}
	return api.ExtraRoute{}, &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "AddExtraRoutes", Err: fmt.Errorf("node %s is not known yet", r.NodeName)}
}

// inTheWay returns what a new route replaces: routes of ours to the same destination whose node is
// gone, which would share its traffic. One that leads to another node is left to the framework, and
// somebody else's is an error.
func (s *routeSource) inTheWay(want api.ExtraRoute, owned map[api.ExtraRoute]bool, at map[string]*v1.Node) ([]api.ExtraRoute, error) {
	var stale []api.ExtraRoute
	for _, r := range s.known.Routes {
		if canonicalCIDR(r.DestinationCIDR) != canonicalCIDR(want.DestinationCIDR) || r.NextHop == want.NextHop {
			continue
		}
		if owned[r] && at[r.NextHop] == nil {
			stale = append(stale, r)
			continue
		}
		whose := "somebody else's; remove it, or give the cluster another range"
		if node := at[r.NextHop]; owned[r] && node != nil {
			whose = "that of node " + node.Name
		}
		return nil, &cloudapi.Error{Class: cloudapi.AlreadyExists, Operation: "AddExtraRoutes",
			Err: fmt.Errorf("router %s has the route %s, and it is %s", s.router, routeName(r), whose)}
	}
	return stale, nil
}

// Delete implements routes.Source. Ports lose the destination before the route goes: afterwards
// nobody would come back for it.
func (s *routeSource) Delete(ctx context.Context, _ string, list []routes.Route) []error {
	errs := make([]error, len(list))
	done, err := s.turn.Lock(ctx)
	if err != nil {
		return slices.Repeat([]error{err}, len(errs))
	}
	defer done()
	if err := s.read(ctx); err != nil {
		return slices.Repeat([]error{err}, len(errs))
	}
	unwanted := make([]api.ExtraRoute, len(list))
	for i, r := range list {
		unwanted[i] = s.listed(r)
	}
	s.pairAll(ctx, unwanted, errs, sendsFrom(unwanted), dropPair)
	s.changeEach(ctx, unwanted, errs, remove)
	for i, r := range unwanted {
		if errs[i] == nil {
			delete(s.mine, r)
		}
	}
	return errs
}

// listed returns the router's route of the name that List gave it, or none if it is gone.
func (s *routeSource) listed(r routes.Route) api.ExtraRoute {
	for _, have := range s.known.Routes {
		if routeName(have) == r.Name {
			return have
		}
	}
	return api.ExtraRoute{}
}

// withoutErrors returns the routes that have no error yet.
func withoutErrors(list []api.ExtraRoute, errs []error) []api.ExtraRoute {
	var out []api.ExtraRoute
	for i, r := range list {
		if errs[i] == nil {
			out = append(out, r)
		}
	}
	return out
}

func canonicalCIDR(text string) string {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return text
	}
	return p.Masked().String()
}

// sendsFrom suits ports of servers that may send from a destination that is routed to them.
func sendsFrom(list []api.ExtraRoute) func(string, api.Port) bool {
	return func(address string, port api.Port) bool {
		return strings.HasPrefix(port.DeviceOwner, "compute:") && slices.ContainsFunc(list, func(r api.ExtraRoute) bool {
			return r.NextHop == address && hasPair(port, r.DestinationCIDR)
		})
	}
}

// ofServers suits the ports of the servers that routes lead to.
func ofServers(list []routes.Route, wanted []api.ExtraRoute) func(string, api.Port) bool {
	return func(address string, port api.Port) bool {
		for i, r := range wanted {
			if r.NextHop == address && list[i].InstanceID == port.DeviceID {
				return true
			}
		}
		return false
	}
}
