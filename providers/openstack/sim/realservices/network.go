package realservices

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// route is an extra route of the router.
type route struct {
	Destination string `json:"destination"`
	NextHop     string `json:"nexthop"`
}

// foreignHop is an address of the machines' subnet that no machine gets.
const foreignHop = "10.0.255.253"

// Routes implements world.World.
func (c *Cloud) Routes() []world.Route {
	ctx, cancel := withTimeout()
	defer cancel()
	out, err := c.routes(ctx)
	if err != nil {
		return []world.Route{{Destination: failedRead("routes", err)}}
	}
	return out
}

func (c *Cloud) routes(ctx context.Context) ([]world.Route, error) {
	routes, err := c.routerRoutes(ctx)
	if err != nil || len(routes) == 0 {
		return nil, err
	}
	names, err := c.nodeNames(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []world.Route
	for _, r := range routes {
		name, foreign := names[r.NextHop], c.foreign[r.Destination]
		out = append(out, world.Route{Destination: r.Destination, NodeName: name, Blackhole: name == "" && !foreign,
			Owned: !foreign})
	}
	world.SortRoutes(out)
	return out, nil
}

func (c *Cloud) routerRoutes(ctx context.Context) ([]route, error) {
	var out struct{ Router struct{ Routes []route } }
	err := c.tenant.call(ctx, "GET network/routers/"+c.places.router, nil, &out)
	return out.Router.Routes, err
}

// AddForeignRoute implements world.World. The route leads to an address of the private network that no machine has.
func (c *Cloud) AddForeignRoute(destination string) error {
	ctx, cancel := withTimeout()
	defer cancel()
	c.mu.Lock()
	c.foreign[destination] = true
	c.mu.Unlock()
	return c.tenant.call(ctx, "PUT network/routers/"+c.places.router+"/add_extraroutes",
		object{"router": object{"routes": []route{{destination, foreignHop}}}}, nil)
}

// Objects implements world.World for the project.
func (c *Cloud) Objects() map[string]int {
	ctx, cancel := withTimeout()
	defer cancel()
	out, err := c.objects(ctx)
	if err != nil {
		return map[string]int{failedRead("objects", err): 1}
	}
	return out
}

func (c *Cloud) objects(ctx context.Context) (map[string]int, error) {
	var (
		servers, addresses, groups, rules, balancers, listeners, monitors []ref

		ports  []port
		pools  []struct{ Members []ref }
		routes []route
	)
	err := runParallel(
		listInto(ctx, c.tenant, "compute/servers", &servers),
		listInto(ctx, c.tenant, "network/floatingips", &addresses),
		listInto(ctx, c.tenant, "network/security-groups", &groups),
		listInto(ctx, c.tenant, "network/security-group-rules", &rules),
		listInto(ctx, c.tenant, "load-balancer/lbaas/loadbalancers", &balancers),
		listInto(ctx, c.tenant, "load-balancer/lbaas/listeners", &listeners),
		listInto(ctx, c.tenant, "load-balancer/lbaas/healthmonitors", &monitors),
		listInto(ctx, c.tenant, "network/ports", &ports),
		listInto(ctx, c.tenant, "load-balancer/lbaas/pools", &pools),
		func() (err error) { routes, err = c.routerRoutes(ctx); return err },
	)
	if err != nil {
		return nil, err
	}
	servers = slices.DeleteFunc(servers, func(s ref) bool { return c.isSpare(s.ID) })
	ports = slices.DeleteFunc(ports, func(p port) bool { return c.isSpare(p.DeviceID) })
	out := map[string]int{
		"servers": len(servers), "ports": len(ports), "routes": len(routes), "floating-ips": len(addresses),
		"security-groups": len(groups), "security-group-rules": len(rules), "load-balancers": len(balancers),
		"listeners": len(listeners), "pools": len(pools), "health-monitors": len(monitors),
	}
	for _, p := range ports {
		out["allowed-address-pairs"] += len(p.Pairs)
		out["port-security-groups"] += len(p.Groups)
	}
	for _, p := range pools {
		out["members"] += len(p.Members)
	}
	return out, nil
}

// listInto returns a function that reads a list into out.
func listInto[T any](ctx context.Context, s *session, path string, out *[]T) func() error {
	return func() (err error) {
		*out, err = list[T](ctx, s, path)
		return err
	}
}

// runParallel runs all functions at the same time.
func runParallel(functions ...func() error) error {
	errs := make([]error, len(functions))
	var running sync.WaitGroup
	for i, f := range functions {
		running.Go(func() { errs[i] = f() })
	}
	running.Wait()
	return errors.Join(errs...)
}
