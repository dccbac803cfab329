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
		PortID: b.options.PortID,
	}
	if lb.PortID != "" {
		lb.Explicit.Port = true
	} else {
		b.place(&lb)
	}
	lb.FlavorID, lb.Explicit.Flavor = first(b.options.FlavorID, b.settings.FlavorID)
	if lb.FlavorID != "" && !f.Flavors() {
		b.unsupported(lb.Explicit.Flavor, annotation.KeyFlavorID, lb.FlavorID)
		lb.FlavorID, lb.Explicit.Flavor = "", false
	}
	lb.Zone, lb.Explicit.Zone = first(b.options.AvailabilityZone, b.settings.AvailabilityZone)
	if lb.Zone != "" && !f.Zones() {
		if lb.Explicit.Zone {
			b.warnAs(events.LoadBalancerAvailabilityZonesIgnored, "%s",
				b.unsupportedText(annotation.KeyAvailabilityZone, lb.Zone))
		}
		lb.Zone, lb.Explicit.Zone = "", false
	}
	if lb.FlavorID != "" && !lb.Explicit.Flavor {
		lb.From.Flavor = InConfiguration("flavor-id")
	}
	if lb.Zone != "" && !lb.Explicit.Zone {
		lb.From.Zone = InConfiguration("availability-zone")
	}
	lb.Address = b.vipAddress()
	lb.Explicit.Address = lb.Address != ""
	if f.Tags() {
		lb.Tags = b.options.LoadBalancerTags
	}
	return lb
}

// overrule replaces a value by the class's, if the class sets it.
func overrule(class string, value *string, explicit *bool) {
	if class != "" {
		*value, *explicit = class, false
	}
}

// placedByClass records which settings of the place come from the Service's class.
func (b *builder) placedByClass(lb *LoadBalancer) {
	class := annotation.KeyClass + " " + intent.Quote(b.options.Class)
	if lb.SubnetID != "" && lb.SubnetID == b.class.SubnetID && !lb.Explicit.Subnet {
		lb.From.Subnet = class
	}
	if lb.NetworkID != "" && lb.NetworkID == b.class.NetworkID && !lb.Explicit.Network {
		lb.From.Network = class
	}
}

// place finds subnet and network. The Service's override those of its class, except for an external load
// balancer, which has always used the class's.
func (b *builder) place(lb *LoadBalancer) {
	p := b.options.Place
	lb.SubnetID, lb.Explicit.Subnet = cmp.Or(p.SubnetID, b.class.SubnetID, b.settings.SubnetID), p.SubnetID != ""
	lb.NetworkID, lb.Explicit.Network = cmp.Or(p.NetworkID, b.class.NetworkID, b.settings.NetworkID), p.NetworkID != ""
	if !b.internal {
		overrule(b.class.SubnetID, &lb.SubnetID, &lb.Explicit.Subnet)
		overrule(b.class.NetworkID, &lb.NetworkID, &lb.Explicit.Network)
	}
	// A network of the Service or its class must not be combined with the configured subnet, nor their subnet
	// with the configured network.
	if b.class.SubnetID == "" && p.SubnetID == "" && (lb.Explicit.Network || b.class.NetworkID != "") {
		lb.SubnetID = ""
	}
	if b.class.NetworkID == "" && p.NetworkID == "" && lb.SubnetID != "" && lb.SubnetID != b.settings.SubnetID {
		lb.NetworkID = ""
	}
	b.placedByClass(lb)
	if lb.SubnetID != "" || lb.NetworkID != "" {
		return
	}
	if lb.SubnetID = b.shared.NodeSubnets[b.in.Families[0]]; lb.SubnetID == "" {
		b.problems.Addf(annotation.KeySubnetID, "", "no subnet is set for the load balancer's address, and no node has a "+
			"port with an %s address: set the annotation, or subnet-id in section [LoadBalancer] of the configuration",
			b.in.Families[0])
	}
}

// vipAddress returns the address of the load balancer itself that the Service requests.
func (b *builder) vipAddress() string {
	for _, text := range b.options.StaticAddresses {
		family := FamilyOf(text)
		if family == "" {
			b.problems.Add(intent.KeyStaticAddresses, text, "write an IP address")
			continue
		}
		if family == b.in.Families[0] && (b.internal || family == v1.IPv6Protocol) {
			return text
		}
	}
	return ""
}

// memberSubnet returns the subnet from which members are reached. The configured subnet of addresses replaces
// an unset configured one of members, before the Service's own.
func (b *builder) memberSubnet(lb LoadBalancer) MemberSubnet {
	own := b.options.Place.MemberSubnetID
	subnet := cmp.Or(own, b.class.MemberSubnetID, b.settings.MemberSubnetID, b.settings.SubnetID, lb.SubnetID)
	switch {
	case own != "":
		return MemberSubnet{ID: subnet, From: annotation.KeyMemberSubnetID, Explicit: true}
	case subnet == b.class.MemberSubnetID && subnet != "":
		return MemberSubnet{ID: subnet, From: annotation.KeyClass + " " + intent.Quote(b.options.Class), Explicit: true}
	}
	return MemberSubnet{ID: subnet, From: InConfiguration("member-subnet-id")}
}
