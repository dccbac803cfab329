package sim

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// Places are the IDs of the fixtures of the cluster's project.
type Places struct {
	PrivateNetwork, PrivateSubnet, PublicNetwork, PublicSubnet, Router string
	// PrivateSubnet6 is empty without Options.IPv6.
	PrivateSubnet6 string
	// DefaultGroup is the project's security group of machines.
	DefaultGroup string
	// LoadBalancerFlavors are Octavia's, by name.
	LoadBalancerFlavors map[string]string
}

// Places returns the IDs of the fixtures of the cluster's project.
func (c *Cloud) Places() (p Places) {
	c.inspect(func(t *tx) {
		public := t.external()
		p = Places{PrivateNetwork: t.clusterNetwork, PrivateSubnet: t.subnetsOf(t.clusterNetwork, 4)[0].ID,
			PublicNetwork: public.ID,
			PublicSubnet:  t.subnetsOf(public.ID, 4)[0].ID, Router: t.clusterRouter,
			DefaultGroup:        t.defaultGroup(t.clusterProject).ID,
			LoadBalancerFlavors: map[string]string{}}
		if s := t.subnetsOf(t.clusterNetwork, 6); len(s) > 0 {
			p.PrivateSubnet6 = s[0].ID
		}
		for _, f := range t.lbFlavors {
			p.LoadBalancerFlavors[f.Name] = f.ID
		}
	})
	return p
}

// AddNetwork makes a network with one subnet in the cluster's project, or an external one, and returns both IDs.
func (c *Cloud) AddNetwork(name string, prefix netip.Prefix, external bool) (networkID, subnetID string, err error) {
	err = c.console(func(t *tx) error {
		if prefix != prefix.Masked() {
			return fmt.Errorf("network %s has bits set that are its hosts'", prefix)
		}
		project := t.clusterProject
		if external {
			project = t.external().Project
		}
		n := t.newNetwork(project, name, external)
		s := t.newSubnet(n, name+"-subnet", prefix)
		networkID, subnetID = n.ID, s.ID
		return nil
	})
	return networkID, subnetID, err
}

// AddSubnet makes a further subnet in a network, with tags, and returns its ID. A small one soon runs dry. One that is
// in a network of the cluster's project is connected to its router.
func (c *Cloud) AddSubnet(networkID, name string, prefix netip.Prefix, tags ...string) (id string, err error) {
	err = c.console(func(t *tx) error {
		n := t.networks[networkID]
		if n == nil {
			return fmt.Errorf("no network has the ID %q", networkID)
		}
		for _, s := range t.subnetsOf(networkID, 0) {
			if s.prefix.Overlaps(prefix) {
				return fmt.Errorf("subnet %s overlaps %s, %s", prefix, s.ID, s.prefix)
			}
		}
		s := t.newSubnet(n, name, prefix)
		s.Tags, id = append(s.Tags, tags...), s.ID
		if n.Project != t.clusterProject {
			return nil
		}
		return t.addInterface(t.routers[t.clusterRouter], s)
	})
	return id, err
}

// ExhaustSubnet allocates all free addresses of a subnet.
func (c *Cloud) ExhaustSubnet(id string) error {
	return c.console(func(t *tx) error {
		s := t.subnets[id]
		if s == nil {
			return fmt.Errorf("no subnet has the ID %q", id)
		}
		t.exhausted[id] = true
		for {
			if _, err := t.allocateIP(s, netip.Addr{}); err != nil {
				return nil //nolint:nilerr // the subnet is exhausted
			}
		}
	})
}

// AttachPort gives a machine a further port in a network, and returns its ID.
func (c *Cloud) AttachPort(nodeName, networkID string) (id string, err error) {
	err = c.onMachine(nodeName, func(t *tx, s *server) error {
		p, err := t.portIn(networkID, s)
		if err != nil {
			return err
		}
		p.DeviceID, p.DeviceOwner, p.Status, p.Groups = s.ID, ownerCompute+s.Zone, statusActive,
			[]string{t.defaultGroup(s.Project).ID}
		id = p.ID
		return nil
	})
	return id, err
}

