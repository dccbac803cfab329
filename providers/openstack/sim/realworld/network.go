package realworld

import (
	"context"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/world"
)

// route is one of the router's.
type route struct {
	Destination string `json:"destination"`
	NextHop     string `json:"nexthop"`
}

// foreignHop is an address of the machines' subnet that no machine gets.
const foreignHop = "10.0.255.253"

// Routes implements world.World.
func (c *Cloud) Routes() []world.Route {
	ctx, cancel := atConsole()
	defer cancel()
	out, err := c.routes(ctx)
	if err != nil {
		return []world.Route{{Destination: unreadable("routes", err)}}
	}
	return out
}

func (c *Cloud) routes(ctx context.Context) ([]world.Route, error) {
	have, err := c.routerRoutes(ctx)
	if err != nil || len(have) == 0 {
		return nil, err
	}
	names, err := c.nodeNames(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []world.Route
	for _, r := range have {
		name, foreign := names[r.NextHop], c.foreign[r.Destination]
		out = append(out, world.Route{Destination: r.Destination, NodeName: name, Blackhole: name == "" && !foreign, Owned: !foreign})
	}
	slices.SortFunc(out, func(a, b world.Route) int {
		return netip.MustParsePrefix(a.Destination).Compare(netip.MustParsePrefix(b.Destination))
	})
	return out, nil
}

func (c *Cloud) routerRoutes(ctx context.Context) ([]route, error) {
	var out struct{ Router struct{ Routes []route } }
	err := c.tenant.call(ctx, "GET network/routers/"+c.places.router, nil, &out)
	return out.Router.Routes, err
}

// AddForeignRoute implements world.World. The route leads to an address of the private network that no machine has.
func (c *Cloud) AddForeignRoute(destination string) error {
	ctx, cancel := atConsole()
	defer cancel()
	c.mu.Lock()
	c.foreign[destination] = true
	c.mu.Unlock()
	return c.tenant.call(ctx, "PUT network/routers/"+c.places.router+"/add_extraroutes",
		object{"router": object{"routes": []route{{destination, foreignHop}}}}, nil)
}

// Objects implements world.World for the project.
func (c *Cloud) Objects() map[string]int {
	ctx, cancel := atConsole()
	defer cancel()
	out, err := c.objects(ctx)
	if err != nil {
		return map[string]int{unreadable("objects", err): 1}
	}
	return out
}

func (c *Cloud) objects(ctx context.Context) (map[string]int, error) {
	out := map[string]int{}
	for kind, path := range map[string]string{
		"servers": "compute/servers", "floating-ips": "network/floatingips", "security-groups": "network/security-groups",
		"security-group-rules": "network/security-group-rules", "load-balancers": "load-balancer/lbaas/loadbalancers",
		"listeners": "load-balancer/lbaas/listeners", "health-monitors": "load-balancer/lbaas/healthmonitors",
	} {
		found, err := list[named](ctx, c.tenant, path)
		if err != nil {
			return nil, err
		}
		out[kind] = len(found)
	}
	ports, err := list[port](ctx, c.tenant, "network/ports")
	if err != nil {
		return nil, err
	}
	out["ports"] = len(ports)
	for _, p := range ports {
		out["allowed-address-pairs"] += len(p.Pairs)
		out["port-security-groups"] += len(p.Groups)
	}
	pools, err := list[struct{ Members []named }](ctx, c.tenant, "load-balancer/lbaas/pools")
	if err != nil {
		return nil, err
	}
	out["pools"] = len(pools)
	for _, p := range pools {
		out["members"] += len(p.Members)
	}
	routes, err := c.routerRoutes(ctx)
	out["routes"] = len(routes)
	return out, err
}
