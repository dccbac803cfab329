package sim

import (
	"net/netip"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
)

var _ world.Inventory = (*Cloud)(nil)

// Inventory implements world.Inventory for the cluster's project.
func (c *Cloud) Inventory() []world.Object {
	var out []world.Object
	c.inspect(func(t *tx) {
		out = t.Tx.Inventory()
		for id, s := range t.Servers {
			if s.Project == t.Cluster.Project {
				out = append(out, world.NewObject("server", s.Name, id, s))
			}
		}
		for id, p := range t.Ports {
			if p.Project == t.Cluster.Project && p.DeviceOwner != neutron.OwnerLoadBalancer {
				out = append(out, world.NewObject("port", p.Name, id, p))
			}
		}
		for id, f := range t.Addresses {
			if f.Project == t.Cluster.Project {
				out = append(out, world.NewObject("floating IP", f.Address, id, f))
			}
		}
		for id, g := range t.Groups {
			if g.Project == t.Cluster.Project {
				view := *g
				view.Rules = nil
				out = append(out, world.NewObject("security group", g.Name, id, view))
			}
		}
		for id, r := range t.Rules {
			if r.Project == t.Cluster.Project {
				out = append(out, world.NewObject("security group rule", r.Direction, id, r))
			}
		}
		if router := t.Routers[t.Cluster.Router]; router != nil {
			for _, r := range router.Routes {
				out = append(out, world.NewObject("route", r.Destination, router.ID+"/"+r.Destination, r))
			}
		}
	})
	world.SortObjects(out)
	return out
}

var _ world.Reserver = (*Cloud)(nil)

// Reserve implements world.Reserver: it creates a floating IP.
func (c *Cloud) Reserve() (names []string, ip string, err error) {
	err = c.console(func(t *tx) error {
		f, err := t.Allocate(t.Cluster.Project, t.External(), "", "")
		if err == nil {
			ip = f.Address
		}
		return err
	})
	return []string{ip}, ip, err
}

// otherSubnet is the network of a second subnet, from a range for documentation.
var otherSubnet = netip.MustParsePrefix("198.51.100.0/24")

// Subnet implements world.Reserver: it adds a subnet to the private network.
func (c *Cloud) Subnet() (string, error) {
	return c.AddSubnet(c.Places().PrivateNetwork, "second", otherSubnet)
}

// IPv6Subnet implements world.FamilySubnets.
func (c *Cloud) IPv6Subnet() string { return c.Places().PrivateSubnet6 }

var _ world.Certificates = (*Cloud)(nil)

// Certificate implements world.Certificates: it adds a container to Barbican.
func (c *Cloud) Certificate() string { return c.AddSecret("http://barbican.invalid", "web", true) }
