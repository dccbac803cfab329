package sim

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

var _ world.World = (*Cloud)(nil)

// Launch implements world.World.
func (c *Cloud) Launch(m world.Machine) (node *v1.Node, err error) {
	err = c.console(func(t *tx) error {
		i, err := t.launch(m)
		if err == nil {
			node = world.Machine{Name: i.nodeName, PodCIDRs: i.podCIDRs}.Node()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("launching machine %s: %w", m.Name, err)
	}
	return node, nil
}

// Machine implements world.World.
func (c *Cloud) Machine(nodeName string) (m world.Machine, err error) {
	err = c.onMachine(nodeName, func(t *tx, i *instance) error {
		m = world.Machine{Name: i.nodeName, Zone: i.zone, Type: i.kind, Region: t.o.Region,
			PodCIDRs: slices.Clone(i.podCIDRs)}
		return nil
	})
	return m, err
}

// Instance returns the ID of a machine's instance, or nothing if there is no such machine.
func (c *Cloud) Instance(nodeName string) (id string) {
	c.inspect(func(t *tx) {
		if i := t.byNodeName(nodeName); i != nil {
			id = i.id
		}
	})
	return id
}

// Terminate implements world.World.
func (c *Cloud) Terminate(nodeName string) error { return c.setMachineState(nodeName, stateTerminated) }

// Stop implements world.World.
func (c *Cloud) Stop(nodeName string) error { return c.setMachineState(nodeName, stateStopped) }

func (c *Cloud) setMachineState(nodeName, to string) error {
	return c.onMachine(nodeName, func(t *tx, i *instance) error { t.setState(i, to); return nil })
}

// onMachine changes or reads the instance of a machine.
func (c *Cloud) onMachine(nodeName string, work func(*tx, *instance) error) error {
	return c.console(func(t *tx) error {
		i, err := t.machine(nodeName)
		if err != nil {
			return err
		}
		return work(t, i)
	})
}

// Routes implements world.World: of the cluster's table those that people or programs made.
func (c *Cloud) Routes() []world.Route {
	var out []world.Route
	c.inspect(func(t *tx) {
		for _, table := range t.clusterTables() {
			for _, r := range table.routes {
				if r.gateway == "local" || r.destination.Bits() == 0 {
					continue
				}
				w := world.Route{Destination: r.destination.String(), Blackhole: t.blackhole(r), Owned: r.iface != ""}
				if n := t.interfaces[r.iface]; n != nil && n.instance != "" {
					w.NodeName = t.instances[n.instance].nodeName
				}
				out = append(out, w)
			}
		}
	})
	world.SortRoutes(out)
	return out
}

func (t *tx) clusterTables() []*routeTable {
	var out []*routeTable
	for _, id := range sortedIDs(t.tables) {
		if has(t.tags[id], tagClusterPrefix+t.o.Cluster) {
			out = append(out, t.tables[id])
		}
	}
	return out
}

// AddForeignRoute implements world.World. The route leads to a peering connection.
func (c *Cloud) AddForeignRoute(destination string) error {
	return c.console(func(t *tx) error {
		p, err := netip.ParsePrefix(destination)
		if err != nil {
			return fmt.Errorf("foreign route: %w", err)
		}
		for _, table := range t.clusterTables() {
			if table.index(p.Masked()) >= 0 {
				return fmt.Errorf("foreign route: a route to %s exists", p)
			}
			table.routes = append(table.routes, &route{destination: p.Masked(), gateway: t.newID("pcx"), origin: "CreateRoute"})
		}
		return nil
	})
}

// Objects implements world.World. Terminated instances are left out; network interfaces come and go with what they
// belong to.
func (c *Cloud) Objects() map[string]int {
	out := map[string]int{}
	c.inspect(func(t *tx) {
		for _, i := range t.instances {
			if i.state != stateTerminated {
				out["instances"]++
			}
		}
		out["security-groups"] = len(t.groups)
		for _, g := range t.groups {
			out["security-group-rules"] += len(g.ingress) + len(g.egress)
		}
		for _, r := range t.tables {
			out["routes"] += len(r.routes)
		}
		out["addresses"] = len(t.addresses)
		out["load-balancers"] = len(t.balancers)
		out["listeners"] = len(t.listeners)
		out["target-groups"] = len(t.targetGroups)
		for _, g := range t.targetGroups {
			out["targets"] += len(t.registered(g))
		}
		out["classic-load-balancers"] = len(t.classics)
		for _, b := range t.classics {
			out["classic-listeners"] += len(b.listeners)
			out["classic-registrations"] += len(b.instances)
			out["classic-policies"] += len(b.policies)
		}
	})
	return out
}

// inspect reads the state.
func (c *Cloud) inspect(read func(*tx)) {
	// A function that returns no error makes console return none.
	_ = c.console(func(t *tx) error { read(t); return nil })
}

func sortedIDs[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }
