package sim

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/barbican"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/nova"
)

// Places are the IDs of the fixtures of the cluster's project.
type Places struct {
	PrivateNetwork, PrivateSubnet, PublicNetwork, PublicSubnet, Router string
	// PrivateSubnet6 is empty without Options.IPv6.
	PrivateSubnet6 string
	// DefaultGroup is the project's security group of machines.
	DefaultGroup string
	// LoadBalancerFlavors are the IDs of Octavia's flavors by name.
	LoadBalancerFlavors map[string]string
}

// Places returns the IDs of the fixtures of the cluster's project.
func (c *Cloud) Places() (p Places) {
	c.inspect(func(t *tx) {
		public := t.External()
		p = Places{
			PrivateNetwork: t.Cluster.Network, PrivateSubnet: t.SubnetsOf(t.Cluster.Network, 4)[0].ID,
			PublicNetwork: public.ID, PublicSubnet: t.SubnetsOf(public.ID, 4)[0].ID, Router: t.Cluster.Router,
			DefaultGroup: t.DefaultGroup(t.Cluster.Project).ID, LoadBalancerFlavors: map[string]string{},
		}
		if s := t.SubnetsOf(t.Cluster.Network, 6); len(s) > 0 {
			p.PrivateSubnet6 = s[0].ID
		}
		for _, f := range t.LBFlavors {
			p.LoadBalancerFlavors[f.Name] = f.ID
		}
	})
	return p
}

// AddNetwork creates a network with one subnet in the cluster's project, or an external one, and returns both
// IDs.
func (c *Cloud) AddNetwork(name string, prefix netip.Prefix, external bool) (networkID, subnetID string, err error) {
	err = c.console(func(t *tx) error {
		if prefix != prefix.Masked() {
			return fmt.Errorf("network %s has host bits set: use %s", prefix, prefix.Masked())
		}
		project := t.Cluster.Project
		if external {
			project = t.External().Project
		}
		n := t.NewNetwork(project, name, external)
		s := t.NewSubnet(n, name+"-subnet", prefix)
		networkID, subnetID = n.ID, s.ID
		return nil
	})
	return networkID, subnetID, err
}

// AddRouter connects a subnet with an external network, in addition to other routers.
func (c *Cloud) AddRouter(subnetID, externalNetworkID string) error {
	return c.console(func(t *tx) error {
		s, external := t.Subnets[subnetID], t.SubnetsOf(externalNetworkID, 4)
		if s == nil || len(external) == 0 {
			return fmt.Errorf("there is no subnet %q, or no IPv4 subnet of the network %q", subnetID, externalNetworkID)
		}
		r, err := t.NewRouter(t.Cluster.Project, "to "+externalNetworkID, external[0])
		if err != nil {
			return err
		}
		return t.AddInterface(r, s)
	})
}

// AddSubnet creates an additional subnet in a network, with tags, and returns its ID. A subnet of a network
// of the cluster's project is connected to its router.
func (c *Cloud) AddSubnet(networkID, name string, prefix netip.Prefix, tags ...string) (id string, err error) {
	err = c.console(func(t *tx) error {
		n := t.Networks[networkID]
		if n == nil {
			return fmt.Errorf("no network has the ID %q", networkID)
		}
		for _, s := range t.SubnetsOf(networkID, 0) {
			if s.Overlaps(prefix) {
				return fmt.Errorf("subnet %s overlaps %s, %s", prefix, s.ID, s.CIDR)
			}
		}
		s := t.NewSubnet(n, name, prefix)
		s.Tags, id = append(s.Tags, tags...), s.ID
		if n.Project != t.Cluster.Project {
			return nil
		}
		return t.AddInterface(t.Routers[t.Cluster.Router], s)
	})
	return id, err
}

// ExhaustSubnet allocates all free addresses of a subnet.
func (c *Cloud) ExhaustSubnet(id string) error {
	return c.console(func(t *tx) error {
		s := t.Subnets[id]
		if s == nil {
			return fmt.Errorf("no subnet has the ID %q", id)
		}
		t.Exhausted[id] = true
		for {
			if _, err := t.AllocateIP(s, netip.Addr{}); err != nil {
				return nil //nolint:nilerr // the subnet is exhausted
			}
		}
	})
}

// AttachPort adds a port in a network to a machine, and returns its ID.
func (c *Cloud) AttachPort(nodeName, networkID string) (id string, err error) {
	err = c.onMachine(nodeName, func(t *tx, s *nova.Server) error {
		p, err := t.portIn(networkID, s)
		if err != nil {
			return err
		}
		p.DeviceID, p.DeviceOwner, p.Status, p.Groups = s.ID, neutron.OwnerCompute+s.Zone, neutron.StatusActive,
			[]string{t.DefaultGroup(s.Project).ID}
		id = p.ID
		return nil
	})
	return id, err
}

