package sim

import (
	"net/http"
	"net/netip"
	"slices"
)

// route is one of a router's extra routes, and of a subnet's routes for hosts.
type route struct {
	Destination string `json:"destination"`
	NextHop     string `json:"nexthop"`
}

type gatewayInfo struct {
	Network  string    `json:"network_id"`
	FixedIPs []fixedIP `json:"external_fixed_ips"`
	SNAT     bool      `json:"enable_snat"`
}

type router struct {
	neutronObject
	AdminStateUp bool         `json:"admin_state_up"`
	Status       string       `json:"status"`
	Gateway      *gatewayInfo `json:"external_gateway_info"`
	Routes       []route      `json:"routes"`
	Zones        []string     `json:"availability_zones"`
	ZoneHints    []string     `json:"availability_zone_hints"`
	Flavor       *string      `json:"flavor_id"`
}

func routerOperations() []operation {
	r := neutronResource("Router", "router", "routers", func(t *tx) map[string]*router { return t.routers }, (*tx).router)
	return r.operations(
		change("UpdateRouter", "routers/{id}", (*tx).updateRouter),
		change("AddExtraRoutes", "routers/{id}/add_extraroutes", func(t *tx) (any, error) {
			return t.extraRoutes(func(have, given []route) []route {
				for _, g := range given {
					if !slices.Contains(have, g) {
						have = append(have, g)
					}
				}
				return have
			})
		}),
		change("RemoveExtraRoutes", "routers/{id}/remove_extraroutes", func(t *tx) (any, error) {
			return t.extraRoutes(func(have, given []route) []route {
				return only(have, func(r route) bool { return !slices.Contains(given, r) })
			})
		}),
	)
}

func (t *tx) router(id string) (*router, error) { return lookup(t, t.routers, id, missing("Router")) }

type routerInput struct {
	Name         *string      `json:"name"`
	Description  *string      `json:"description"`
	AdminStateUp *bool        `json:"admin_state_up"`
	Routes       *[]route     `json:"routes"`
	Gateway      *gatewayInfo `json:"external_gateway_info"`
}

func (t *tx) updateRouter() (any, error) {
	r, err := t.router(t.call.params["id"])
	if err != nil {
		return nil, err
	}
	in, err := decode[routerInput](t, "router")
	if err != nil {
		return nil, err
	}
	if err := t.ifMatch(&r.neutronObject); err != nil {
		return nil, err
	}
	if in.Routes != nil {
		if !t.hasExtension("extraroute") {
			return nil, badBody(serviceNetwork, "Unrecognized attribute(s) 'routes'")
		}
		if err := t.checkRoutes(r, *in.Routes); err != nil {
			return nil, err
		}
		r.Routes = append([]route{}, *in.Routes...)
	}
	set(&r.Name, in.Name)
	set(&r.Description, in.Description)
	set(&r.AdminStateUp, in.AdminStateUp)
	t.markUpdated(&r.neutronObject)
	return map[string]any{"router": r}, nil
}

// extraRoutes merges the given routes into those of the router. What changes nothing leaves the revision as it is.
func (t *tx) extraRoutes(merge func(have, given []route) []route) (any, error) {
	if !t.hasExtension("extraroute-atomic") {
		return nil, errNoResource()
	}
	r, err := t.router(t.call.params["id"])
	if err != nil {
		return nil, err
	}
	in, err := decode[routerInput](t, "router")
	if err != nil {
		return nil, err
	}
	if in.Routes == nil {
		return nil, badBody(serviceNetwork, "Invalid input for routes: it is missing")
	}
	if err := t.ifMatch(&r.neutronObject); err != nil {
		return nil, err
	}
	merged := merge(slices.Clone(r.Routes), *in.Routes)
	if err := t.checkRoutes(r, merged); err != nil {
		return nil, err
	}
	if !slices.Equal(merged, r.Routes) {
		r.Routes = merged
		t.markUpdated(&r.neutronObject)
	}
	return map[string]any{"router": r}, nil
}

// checkRoutes refuses routes that Neutron cannot install. Only routes that the router does not have yet are looked at.
func (t *tx) checkRoutes(r *router, routes []route) error {
	if most := t.o.Quotas[QuotaRoutes]; len(routes) > most {
		return badRequest("RoutesExhausted", "Unable to complete operation for %s. The number of routes exceeds the "+
			"maximum %d.", r.ID, most)
	}
	seen := map[route]bool{}
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

func (t *tx) checkNextHop(r *router, x route, hop netip.Addr) error {
	invalid := func(reason string) error {
		return badRequest("InvalidRoutes", "Invalid format for routes: [{'destination': '%s', 'nexthop': '%s'}], %s",
			x.Destination, x.NextHop, reason)
	}
	connected := false
	for _, p := range t.interfacesOf(r) {
		for _, f := range p.FixedIPs {
			if f.Address == hop.String() {
				return invalid("the nexthop is used by router")
			}
			connected = connected || t.subnets[f.Subnet].prefix.Contains(hop)
		}
	}
	if r.Gateway != nil {
		for _, f := range r.Gateway.FixedIPs {
			connected = connected || t.subnets[f.Subnet].prefix.Contains(hop)
		}
	}
	if !connected {
		return invalid("the nexthop is not connected with router")
	}
	return nil
}

// interfacesOf returns the ports by which a router is in its networks.
func (t *tx) interfacesOf(r *router) []*port {
	return only(bySeq(t.ports), func(p *port) bool { return p.DeviceID == r.ID && p.DeviceOwner == ownerInterface })
}

func (t *tx) newRouter(project, name string, external *subnet) (*router, error) {
	r := &router{neutronObject: t.newNeutron(project, name), AdminStateUp: true, Status: statusActive, Routes: []route{},
		Zones: []string{"nova"}, ZoneHints: []string{}}
	if external != nil {
		ip, err := t.allocateIP(external, netip.Addr{})
		if err != nil {
			return nil, err
		}
		r.Gateway = &gatewayInfo{Network: external.Network, SNAT: true,
			FixedIPs: []fixedIP{{Subnet: external.ID, Address: ip.String()}}}
	}
	t.routers[r.ID] = r
	return r, nil
}

// addInterface puts a router into a subnet, at the address of its gateway.
func (t *tx) addInterface(r *router, s *subnet) error {
	if s.Gateway == nil {
		return refuse(http.StatusBadRequest, "", "Subnet %s has no gateway", s.ID)
	}
	p := &port{neutronObject: t.newNeutron(r.Project, ""), Network: s.Network, MAC: "fa:16:3e:00:00:" +
		hexByte(uint64(t.made)), AdminStateUp: true,
		Status: statusActive, DeviceID: r.ID, DeviceOwner: ownerInterface,
		FixedIPs: []fixedIP{{Subnet: s.ID, Address: *s.Gateway}},
		Pairs:    []addressPair{}, Groups: []string{}, VNICType: "normal", DHCPOptions: []any{}}
	t.ports[p.ID] = p
	return nil
}

// routerTo returns the router by which a floating network reaches a subnet, or nil.
func (t *tx) routerTo(external, subnet string) *router {
	for _, r := range bySeq(t.routers) {
		if r.Gateway == nil || r.Gateway.Network != external {
			continue
		}
		for _, p := range t.interfacesOf(r) {
			for _, f := range p.FixedIPs {
				if f.Subnet == subnet {
					return r
				}
			}
		}
	}
	return nil
}
