// Package routes implements the Source of pkg/common/routes with the extra routes of a Neutron router.
package routes

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	common "github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// routeName returns a name that is unique on the router and identifies the route.
func routeName(r api.ExtraRoute) string { return r.DestinationCIDR + " via " + r.NextHop }

// List implements routes.Source.
func (s *Source) List(ctx context.Context, clusterName string) ([]common.Route, error) {
	unlock, err := s.mu.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	all, err := s.nodes.All()
	if err != nil {
		return nil, err
	}
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	index := common.IndexNodes(all)
	owned, err := s.ownedRoutes(ctx, s.cluster(clusterName), index)
	if err != nil {
		return nil, err
	}
	nodeOf, err := s.nodesOf(ctx, index, owned)
	if err != nil {
		return nil, err
	}
	out := make([]common.Route, 0, len(s.router.Routes))
	for _, r := range s.router.Routes {
		route := common.Route{
			Name: routeName(r), Destination: canonicalCIDR(r.DestinationCIDR),
			Owned: owned[r], Blackhole: nodeOf[r] == nil,
			Marked: s.clusterUID() != "" &&
				slices.Contains(s.router.Tags, names.RouteTag(s.clusterUID(), r.DestinationCIDR, r.NextHop)),
		}
		if node := nodeOf[r]; node != nil {
			route.NodeName = node.Name
			// A node with an invalid provider ID keeps its route.
			route.InstanceID, _ = s.providerIDs.Parse(node.Spec.ProviderID)
		}
		out = append(out, route)
	}
	return out, nil
}

// ownedRoutes returns the routes of the cluster.
func (s *Source) ownedRoutes(
	ctx context.Context, cluster string, index *common.NodeIndex,
) (map[api.ExtraRoute]bool, error) {
	out := map[api.ExtraRoute]bool{}
	var candidates []api.ExtraRoute
	now := s.clock.Now()
	for _, r := range s.router.Routes {
		if _, err := netip.ParsePrefix(r.DestinationCIDR); err != nil {
			continue
		}
		switch {
		case s.owned[r], slices.Contains(s.router.Tags, names.RouteTag(cluster, r.DestinationCIDR, r.NextHop)):
			out[r] = true
		case s.isDue(index, r, now):
			candidates = append(candidates, r)
		}
	}
	if err := s.addByPorts(ctx, index, candidates, out); err != nil {
		return nil, err
	}
	for r := range out {
		s.owned[r] = true
		delete(s.foreign, r)
	}
	return out, nil
}

// addByPorts adds the candidates that the port at their next hop has as an allowed address pair, and those that lead to
// the server of a Node with their destination. The others are foreign.
func (s *Source) addByPorts(
	ctx context.Context, index *common.NodeIndex, candidates []api.ExtraRoute, out map[api.ExtraRoute]bool,
) error {
	if len(candidates) == 0 {
		return nil
	}
	var nextHops []string
	for _, r := range candidates {
		nextHops = append(nextHops, r.NextHop)
	}
	slices.Sort(nextHops)
	visible, match := map[string]bool{}, matchPairs(candidates)
	ports, err := s.ports.ByAddress(ctx, slices.Compact(nextHops), func(address string, port api.Port) bool {
		visible[address] = true
		return match(address, port)
	})
	if err != nil {
		return err
	}
	candidates = slices.DeleteFunc(candidates, func(r api.ExtraRoute) bool {
		port, ok := ports[r.NextHop]
		if ok && hasPair(port, r.DestinationCIDR) {
			out[r] = true
		}
		return out[r]
	})
	confirmed, err := s.leadTo(ctx, s.claims(index, candidates))
	if err != nil {
		return err
	}
	for t, leads := range confirmed {
		if leads {
			out[t.route] = true
		}
	}
	for _, r := range candidates {
		if out[r] {
			continue
		}
		if s.foreign[r].IsZero() && !visible[r.NextHop] {
			klog.FromContext(ctx).Info("Skipping a route that leads to no visible port and is not known to belong to this "+
				"cluster; remove it if nothing needs it", "router", s.routerID, "route", routeName(r))
		}
		s.foreign[r] = s.clock.Now()
	}
	return nil
}

