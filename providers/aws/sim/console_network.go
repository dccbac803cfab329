package sim

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
)

// Region returns the region that is simulated.
func (c *Cloud) Region() string { return c.options.Region }

// ClusterID returns the cluster's ID in the tags of the VPC's objects and of launched instances.
func (c *Cloud) ClusterID() string { return c.options.Cluster }

// VPC returns the ID of the VPC that the cloud was built with.
func (c *Cloud) VPC() (id string) {
	c.inspect(func(t *tx) {
		if ids := sortedIDs(t.vpcs); len(ids) > 0 {
			id = ids[0]
		}
	})
	return id
}

// Interface is a further network interface for a machine.
type Interface struct {
	// Device is its index; the first interface has 0.
	Device int
	// Addresses is how many IPv4 addresses it has; 0 means one.
	Addresses int
	// IPv6 gives it an IPv6 address, and Prefix, where valid, delegates it an IPv6 prefix of size /80.
	IPv6   bool
	Prefix netip.Prefix
}

// AttachInterface gives a machine a further network interface in its subnet, and returns the ID.
func (c *Cloud) AttachInterface(nodeName string, want Interface) (id string, err error) {
	err = c.onMachine(nodeName, func(t *tx, i *instance) error {
		for _, n := range t.interfacesOf(i) {
			if n.device == want.Device {
				return fmt.Errorf("machine %q has an interface at index %d already", nodeName, want.Device)
			}
		}
		n, err := t.newInterface(t.subnets[i.subnet], want.IPv6)
		if err != nil {
			return err
		}
		for range max(want.Addresses, 1) - 1 {
			ip, _, err := t.allocateIP(t.subnets[i.subnet])
			if err != nil {
				delete(t.interfaces, n.id)
				return err
			}
			n.private = append(n.private, ip)
		}
		if want.Prefix.IsValid() {
			n.prefixes = []netip.Prefix{want.Prefix}
		}
		n.instance, n.device, n.groups = i.id, want.Device, slices.Clone(t.primary(i).groups)
		i.enis = append(i.enis, n.id)
		slices.SortFunc(i.enis, func(a, b string) int { return t.interfaces[a].device - t.interfaces[b].device })
		id = n.id
		return nil
	})
	return id, err
}

// LaunchFargate makes the network interface behind a Fargate node, which has no instance, and returns its address.
func (c *Cloud) LaunchFargate(zone string) (ip netip.Addr, err error) {
	err = c.console(func(t *tx) error {
		s, err := t.subnetFor(zone)
		if err != nil {
			return err
		}
		g, err := t.nodeGroup()
		if err != nil {
			return err
		}
		n, err := t.newInterface(s, t.o.IPv6)
		if err != nil {
			return err
		}
		n.description, n.requester, n.groups = "arn:aws:ecs:"+t.o.Region+":"+t.o.Account+":attachment/"+n.id, "578734482556",
			[]string{g.id}
		ip = n.primaryIP()
		return nil
	})
	return ip, err
}

// DelegatePrefix delegates an IPv6 prefix to the first network interface of a machine.
func (c *Cloud) DelegatePrefix(nodeName string, prefix netip.Prefix) error {
	return c.onMachine(nodeName, func(t *tx, i *instance) error {
		t.primary(i).prefixes = append(t.primary(i).prefixes, prefix)
		return nil
	})
}

// AddSubnet makes a further subnet in the VPC and returns its ID. A public one is put into the public route table;
// any other is in the main one.
func (c *Cloud) AddSubnet(
	zone string, network netip.Prefix, public bool, tags map[string]string,
) (id string, err error) {
	err = c.console(func(t *tx) error {
		if !slices.Contains(t.o.Zones, zone) {
			return fmt.Errorf("zone %q is unknown: zones are %v", zone, t.o.Zones)
		}
		for _, s := range t.subnets {
			if s.cidr.Overlaps(network) {
				return fmt.Errorf("network %s overlaps subnet %s, %s", network, s.id, s.cidr)
			}
		}
		v := t.vpcs[sortedIDs(t.vpcs)[0]]
		if !v.cidr.Overlaps(network) || network.Bits() < v.cidr.Bits() {
			return fmt.Errorf("network %s is not in the VPC, %s", network, v.cidr)
		}
		s := t.newSubnet(v, zone, network.Masked(), len(t.subnets))
		s.mapPublic = public
		t.setTags(s.id, tags)
		for _, r := range t.tables {
			if public && !r.main {
				r.subnets = append(r.subnets, s.id)
			}
		}
		id = s.id
		return nil
	})
	return id, err
}

// AddSecurityGroup makes a security group in the VPC, without rules that let anything in, and returns its ID.
func (c *Cloud) AddSecurityGroup(name string, tags map[string]string) (id string, err error) {
	err = c.console(func(t *tx) error {
		v := t.vpcs[sortedIDs(t.vpcs)[0]]
		if t.groupByName(name, v.id) != nil {
			return fmt.Errorf("a security group called %q exists", name)
		}
		id = t.newGroup(v, name, "made by hand").id
		t.setTags(id, tags)
		return nil
	})
	return id, err
}

// Subnets returns the IDs of the subnets in which public load balancers may be, or internal ones, by zone.
func (c *Cloud) Subnets(internal bool) (ids []string) {
	role := tagPublicRole
	if internal {
		role = tagInternalRole
	}
	c.inspect(func(t *tx) {
		for _, id := range sortedIDs(t.subnets) {
			if has(t.tags[id], role) {
				ids = append(ids, id)
			}
		}
		slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(t.subnets[a].zone, t.subnets[b].zone) })
	})
	return ids
}
