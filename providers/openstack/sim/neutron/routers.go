package neutron

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

func (t *Tx) router(id string) (*Router, error) {
	return lookup(t, t.Routers, id, errMissing("Router"))
}

type routerInput struct {
	Name         *string      `json:"name"`
	Description  *string      `json:"description"`
	AdminStateUp *bool        `json:"admin_state_up"`
	Routes       *[]Route     `json:"routes"`
	Gateway      *gatewayInfo `json:"external_gateway_info"`
}

func (t *Tx) updateRouter(r *Router, in routerInput) error {
	if in.Routes != nil {
		if !t.HasExtension("extraroute") {
			return core.BadBody(core.ServiceNetwork, "Unrecognized attribute(s) 'routes'")
		}
		if err := t.checkRoutes(r, *in.Routes); err != nil {
			return err
		}
		r.Routes = append([]Route{}, *in.Routes...)
	}
	core.Assign(r, in)
	t.MarkUpdated(&r.Base)
	return nil
}

// extraRoutes builds the operation that merges the routes of a request into those of a router. A change without effect
// keeps the revision.
func extraRoutes(
	r core.Resource[*Tx, *Router], verb string, merge func(current, requested []Route) []Route,
) core.Operation[*Tx] {
	name := strings.ToUpper(verb[:1]) + verb[1:] + "ExtraRoutes"
	return core.Change(name, "routers/{id}/"+verb+"_extraroutes", func(t *Tx) (any, error) {
		if !t.HasExtension("extraroute-atomic") {
			return nil, core.ErrNoResource()
		}
		return change(t, r, func(t *Tx, r *Router, in routerInput) error {
			if in.Routes == nil {
				return core.BadBody(core.ServiceNetwork, "Invalid input for routes: it is missing")
			}
			merged := merge(slices.Clone(r.Routes), *in.Routes)
			if err := t.checkRoutes(r, merged); err != nil {
				return err
			}
			if !slices.Equal(merged, r.Routes) {
				r.Routes = merged
				t.MarkUpdated(&r.Base)
			}
			return nil
		})
	})
}

// checkRoutes rejects routes that Neutron cannot install. It accepts all that the router already has.
func (t *Tx) checkRoutes(r *Router, routes []Route) error {
	if limit := t.Options.Quotas[core.QuotaRoutes]; len(routes) > limit {
		return badRequest("RoutesExhausted", "Unable to complete operation for %s. The number of routes exceeds the "+
			"maximum %d.", r.ID, limit)
	}
	seen := map[Route]bool{}
	for _, x := range routes {
		if _, err := netip.ParsePrefix(x.Destination); err != nil {
			return badRequest("HTTPBadRequest", "Invalid input for routes. Reason: '%s' is not a valid CIDR.", x.Destination)
		}
		hop, err := netip.ParseAddr(x.NextHop)
		if err != nil {
			return badRequest("HTTPBadRequest", "Invalid input for routes. Reason: '%s' is not a valid IP address.", x.NextHop)
		}
		if seen[x] {
			return badRequest("HTTPBadRequest", "Invalid input for routes. Reason: Duplicate items in the list: '%s'.",
				x.Destination)
		}
		seen[x] = true
		if slices.Contains(r.Routes, x) {
			continue
		}
		if err := t.checkNextHop(r, x, hop); err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) checkNextHop(r *Router, x Route, hop netip.Addr) error {
	invalid := func(reason string) error {
		return badRequest("InvalidRoutes", "Invalid format for routes: [{'destination': '%s', 'nexthop': '%s'}], %s",
			x.Destination, x.NextHop, reason)
	}
	var addresses []FixedIP
	for _, p := range t.interfacesOf(r) {
		addresses = append(addresses, p.FixedIPs...)
	}
	if slices.ContainsFunc(addresses, func(f FixedIP) bool { return f.Address == hop.String() }) {
		return invalid("the nexthop is used by router")
	}
	if r.Gateway != nil {
		addresses = append(addresses, r.Gateway.FixedIPs...)
	}
	connected := slices.ContainsFunc(addresses, func(f FixedIP) bool { return t.Subnets[f.Subnet].Contains(hop) })
	if !connected {
		return invalid("the nexthop is not connected with router")
	}
	return nil
}

// interfacesOf returns the router's ports in its networks.
func (t *Tx) interfacesOf(r *Router) []*Port {
	return core.Only(core.BySeq(t.Ports), func(p *Port) bool {
		return p.DeviceID == r.ID && p.DeviceOwner == ownerInterface
	})
}

// NewRouter creates a router with a gateway in an external subnet, if there is one.
func (t *Tx) NewRouter(project, name string, external *Subnet) (*Router, error) {
	r := &Router{Base: t.newBase(project, name), AdminStateUp: true, Status: StatusActive, Routes: []Route{},
		Zones: []string{"nova"}, ZoneHints: []string{}}
	if external != nil {
		ip, err := t.AllocateIP(external, netip.Addr{})
		if err != nil {
			return nil, err
		}
		r.Gateway = &gatewayInfo{Network: external.Network, SNAT: true,
			FixedIPs: []FixedIP{{Subnet: external.ID, Address: ip.String()}}}
	}
	t.Routers[r.ID] = r
	return r, nil
}

// AddInterface connects a router to a subnet, at the address of its gateway.
func (t *Tx) AddInterface(r *Router, s *Subnet) error {
	if s.Gateway == nil {
		return core.Refuse(http.StatusBadRequest, "", "Subnet %s has no gateway", s.ID)
	}
	p := &Port{
		Base: t.newBase(r.Project, ""), Network: s.Network, MAC: fmt.Sprintf("fa:16:3e:00:00:%02x", t.Created&0xff),
		AdminStateUp: true, Status: StatusActive, DeviceID: r.ID, DeviceOwner: ownerInterface,
		FixedIPs: []FixedIP{{Subnet: s.ID, Address: *s.Gateway}}, Pairs: []addressPair{}, Groups: []string{},
		VNICType: "normal", DHCPOptions: []any{},
	}
	t.Ports[p.ID] = p
	return nil
}

// routerTo returns the router between an external network and a subnet, nil if there is none.
func (t *Tx) routerTo(external, subnet string) *Router {
	for _, r := range core.BySeq(t.Routers) {
		if r.Gateway == nil || r.Gateway.Network != external {
			continue
		}
		for _, p := range t.interfacesOf(r) {
			if slices.ContainsFunc(p.FixedIPs, func(f FixedIP) bool { return f.Subnet == subnet }) {
				return r
			}
		}
	}
	return nil
}
