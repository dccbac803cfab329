package model

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// loadBalancer computes the place and settings of a new load balancer.
func (b *builder) loadBalancer() LoadBalancer {
	f := b.shared.Features
	lb := LoadBalancer{
		Description: names.LoadBalancerDescription(b.key.ClusterName, b.service()), Provider: b.settings.Provider,
	}
	if !b.kept.Port {
		lb.PortID = b.options.PortID
	}
	if lb.PortID != "" {
		lb.Explicit.Port = true
	} else {
		b.place(&lb)
	}
	lb.Address = cmp.Or(b.kept.Address, b.vipAddress())
	lb.Explicit.Address = lb.Address != ""
	if lb.PortID == "" {
		b.placeInFamily(&lb)
		b.checkAddress(lb)
	}
	lb.FlavorID, lb.Explicit.Flavor = optionOr(cmp.Or(b.kept.FlavorID, b.options.FlavorID), b.settings.FlavorID)
	if lb.FlavorID != "" && !f.Flavors() {
		b.warnUnsupported(lb.Explicit.Flavor, annotation.KeyFlavorID, lb.FlavorID)
		lb.FlavorID, lb.Explicit.Flavor = "", false
	}
	zone := cmp.Or(b.kept.Zone, b.options.AvailabilityZone)
	lb.Zone, lb.Explicit.Zone = optionOr(zone, b.settings.AvailabilityZone)
	if lb.Zone != "" && !f.Zones() {
		if lb.Explicit.Zone {
			b.warnWithReason(events.LoadBalancerAvailabilityZonesIgnored, "%s",
				b.unsupportedText(annotation.KeyAvailabilityZone, lb.Zone))
		}
		lb.Zone, lb.Explicit.Zone = "", false
	}
	if lb.FlavorID != "" && !lb.Explicit.Flavor {
		lb.Source.Flavor = InConfiguration("flavor-id")
	}
	if lb.Zone != "" && !lb.Explicit.Zone {
		lb.Source.Zone = InConfiguration("availability-zone")
	}
	if f.Tags() {
		lb.Tags = b.options.LoadBalancerTags
	}
	return lb
}

// overrideByClass replaces a setting by that of the class, if the class sets it.
func overrideByClass(class string, value *string, explicit *bool) {
	if class != "" {
		*value, *explicit = class, false
	}
}

// recordClass records which settings of the place come from the Service's class.
func (b *builder) recordClass(lb *LoadBalancer) {
	class := annotation.KeyClass + " " + intent.Quote(b.options.Class)
	if lb.SubnetID != "" && lb.SubnetID == b.class.SubnetID && !lb.Explicit.Subnet {
		lb.Source.Subnet = class
	}
	if lb.NetworkID != "" && lb.NetworkID == b.class.NetworkID && !lb.Explicit.Network {
		lb.Source.Network = class
	}
}

// place finds subnet and network. The Service's override those of its class, except for an external load
// balancer, which has always used the class's.
func (b *builder) place(lb *LoadBalancer) {
	p := b.options.Place
	lb.SubnetID, lb.Explicit.Subnet = cmp.Or(p.SubnetID, b.class.SubnetID, b.settings.SubnetID), p.SubnetID != ""
	lb.NetworkID, lb.Explicit.Network = cmp.Or(p.NetworkID, b.class.NetworkID, b.settings.NetworkID), p.NetworkID != ""
	if !b.internal {
		overrideByClass(b.class.SubnetID, &lb.SubnetID, &lb.Explicit.Subnet)
		overrideByClass(b.class.NetworkID, &lb.NetworkID, &lb.Explicit.Network)
	}
	// A network of the Service or its class must not be combined with the configured subnet, nor their subnet
	// with the configured network.
	if b.class.SubnetID == "" && p.SubnetID == "" && (lb.Explicit.Network || b.class.NetworkID != "") {
		lb.SubnetID = ""
	}
	if b.class.NetworkID == "" && p.NetworkID == "" && lb.SubnetID != "" && lb.SubnetID != b.settings.SubnetID {
		lb.NetworkID = ""
	}
	b.recordClass(lb)
	b.keepNetwork(lb)
	if lb.SubnetID != "" || lb.NetworkID != "" {
		return
	}
	lb.inNodeSubnet = true
	if lb.SubnetID = b.shared.NodeSubnets[b.in.Families[0]]; lb.SubnetID == "" && lb.PortID == "" {
		b.problems.Addf(annotation.KeySubnetID, "", "no subnet is set for the load balancer's address, and no node has a "+
			"port with an %s address: set the annotation, or subnet-id in section [LoadBalancer] of the configuration",
			b.in.Families[0])
	}
}

