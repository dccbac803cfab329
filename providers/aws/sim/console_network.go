package sim

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
)

// Region returns the region that is simulated.
func (c *Cloud) Region() string { return c.options.Region }

// ClusterID returns the cluster's ID in the tags of the VPC's objects and of launched instances.
func (c *Cloud) ClusterID() string { return c.options.Cluster }

// VPC returns the ID of the VPC that the cloud was built with.
func (c *Cloud) VPC() (id string) {
	c.inspect(func(t *tx) {
		if ids := core.SortedIDs(t.VPCs); len(ids) > 0 {
			id = ids[0]
		}
	})
	return id
}

// Interface is an additional network interface of a machine.
type Interface struct {
	// Device is the device index; the first interface of a machine has 0.
	Device int
	// Addresses is the number of its IPv4 addresses; 0 means one.
	Addresses int
	// IPv6 adds an IPv6 address, and Prefix, if valid, delegates an IPv6 prefix of size /80.
	IPv6   bool
	Prefix netip.Prefix
}

// AttachInterface creates an additional network interface of a machine in its subnet, and returns the ID.
func (c *Cloud) AttachInterface(nodeName string, want Interface) (id string, err error) {
	err = c.onMachine(nodeName, func(t *tx, i *ec2.Instance) error {
		for _, n := range t.InterfacesOf(i) {
			if n.Device == want.Device {
				return fmt.Errorf("machine %q has an interface at index %d already", nodeName, want.Device)
			}
		}
		n, err := t.NewInterface(t.Subnets[i.Subnet], want.IPv6)
		if err != nil {
			return err
		}
		for range max(want.Addresses, 1) - 1 {
			ip, _, err := t.AllocateIP(t.Subnets[i.Subnet])
			if err != nil {
				delete(t.Interfaces, n.ID)
				return err
			}
			n.Private = append(n.Private, ip)
		}
		if want.Prefix.IsValid() {
			n.Prefixes = []netip.Prefix{want.Prefix}
		}
		n.Instance, n.Device, n.Groups = i.ID, want.Device, slices.Clone(t.Primary(i).Groups)
		i.ENIs = append(i.ENIs, n.ID)
		slices.SortFunc(i.ENIs, func(a, b string) int { return t.Interfaces[a].Device - t.Interfaces[b].Device })
		id = n.ID
		return nil
	})
	return id, err
}

// LaunchFargate creates the network interface of a Fargate node, which has no instance, and returns its
// address.
func (c *Cloud) LaunchFargate(zone string) (ip netip.Addr, err error) {
	err = c.console(func(t *tx) error {
		s, err := t.SubnetFor(zone)
		if err != nil {
			return err
		}
		g, err := t.NodeGroup()
		if err != nil {
			return err
		}
		n, err := t.NewInterface(s, t.Options.IPv6)
		if err != nil {
			return err
		}
		n.Description = "arn:aws:ecs:" + t.Options.Region + ":" + t.Options.Account + ":attachment/" + n.ID
		n.Requester, n.Groups = "578734482556", []string{g.ID}
		ip = n.PrimaryIP()
		return nil
	})
	return ip, err
}

// DelegatePrefix delegates an IPv6 prefix to the first network interface of a machine.
func (c *Cloud) DelegatePrefix(nodeName string, prefix netip.Prefix) error {
	return c.onMachine(nodeName, func(t *tx, i *ec2.Instance) error {
		t.Primary(i).Prefixes = append(t.Primary(i).Prefixes, prefix)
		return nil
	})
}

// AddSubnet creates an additional subnet in the VPC and returns its ID. A public one uses the public route
// table; any other the main one.
func (c *Cloud) AddSubnet(
	zone string, network netip.Prefix, public bool, tags map[string]string,
) (id string, err error) {
	err = c.console(func(t *tx) error {
		if !slices.Contains(t.Options.Zones, zone) {
			return fmt.Errorf("zone %q is unknown: zones are %v", zone, t.Options.Zones)
		}
		for _, s := range t.Subnets {
			if s.CIDR.Overlaps(network) {
				return fmt.Errorf("network %s overlaps subnet %s, %s", network, s.ID, s.CIDR)
			}
		}
		v := t.VPCs[core.SortedIDs(t.VPCs)[0]]
		if !v.CIDR.Overlaps(network) || network.Bits() < v.CIDR.Bits() {
			return fmt.Errorf("network %s is not in the VPC, %s", network, v.CIDR)
		}
		s := t.NewSubnet(v, zone, network.Masked(), len(t.Subnets))
		s.MapPublic = public
		t.SetTags(s.ID, tags)
		for _, r := range t.Tables {
			if public && !r.Main {
				r.Subnets = append(r.Subnets, s.ID)
			}
		}
		id = s.ID
		return nil
	})
	return id, err
}

// AddSecurityGroup creates a security group in the VPC, without ingress rules, and returns its ID.
func (c *Cloud) AddSecurityGroup(name string, tags map[string]string) (id string, err error) {
	err = c.console(func(t *tx) error {
		v := t.VPCs[core.SortedIDs(t.VPCs)[0]]
		if t.GroupByName(name, v.ID) != nil {
			return fmt.Errorf("a security group called %q exists", name)
		}
		id = t.NewGroup(v.ID, name, "created by hand").ID
		t.SetTags(id, tags)
		return nil
	})
	return id, err
}

// Subnets returns the IDs of the subnets of public load balancers, or of internal ones, by zone.
func (c *Cloud) Subnets(internal bool) (ids []string) {
	role := ec2.TagPublicRole
	if internal {
		role = ec2.TagInternalRole
	}
	c.inspect(func(t *tx) {
		for _, id := range core.SortedIDs(t.Subnets) {
			if core.Has(t.Tags[id], role) {
				ids = append(ids, id)
			}
		}
		slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(t.Subnets[a].Zone, t.Subnets[b].Zone) })
	})
	return ids
}
