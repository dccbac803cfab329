package sim

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

var _ world.World = (*Cloud)(nil)

// The methods of this file are the actions of a user at the cloud's console. They bypass the front: no latency,
// limit or fault applies, and the call log omits them.

// Launch implements world.World.
func (c *Cloud) Launch(m world.Machine) (*v1.Node, error) {
	err := c.update(func(t *tx) error {
		if t.instanceByName(m.Name) != nil {
			return refuse(api.CodeAlreadyExists, "instance %q exists", m.Name)
		}
		launched, err := t.launch([]api.InstanceSpec{{Name: m.Name, Zone: m.Zone, Type: m.Type}})
		if err != nil {
			return err
		}
		t.Instances[launched[0].ID].PodCIDRs = slices.Clone(m.PodCIDRs)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("launching machine %s: %w", m.Name, err)
	}
	return m.Node(), nil
}

// Machine implements world.World.
func (c *Cloud) Machine(nodeName string) (m world.Machine, err error) {
	err = c.view(func(t *tx) error {
		i, err := t.getInstance(nodeName)
		if err != nil {
			return err
		}
		m = world.Machine{
			Name: i.Name, Zone: i.Zone, Type: i.Type, Region: t.rules.region, PodCIDRs: slices.Clone(i.PodCIDRs),
		}
		return nil
	})
	return m, err
}

// InternalIP implements world.InternalIPs.
func (c *Cloud) InternalIP(nodeName string) (address string, err error) {
	err = c.view(func(t *tx) error {
		i, err := t.getInstance(nodeName)
		if err == nil && len(i.InternalAddresses) > 0 {
			address = i.InternalAddresses[0]
		}
		return err
	})
	return address, err
}

// Terminate implements world.World.
func (c *Cloud) Terminate(nodeName string) error {
	return c.update(func(t *tx) error {
		i, err := t.getInstance(nodeName)
		if err != nil {
			return err
		}
		return t.terminate(i.ID)
	})
}

// Stop implements world.World.
func (c *Cloud) Stop(nodeName string) error {
	return c.update(func(t *tx) error {
		i, err := t.getInstance(nodeName)
		if err != nil {
			return err
		}
		_, err = t.setInstanceState(i.ID, api.StateStopped)
		return err
	})
}

// LoadBalancers implements world.World.
func (c *Cloud) LoadBalancers() []world.LoadBalancer {
	var out []world.LoadBalancer
	c.viewLastKnown(func(t *tx) {
		for _, lb := range sortedBy(t.LoadBalancers, func(lb *loadBalancer) string { return lb.Name }) {
			out = append(out, t.describe(lb))
		}
	})
	return out
}

// DeleteLoadBalancer implements world.World: it orphans the addresses.
func (c *Cloud) DeleteLoadBalancer(name string) error {
	return c.update(func(t *tx) error {
		lb, err := t.getLoadBalancer(name)
		if err != nil {
			return err
		}
		return t.deleteLoadBalancer(lb.ID)
	})
}

// driftRange is the source range that Drift allows: one host of a documentation range (RFC 5737).
const driftRange = "203.0.113.7/32"

// Drift implements world.World. It changes the first listener's source ranges, and of its pool the health
// check's interval, the session affinity and, if there are any, the members.
func (c *Cloud) Drift(name string) (fields []string, err error) {
	err = c.update(func(t *tx) error {
		lb, err := t.getLoadBalancer(name)
		if err != nil {
			return err
		}
		if len(lb.Listeners) == 0 {
			return fmt.Errorf("load balancer %q has no listener to change", name)
		}
		fields = lb.drift()
		t.markChanged()
		return nil
	})
	return fields, err
}

// drift returns the changed fields by their names in the API.
func (lb *loadBalancer) drift() []string {
	l := &lb.Listeners[0]
	l.SourceRanges = []string{driftRange}
	p := &lb.Pools[poolIndex(lb, l.Pool)]
	p.HealthCheck.IntervalSeconds += 7
	p.AffinitySeconds = (p.AffinitySeconds + 60) % maxAffinitySeconds
	fields := []string{"sourceRanges", "healthCheck.intervalSeconds", "affinitySeconds"}
	if len(p.Members) > 0 {
		p.Members = p.Members[1:]
		fields = append(fields, "members")
	}
	return fields
}

// Routes implements world.World.
func (c *Cloud) Routes() []world.Route {
	var out []world.Route
	c.viewLastKnown(func(t *tx) {
		for _, r := range sortedBy(t.Routes, func(r *api.Route) string { return routeKey(r.Cluster, r.Destination) }) {
			route := world.Route{Destination: r.Destination, Blackhole: t.blackhole(r), Owned: r.Cluster != ""}
			if i := t.Instances[r.InstanceID]; i != nil {
				route.NodeName = i.Name
			}
			out = append(out, route)
		}
	})
	return out
}

// AddForeignRoute implements world.World. The route has no cluster and leads to a gateway.
func (c *Cloud) AddForeignRoute(destination string) error {
	return c.update(func(t *tx) error {
		if err := checkCanonical(destination); err != nil {
			return err
		}
		if t.Routes[routeKey("", destination)] != nil {
			return refuse(api.CodeAlreadyExists, "route %s exists", destination)
		}
		t.addRoute(api.Route{Name: "gateway", Destination: destination})
		return nil
	})
}

// Objects implements world.World.
func (c *Cloud) Objects() map[string]int {
	counts := map[string]int{}
	c.viewLastKnown(func(t *tx) {
		counts["instances"] = len(t.Instances)
		counts["addresses"] = len(t.Addresses)
		counts["load-balancers"] = len(t.LoadBalancers)
		counts["routes"] = len(t.Routes)
		for _, lb := range t.LoadBalancers {
			counts["pools"] += len(lb.Pools)
			counts["listeners"] += len(lb.Listeners)
			for _, p := range lb.Pools {
				counts["members"] += len(p.Members)
			}
		}
	})
	return counts
}

// Check returns the inconsistencies of the world, joined.
func (c *Cloud) Check() error {
	return c.view(func(t *tx) error { return t.check() })
}

func (c *Cloud) update(do func(*tx) error) error { return c.store.update(context.Background(), do) }

func (c *Cloud) view(read func(*tx) error) error { return c.store.view(context.Background(), read) }

// viewLastKnown is for methods without an error result: if the state file was damaged after it was opened, they
// return the last known world.
func (c *Cloud) viewLastKnown(read func(*tx)) {
	if c.view(func(t *tx) error { read(t); return nil }) != nil {
		c.store.viewLastKnown(read)
	}
}

func (t *tx) getInstance(name string) (*instance, error) {
	if i := t.instanceByName(name); i != nil {
		return i, nil
	}
	return nil, notFound("instance", name)
}

func (t *tx) getLoadBalancer(name string) (*loadBalancer, error) {
	if lb := t.loadBalancerByName(name); lb != nil {
		return lb, nil
	}
	return nil, notFound("load balancer", name)
}

// describe formats a load balancer with its listeners by port.
func (t *tx) describe(lb *loadBalancer) world.LoadBalancer {
	out := world.LoadBalancer{
		Name: lb.Name, Internal: lb.Scheme == schemeInternal, Addresses: slices.Clone(lb.Addresses),
	}
	for _, l := range lb.Listeners {
		listener := world.Listener{
			Protocol: v1.Protocol(l.Protocol), Port: l.Port, SourceRanges: slices.Clone(l.SourceRanges),
		}
		for _, m := range lb.Pools[poolIndex(lb, l.Pool)].Members {
			listener.Members = append(listener.Members, t.Instances[m.InstanceID].Name)
			listener.MemberPort = m.Port
		}
		slices.Sort(listener.Members)
		out.Listeners = append(out.Listeners, listener)
	}
	sorting.Func(out.Listeners, func(a, b world.Listener) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})
	return out
}