// portIn makes a port for a server in a network.
func (t *tx) portIn(networkID string, s *server) (*port, error) {
	n := t.networks[networkID]
	if n == nil {
		return nil, fmt.Errorf("no network has the ID %q", networkID)
	}
	return t.newPort(s.Project, "", n, nil)
}

// AttachSubPort gives a machine's first port a sub-port in a network, of which Nova knows nothing, and returns its ID.
func (c *Cloud) AttachSubPort(nodeName, networkID string) (id string, err error) {
	err = c.onMachine(nodeName, func(t *tx, s *server) error {
		p, err := t.portIn(networkID, s)
		if err != nil {
			return err
		}
		parent := t.portsOfServer(s.ID)[0]
		if parent.Trunk == nil {
			parent.Trunk = &trunkDetails{ID: t.newID()}
		}
		p.DeviceID, p.DeviceOwner, p.Status = parent.Trunk.ID, "trunk:subport", statusActive
		parent.Trunk.SubPorts = append(parent.Trunk.SubPorts,
			subPort{Port: p.ID, MAC: p.MAC, SegmentationType: "vlan", Segmentation: 100 + len(parent.Trunk.SubPorts)})
		id = p.ID
		return nil
	})
	return id, err
}

// AttachFloatingIP gives a machine's first port a floating IP and returns the address.
func (c *Cloud) AttachFloatingIP(nodeName string) (address string, err error) {
	err = c.onMachine(nodeName, func(t *tx, s *server) error {
		f, err := t.allocate(s.Project, t.external(), "", "")
		if err == nil {
			t.attach(f, t.portsOfServer(s.ID)[0], "")
			address = f.Address
		}
		return err
	})
	return address, err
}

// SetServer changes what a machine's server shows: addresses that its owner declares, and metadata. Nil leaves as it
// is.
func (c *Cloud) SetServer(nodeName string, access4, access6 *string, metadata map[string]string) error {
	return c.onMachine(nodeName, func(t *tx, s *server) error {
		set(&s.Access4, access4)
		set(&s.Access6, access6)
		if metadata != nil {
			s.metadata = metadata
		}
		return nil
	})
}

// AddSecret makes a certificate in Barbican, in a container or by itself, and returns how listeners refer to it.
// The reference names the simulator as it is reached at base, such as http://127.0.0.1:8080.
func (c *Cloud) AddSecret(base, name string, inContainer bool) (reference string) {
	c.inspect(func(t *tx) {
		t.call.base = base
		s := &secret{object: object{ID: t.newID(), seq: t.next()}, name: name, project: t.clusterProject, kind: "opaque"}
		t.secrets[s.ID] = s
		reference = t.keyRef("secrets", s.ID)
		if inContainer {
			k := &secret{object: object{ID: t.newID(), seq: t.next()}, name: name, project: t.clusterProject,
				kind:    "certificate",
				secrets: map[string]string{"certificate": s.ID, "private_key": s.ID}}
			t.containers[k.ID] = k
			reference = t.keyRef("containers", k.ID)
		}
	})
	return reference
}

// Leaks names the objects in the cluster's project that a manager makes and that nothing uses any more: VIP ports
// without their load balancer, floating IPs that lead nowhere, security groups that no port has.
func (c *Cloud) Leaks() []string {
	var out []string
	c.inspect(func(t *tx) {
		inUse := map[string]bool{}
		for _, p := range t.ports {
			for _, g := range p.Groups {
				inUse[g] = true
			}
			if p.DeviceOwner == ownerLoadBalancer && !t.hasVIP(p.ID) {
				out = append(out, "port "+p.Name)
			}
		}
		for _, f := range t.addresses {
			if f.Port == nil && f.Project == t.clusterProject {
				out = append(out, "floating IP "+f.Address+" "+f.Description)
			}
		}
		for _, g := range t.groups {
			if g.Project == t.clusterProject && g.Name != defaultGroupName && !inUse[g.ID] {
				out = append(out, "security group "+cmp.Or(g.Name, g.ID))
			}
		}
	})
	slices.Sort(out)
	return out
}

func (t *tx) hasVIP(port string) bool {
	for _, b := range t.balancers {
		if b.VIPPort == port {
			return true
		}
	}
	return false
}
