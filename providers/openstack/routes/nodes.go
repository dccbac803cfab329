package routes

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	common "github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// nextHop returns the first internal address of a Node in the family of the destination, or "".
func nextHop(node *v1.Node, destination netip.Prefix) string {
	for _, a := range node.Status.Addresses {
		ip, err := netip.ParseAddr(a.Address)
		if err == nil && a.Type == v1.NodeInternalIP && ip.Is4() == destination.Addr().Is4() {
			return a.Address
		}
	}
	return ""
}

// nodesOf returns the Nodes of all routes of the router. A route that leads to no Node is absent from the result. Of an
// owned route whose Node does not have the next hop in its status, the server decides.
func (s *Source) nodesOf(
	ctx context.Context, index *common.NodeIndex, owned map[api.ExtraRoute]bool,
) (map[api.ExtraRoute]*v1.Node, error) {
	out := map[api.ExtraRoute]*v1.Node{}
	holders := map[target]*v1.Node{}
	var targets []target
	for _, r := range s.router.Routes {
		node, certain := index.At(canonicalCIDR(r.DestinationCIDR), r.NextHop)
		if node != nil {
			out[r] = node
		}
		if certain || !owned[r] {
			continue
		}
		for _, holder := range index.WithCIDR(canonicalCIDR(r.DestinationCIDR)) {
			server, err := s.providerIDs.Parse(holder.Spec.ProviderID)
			if err != nil {
				// A node with an invalid provider ID keeps its route.
				out[r] = holder
				continue
			}
			holders[target{r, server}] = holder
			targets = append(targets, target{r, server})
		}
	}
	leads, err := s.leadTo(ctx, targets)
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		if leads[t] {
			out[t.route] = holders[t]
		}
	}
	return out, nil
}

// leadTo returns the targets that Neutron does not contradict: a port of the server has the next hop, or no port of the
// server is visible.
func (s *Source) leadTo(ctx context.Context, targets []target) (map[target]bool, error) {
	out := map[target]bool{}
	now := s.clock.Now()
	var unread []target
	var servers []string
	for _, t := range targets {
		last, ok := s.checked[t]
		age := absentMaxAge
		if last.leads {
			age = routerMaxAge
		}
		if ok && now.Sub(last.at) < age {
			out[t] = last.leads
			continue
		}
		unread, servers = append(unread, t), append(servers, t.server)
	}
	if len(servers) == 0 {
		return out, nil
	}
	ports, err := s.ports.OfServers(ctx, servers)
	if err != nil {
		return nil, err
	}
	for _, t := range unread {
		_, found := portWith(ports[t.server], t.route.NextHop)
		out[t] = found || len(ports[t.server]) == 0
		s.checked[t] = checkedTarget{out[t], now}
	}
	return out, nil
}

// portWith returns the port with an address.
func portWith(ports []api.Port, address string) (api.Port, bool) {
	i := slices.IndexFunc(ports, func(port api.Port) bool {
		return slices.ContainsFunc(port.FixedIPs, func(ip api.FixedIP) bool { return ip.Address == address })
	})
	if i < 0 {
		return api.Port{}, false
	}
	return ports[i], true
}

// claims returns the targets of routes whose Node has the next hop in its status. Only Neutron can confirm them,
// because kubelets write both.
func (s *Source) claims(index *common.NodeIndex, list []api.ExtraRoute) []target {
	var out []target
	for _, r := range list {
		destination := canonicalCIDR(r.DestinationCIDR)
		for _, holder := range index.WithCIDR(destination) {
			server, err := s.providerIDs.Parse(holder.Spec.ProviderID)
			if err == nil && slices.Contains(index.WithAddress(r.NextHop), holder) {
				out = append(out, target{r, server})
			}
		}
	}
	return out
}

// isDue reports whether the ownership of a foreign route is checked again. One that a Node claims is checked more
// often, because the Node may have been without a provider ID.
func (s *Source) isDue(index *common.NodeIndex, r api.ExtraRoute, now time.Time) bool {
	age := foreignMaxAge
	if len(s.claims(index, []api.ExtraRoute{r})) > 0 {
		age = routerMaxAge
	}
	return now.Sub(s.foreign[r]) >= age
}

// checkNextHops sets an error for each route to an address that the server of its node does not have. Where ports have
// allowed address pairs, findServerPorts checks it.
func (s *Source) checkNextHops(ctx context.Context, list []common.Route, desired []api.ExtraRoute, errs []error) {
	supported, err := s.hasExtension(ctx, extensionPairs)
	if err == nil && supported {
		return
	}
	var targets []target
	for i, r := range desired {
		if errs[i] == nil {
			targets = append(targets, target{r, list[i].InstanceID})
		}
	}
	leads := map[target]bool{}
	if err == nil {
		leads, err = s.leadTo(ctx, targets)
	}
	for i, r := range desired {
		switch {
		case errs[i] != nil:
		case err != nil:
			errs[i] = err
		case !leads[target{r, list[i].InstanceID}]:
			errs[i] = &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "ListPorts", Err: fmt.Errorf(
				"node %s: its server %s has no port with the address %s, which its status has",
				list[i].NodeName, list[i].InstanceID, r.NextHop)}
		}
	}
}