// Create implements routes.Source. It changes the ports first and the routes last, because an existing route
// implies that its port has the address pair.
func (s *Source) Create(ctx context.Context, clusterName string, list []common.Route) []error {
	errs := make([]error, len(list))
	startedAt := s.clock.Now()
	unlock, err := s.mu.Lock(ctx)
	if err != nil {
		return slices.Repeat([]error{err}, len(errs))
	}
	defer unlock()
	all, err := s.nodes.All()
	if err == nil {
		// Neutron accepts a second route to a destination, and splits its traffic.
		err = s.readSince(ctx, startedAt)
	}
	if err != nil {
		return slices.Repeat([]error{err}, len(errs))
	}
	index := common.IndexNodes(all)
	owned, err := s.ownedRoutes(ctx, s.cluster(clusterName), index)
	if err != nil {
		return slices.Repeat([]error{err}, len(errs))
	}
	nodeOf, err := s.nodesOf(ctx, index, owned)
	if err != nil {
		return slices.Repeat([]error{err}, len(errs))
	}
	desired := make([]api.ExtraRoute, len(list))
	var stale []api.ExtraRoute
	for i, r := range list {
		var replaced []api.ExtraRoute
		desired[i], errs[i] = s.desiredRoute(r, index.Named(r.NodeName))
		if errs[i] == nil {
			replaced, errs[i] = s.replacedBy(desired[i], owned, nodeOf)
		}
		stale = append(stale, replaced...)
	}
	s.checkNextHops(ctx, list, desired, errs)
	s.updateAllPairs(ctx, desired, errs, s.findServerPorts(list, desired, errs), addPair)
	s.tagRouter(ctx, s.cluster(clusterName), filterSucceeded(desired, errs))
	if err := s.change(ctx, stale, remove); err != nil {
		return slices.Repeat([]error{err}, len(errs))
	}
	s.changeEach(ctx, desired, errs, add)
	for _, r := range filterSucceeded(desired, errs) {
		s.owned[r] = true
	}
	return errs
}

// desiredRoute returns the route to the address of a node.
func (s *Source) desiredRoute(r common.Route, node *v1.Node) (api.ExtraRoute, error) {
	destination, err := netip.ParsePrefix(r.Destination)
	if err != nil {
		return api.ExtraRoute{}, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "AddExtraRoutes", Err: err}
	}
	if node == nil {
		return api.ExtraRoute{}, &cloudapi.Error{
			Class: cloudapi.Unavailable, Operation: "AddExtraRoutes",
			Err: fmt.Errorf("node %s is not in the informer's cache yet", r.NodeName),
		}
	}
	if address := nextHop(node, destination); address != "" {
		return api.ExtraRoute{DestinationCIDR: r.Destination, NextHop: address}, nil
	}
	family := "IPv6"
	if destination.Addr().Is4() {
		family = "IPv4"
	}
	return api.ExtraRoute{}, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "AddExtraRoutes",
		Err: fmt.Errorf("node %s has no internal %s address to route %s to; see internal-network-name and "+
			"ipv6-support-disabled in section [Networking]", node.Name, family, r.Destination)}
}

// replacedBy returns the routes that a new route replaces: owned routes to the same destination by a deleted node,
// which would get a part of its traffic. A route by another node is an error, since the framework deletes it, and so is
// a foreign route.
func (s *Source) replacedBy(
	want api.ExtraRoute, owned map[api.ExtraRoute]bool, nodeOf map[api.ExtraRoute]*v1.Node,
) ([]api.ExtraRoute, error) {
	var stale []api.ExtraRoute
	for _, r := range s.router.Routes {
		if canonicalCIDR(r.DestinationCIDR) != canonicalCIDR(want.DestinationCIDR) || r.NextHop == want.NextHop {
			continue
		}
		if owned[r] && nodeOf[r] == nil {
			stale = append(stale, r)
			continue
		}
		owner := "does not belong to this cluster; remove it, or use other pod CIDRs"
		if owned[r] {
			owner = "belongs to node " + nodeOf[r].Name
		}
		return nil, &cloudapi.Error{Class: cloudapi.AlreadyExists, Operation: "AddExtraRoutes",
			Err: fmt.Errorf("router %s has the route %s, which %s", s.routerID, routeName(r), owner)}
	}
	return stale, nil
}