// portIn creates a port for a server in a network.
func (t *tx) portIn(networkID string, s *nova.Server) (*neutron.Port, error) {
	n := t.Networks[networkID]
	if n == nil {
		return nil, fmt.Errorf("no network has the ID %q", networkID)
	}
	return t.NewPort(s.Project, "", n, nil)
}

// AttachSubPort adds a subport in a network to a machine's first port, which Nova does not report, and
// returns its ID.
func (c *Cloud) AttachSubPort(nodeName, networkID string) (id string, err error) {
	err = c.onMachine(nodeName, func(t *tx, s *nova.Server) error {
		p, err := t.portIn(networkID, s)
		if err != nil {
			return err
		}
		parent := t.PortsOfServer(s.ID)[0]
		if parent.Trunk == nil {
			parent.Trunk = &neutron.TrunkDetails{ID: t.NewID()}
		}
		p.DeviceID, p.DeviceOwner, p.Status = parent.Trunk.ID, "trunk:subport", neutron.StatusActive
		parent.Trunk.SubPorts = append(parent.Trunk.SubPorts,
			neutron.SubPort{Port: p.ID, MAC: p.MAC, SegmentationType: "vlan", Segmentation: 100 + len(parent.Trunk.SubPorts)})
		id = p.ID
		return nil
	})
	return id, err
}

// AttachFloatingIP attaches a floating IP to a machine's first port and returns the address.
func (c *Cloud) AttachFloatingIP(nodeName string) (address string, err error) {
	err = c.onMachine(nodeName, func(t *tx, s *nova.Server) error {
		f, err := t.Allocate(s.Project, t.External(), "", "")
		if err == nil {
			t.Attach(f, t.PortsOfServer(s.ID)[0], "")
			address = f.Address
		}
		return err
	})
	return address, err
}

// ForwardPorts gives the floating IP with an address port forwardings, or removes them.
func (c *Cloud) ForwardPorts(address string, forwards bool) {
	c.inspect(func(t *tx) {
		for _, f := range t.Addresses {
			if f.Address == address {
				f.Forwardings = []any{}
				if forwards {
					f.Forwardings = append(f.Forwardings, map[string]any{"protocol": "tcp", "external_port": 2222})
				}
			}
		}
	})
}

// AddSecret creates a certificate in Barbican, in a container or by itself, and returns the reference for
// listeners. The reference contains the simulator's URL base, such as http://127.0.0.1:8080.
func (c *Cloud) AddSecret(base, name string, inContainer bool) (reference string) {
	c.inspect(func(t *tx) {
		t.Call.Base = base
		s := &barbican.Secret{Object: t.NewObject(t.NewID()), Name: name, Project: t.Cluster.Project, Kind: "opaque"}
		t.barbican.Secrets[s.ID] = s
		reference = t.barbican.KeyRef("secrets", s.ID)
		if inContainer {
			container := &barbican.Secret{Object: t.NewObject(t.NewID()), Name: name, Project: t.Cluster.Project,
				Kind: "certificate", Secrets: map[string]string{"certificate": s.ID, "private_key": s.ID}}
			t.barbican.Containers[container.ID] = container
			reference = t.barbican.KeyRef("containers", container.ID)
		}
	})
	return reference
}

// Leaks returns the unused objects of a manager in the cluster's project: VIP ports without their load balancer,
// floating IPs without a port, security groups without a port.
func (c *Cloud) Leaks() []string {
	var out []string
	c.inspect(func(t *tx) {
		usedGroups, vipPorts := map[string]bool{}, map[string]bool{}
		for _, b := range t.Balancers {
			vipPorts[b.VIPPort] = true
		}
		for _, p := range t.Ports {
			for _, g := range p.Groups {
				usedGroups[g] = true
			}
			if p.DeviceOwner == neutron.OwnerLoadBalancer && !vipPorts[p.ID] {
				out = append(out, "port "+p.Name)
			}
		}
		for _, f := range t.Addresses {
			if f.Port == nil && f.Project == t.Cluster.Project {
				out = append(out, "floating IP "+f.Address+" "+f.Description)
			}
		}
		for _, g := range t.Groups {
			if g.Project == t.Cluster.Project && g.Name != neutron.DefaultGroupName && !usedGroups[g.ID] {
				out = append(out, "security group "+cmp.Or(g.Name, g.ID))
			}
		}
	})
	slices.Sort(out)
	return out
}