// keepNetwork sets the subnet and the network that an existing load balancer keeps.
func (b *builder) keepNetwork(lb *LoadBalancer) {
	if b.kept.SubnetID != "" {
		lb.SubnetID, lb.NetworkID, lb.Source.Subnet, lb.Source.Network = b.kept.SubnetID, "", "", ""
		lb.Explicit.Subnet, lb.Explicit.Network = true, false
	}
	if b.kept.NetworkID != "" {
		lb.NetworkID, lb.Explicit.Network, lb.Source.Network = b.kept.NetworkID, true, ""
	}
}

// vipAddress returns the address of the load balancer itself that the Service requests.
func (b *builder) vipAddress() string {
	for _, address := range b.options.StaticAddresses {
		family := FamilyOf(address)
		if family == "" {
			b.problems.Add(intent.KeyStaticAddresses, address, "write an IP address")
			continue
		}
		if family == b.in.Families[0] && (b.internal || family == v1.IPv6Protocol) {
			return address
		}
	}
	return ""
}

// checkAddress adds the problem that the address that the Service chooses is not in the subnet of the load balancer, as
// far as the subnets are known: a load balancer that exists would be deleted before Octavia rejects the new one.
func (b *builder) checkAddress(lb LoadBalancer) {
	subnet := b.subnets[lb.SubnetID]
	if !IsOutside(subnet, lb.Address) {
		return
	}
	b.creation.Addf(intent.KeyStaticAddresses, lb.Address, "the load balancer's own address is one of its subnet %s, "+
		"which is %s: choose an address there, or name another subnet in %s; a floating IP is the address of an external "+
		"load balancer only", subnet.ID, subnet.CIDR, annotation.KeySubnetID)
}

// memberSubnet returns the subnet from which members are reached. The configured subnet of addresses replaces
// an unset configured one of members, before the Service's own. The subnet of a port is not that of the nodes: members
// of a load balancer with a port of its own are reached from the subnet that its address would have without it, or from
// that of the nodes. Without a subnet, amphorae have no interface to the nodes, and the provider ovn rejects members
// outside the subnet of the address.
func (b *builder) memberSubnet(lb LoadBalancer) MemberSubnet {
	explicit := b.options.Place.MemberSubnetID
	if lb.PortID != "" {
		b.place(&lb)
		lb.SubnetID = cmp.Or(lb.SubnetID, b.shared.NodeSubnets[b.in.Families[0]])
	}
	configured := b.settings.SubnetID
	if configured == lb.NamedSubnetID {
		configured = lb.SubnetID // the one of the Service's family
	}
	subnet := cmp.Or(explicit, b.class.MemberSubnetID, b.settings.MemberSubnetID, configured, lb.SubnetID)
	switch {
	case explicit != "":
		return MemberSubnet{ID: subnet, Source: annotation.KeyMemberSubnetID, Explicit: true}
	case subnet == b.class.MemberSubnetID && subnet != "":
		return MemberSubnet{ID: subnet, Source: annotation.KeyClass + " " + intent.Quote(b.options.Class), Explicit: true}
	}
	return MemberSubnet{ID: subnet, Source: InConfiguration("member-subnet-id")}
}