// Delete implements routes.Source. It changes the ports before it deletes the route, because an
// existing route triggers the retry.
func (s *Source) Delete(ctx context.Context, _ string, list []common.Route) []error {
	errs := make([]error, len(list))
	unlock, err := s.mu.Lock(ctx)
	if err != nil {
		return slices.Repeat([]error{err}, len(errs))
	}
	defer unlock()
	if err := s.read(ctx); err != nil {
		return slices.Repeat([]error{err}, len(errs))
	}
	deleted := make([]api.ExtraRoute, len(list))
	for i, r := range list {
		deleted[i] = s.findRoute(r)
	}
	s.updateAllPairs(ctx, deleted, errs, func(ctx context.Context, nextHops []string) (map[string]api.Port, error) {
		return s.ports.ByAddress(ctx, nextHops, matchPairs(deleted))
	}, removePair)
	s.changeEach(ctx, deleted, errs, remove)
	for i, r := range deleted {
		if errs[i] == nil {
			delete(s.owned, r)
		}
	}
	return errs
}

// findRoute returns the route with the name that List returned, or the zero value if it is deleted.
func (s *Source) findRoute(r common.Route) api.ExtraRoute {
	for _, have := range s.router.Routes {
		if routeName(have) == r.Name {
			return have
		}
	}
	return api.ExtraRoute{}
}

// filterSucceeded returns the routes that have no error.
func filterSucceeded(list []api.ExtraRoute, errs []error) []api.ExtraRoute {
	var out []api.ExtraRoute
	for i, r := range list {
		if errs[i] == nil {
			out = append(out, r)
		}
	}
	return out
}

// matchPairs matches ports of servers with one of the routed destinations as an allowed address pair.
func matchPairs(list []api.ExtraRoute) func(string, api.Port) bool {
	return func(address string, port api.Port) bool {
		isServerPort := strings.HasPrefix(port.DeviceOwner, "compute:") || port.DeviceOwner == "trunk:subport"
		return isServerPort && slices.ContainsFunc(list, func(r api.ExtraRoute) bool {
			return r.NextHop == address && hasPair(port, r.DestinationCIDR)
		})
	}
}

// findServerPorts finds the ports of the servers that the routes lead to: those of the project, or else those that
// belong to the server or to its trunks. A route without a port gets an error, because Neutron would drop the traffic
// of its pods.
func (s *Source) findServerPorts(list []common.Route, desired []api.ExtraRoute, errs []error) portFinder {
	return func(ctx context.Context, nextHops []string) (map[string]api.Port, error) {
		ports, err := s.ports.ByAddress(ctx, nextHops, matchServers(list, desired))
		if err != nil {
			return nil, err
		}
		var servers []string
		for i, r := range desired {
			if errs[i] == nil && ports[r.NextHop].DeviceID != list[i].InstanceID {
				servers = append(servers, list[i].InstanceID)
			}
		}
		if len(servers) == 0 {
			return ports, nil
		}
		ofServers, err := s.ports.OfServers(ctx, servers)
		if err != nil {
			return nil, err
		}
		for i, r := range desired {
			if errs[i] != nil || ports[r.NextHop].DeviceID == list[i].InstanceID {
				continue
			}
			port, ok := portWith(ofServers[list[i].InstanceID], r.NextHop)
			if !ok {
				errs[i] = &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "ListPorts", Err: fmt.Errorf(
					"node %s: its server %s has no visible port with the address %s, which needs %s as an allowed address pair",
					list[i].NodeName, list[i].InstanceID, r.NextHop, r.DestinationCIDR)}
				continue
			}
			ports[r.NextHop] = port
		}
		return ports, nil
	}
}

// matchServers matches the ports of the servers that the routes lead to.
func matchServers(list []common.Route, desired []api.ExtraRoute) func(string, api.Port) bool {
	return func(address string, port api.Port) bool {
		for i, r := range desired {
			if r.NextHop == address && list[i].InstanceID == port.DeviceID {
				return true
			}
		}
		return false
	}
}
