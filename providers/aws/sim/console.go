package sim

import (
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
)

var _ world.World = (*Cloud)(nil)

// Launch implements world.World.
func (c *Cloud) Launch(m world.Machine) (node *v1.Node, err error) {
	err = c.console(func(t *tx) error {
		i, err := t.Launch(m)
		if err == nil {
			node = world.Machine{Name: i.NodeName, PodCIDRs: i.PodCIDRs}.Node()
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
	err = c.onMachine(nodeName, func(t *tx, i *ec2.Instance) error {
		m = world.Machine{Name: i.NodeName, Zone: i.Zone, Type: i.Kind, Region: t.Options.Region,
			PodCIDRs: slices.Clone(i.PodCIDRs)}
		return nil
	})
	return m, err
}

// InternalIP implements world.InternalIPs.
func (c *Cloud) InternalIP(nodeName string) (address string, err error) {
	err = c.onMachine(nodeName, func(t *tx, i *ec2.Instance) error {
		if n := t.Primary(i); n != nil {
			address = n.PrimaryIP().String()
		}
		return nil
	})
	return address, err
}

// Instance returns the ID of a machine's instance, "" for an unknown machine.
func (c *Cloud) Instance(nodeName string) (id string) {
	c.inspect(func(t *tx) {
		if i := t.ByNodeName(nodeName); i != nil {
			id = i.ID
		}
	})
	return id
}

// Terminate implements world.World.
func (c *Cloud) Terminate(nodeName string) error {
	return c.setMachineState(nodeName, ec2.StateTerminated)
}

// Stop implements world.World.
func (c *Cloud) Stop(nodeName string) error { return c.setMachineState(nodeName, ec2.StateStopped) }

func (c *Cloud) setMachineState(nodeName, to string) error {
	return c.onMachine(nodeName, func(t *tx, i *ec2.Instance) error { t.SetState(i, to); return nil })
}

// onMachine runs a function on the instance of a machine.
func (c *Cloud) onMachine(nodeName string, work func(*tx, *ec2.Instance) error) error {
	return c.console(func(t *tx) error {
		i, err := t.Machine(nodeName)
		if err != nil {
			return err
		}
		return work(t, i)
	})
}

// Routes implements world.World: it returns the routes of the cluster's table that users or programs created.
func (c *Cloud) Routes() []world.Route {
	var out []world.Route
	c.inspect(func(t *tx) {
		for _, table := range t.clusterTables() {
			for _, r := range table.Routes {
				if r.Local() || r.Destination.Bits() == 0 {
					continue
				}
				route := world.Route{Destination: r.Destination.String(), Blackhole: t.Blackhole(r), Owned: r.Iface != ""}
				if n := t.Interfaces[r.Iface]; n != nil && n.Instance != "" {
					route.NodeName = t.Instances[n.Instance].NodeName
				}
				out = append(out, route)
			}
		}
	})
	world.SortRoutes(out)
	return out
}

func (t *tx) clusterTables() []*ec2.RouteTable {
	var out []*ec2.RouteTable
	for _, id := range core.SortedIDs(t.Tables) {
		if core.Has(t.Tags[id], ec2.TagClusterPrefix+t.Options.Cluster) {
			out = append(out, t.Tables[id])
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
			if table.Index(p.Masked()) >= 0 {
				return fmt.Errorf("foreign route: a route to %s exists", p)
			}
			table.Routes = append(table.Routes, &ec2.Route{Destination: p.Masked(), Gateway: t.NewID("pcx"),
				Origin: "CreateRoute"})
		}
		return nil
	})
}

// Objects implements world.World. It omits terminated instances, and network interfaces, which are created and deleted
// with other objects.
func (c *Cloud) Objects() map[string]int {
	out := map[string]int{}
	c.inspect(func(t *tx) {
		for _, i := range t.Instances {
			if i.State != ec2.StateTerminated {
				out["instances"]++
			}
		}
		out["security-groups"] = len(t.Groups)
		for _, g := range t.Groups {
			out["security-group-rules"] += len(g.Ingress) + len(g.Egress)
		}
		for _, r := range t.Tables {
			out["routes"] += len(r.Routes)
		}
		out["addresses"] = len(t.Addresses)
		for _, g := range t.generations() {
			g.Count(out)
		}
	})
	return out
}

// inspect runs a function of an administrator that cannot fail.
func (c *Cloud) inspect(work func(*tx)) {
	_ = c.console(func(t *tx) error { work(t); return nil })
}

// SetSelf sets the machine that the metadata service belongs to.
func (c *Cloud) SetSelf(nodeName string) error {
	return c.onMachine(nodeName, func(t *tx, i *ec2.Instance) error { t.imds.SelfID = i.ID; return nil })
}
