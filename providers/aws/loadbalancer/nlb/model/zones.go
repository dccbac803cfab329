package model

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// addressed reports whether the user chose addresses.
func (b *builder) addressed() bool {
	o := b.Options
	return len(o.Allocations)+len(o.PrivateIPv4)+len(o.IPv6) > 0
}

// zones selects subnets and matches addresses with them by position.
func (b *builder) zones() ([]Zone, error) {
	o := b.Options
	request := vpc.Request{Scheme: intent.Public, IDsOrNames: o.Subnets,
		Annotation: o.Sources.FieldOf(annotation.KeySubnets)}
	if o.Internal {
		request.Scheme = intent.Internal
	}
	subnets, err := vpc.Select(b.Shared, request)
	if err != nil {
		return nil, err
	}
	b.dual = b.dualStack(subnets)
	zones := make([]Zone, len(subnets))
	for i, s := range subnets {
		zones[i].Subnet = s.ID
	}
	b.matchAddresses(annotation.KeyAllocations, o.Allocations, subnets, func(i int, v string) { zones[i].Allocation = v })
	b.matchAddresses(annotation.KeyPrivateIPv4, o.PrivateIPv4, subnets, func(i int, v string) {
		if addr, err := netip.ParseAddr(v); err == nil && !subnets[i].CIDR4.Contains(addr) {
			b.creation.Addf(annotation.KeyPrivateIPv4, v, "it is not in %s, the network of subnet %s at the same "+
				"position: write an address of that network", subnets[i].CIDR4, subnets[i])
		}
		zones[i].PrivateIPv4 = v
	})
	b.matchAddresses(annotation.KeyIPv6, o.IPv6, subnets, func(i int, v string) {
		if addr, err := netip.ParseAddr(v); err == nil && !contains(subnets[i].CIDR6, addr) {
			b.creation.Addf(annotation.KeyIPv6, v, "it is in no IPv6 network of subnet %s at the same position: "+
				"write an address of one", subnets[i])
		}
		zones[i].IPv6 = v
	})
	b.checkAddresses()
	return zones, nil
}

// checkAddresses refuses addresses that a new load balancer cannot have. One that exists keeps its own.
func (b *builder) checkAddresses() {
	o := b.Options
	if len(o.Allocations) > 0 && o.Internal {
		b.creation.Add(annotation.KeyAllocations, strings.Join(o.Allocations, ","),
			"an internal load balancer has no Elastic IPs: remove it, or "+annotation.KeyInternal)
	}
	if len(o.PrivateIPv4) > 0 && !o.Internal {
		b.creation.Add(annotation.KeyPrivateIPv4, strings.Join(o.PrivateIPv4, ","),
			"only an internal load balancer accepts private addresses: set "+annotation.KeyInternal+" as well, or remove it")
	}
	if len(o.IPv6) > 0 && !b.dual {
		b.problems.Add(annotation.KeyIPv6, strings.Join(o.IPv6, ","),
			"the load balancer has no IPv6: add IPv6 to spec.ipFamilies and to the subnets, or remove it")
	}
}

// matchAddresses calls set for each subnet with the value at the same position.
func (b *builder) matchAddresses(key string, values []string, subnets []vpc.Subnet, set func(i int, value string)) {
	if len(values) == 0 {
		return
	}
	if len(values) != len(subnets) {
		// Another zone, or edited subnets, must not refuse a load balancer that exists.
		b.creation.Addf(key, strings.Join(values, ","), "%d for %d subnets (%s): list one for each subnet in that "+
			"order, and the subnets in %s",
			len(values), len(subnets), strings.Join(vpc.SubnetIDs(subnets), ", "), annotation.KeySubnets)
		return
	}
	for i, v := range values {
		set(i, v)
	}
}

// dualStack reports whether the load balancer gets both families. A Service with IPv6 as its second family
// gets IPv4 only if the VPC, or its own source ranges, do not allow IPv6.
func (b *builder) dualStack(subnets []vpc.Subnet) bool {
	families := b.Service.Families
	if !slices.Contains(families, v1.IPv6Protocol) {
		return false
	}
	obstacle := b.dualStackObstacle(subnets)
	if obstacle == "" {
		return true
	}
	if families[0] == v1.IPv4Protocol {
		b.warnf("spec.ipFamilies: the load balancer has IPv4 only, because %s", obstacle)
		return false
	}
	b.creation.Add("spec.ipFamilies", string(families[0]), "the load balancer cannot have IPv6, because "+obstacle)
	b.noIPv6 = true
	return false
}

// dualStackObstacle returns why the load balancer cannot have both families, or "".
func (b *builder) dualStackObstacle(subnets []vpc.Subnet) string {
	for _, s := range subnets {
		if len(s.CIDR6) == 0 {
			return fmt.Sprintf("subnet %s has no IPv6 network: give it one, or list other subnets in %s", s,
				annotation.KeySubnets)
		}
	}
	if b.targetFamily() == AddressIPv4 && slices.ContainsFunc(b.Service.Ports, func(p intent.Port) bool {
		return p.Protocol == v1.ProtocolUDP
	}) {
		b.udpKeepsIPv4 = true
		return "AWS sends UDP of both families to IPv6 targets only: write IPv6 first in spec.ipFamilies, or move the UDP " +
			"ports to another Service"
	}
	// A packet of the other family reaches nodes under the load balancer's address, so no rule on nodes could
	// identify its sender.
	if b.Service.Restricts() && !b.settings.Managed {
		return "without security groups of its own it could not restrict who connects over both families: set " +
			"NLBSecurityGroupMode=Managed in the cloud configuration"
	}
	return ""
}

func contains(networks []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// KeepSubnets replaces the discovered subnets of zones in which the load balancer already has one.
func KeepSubnets(have, want []Zone, zoneOf map[string]string) []Zone {
	subnets := map[string]string{}
	for _, z := range have {
		subnets[zoneOf[z.Subnet]] = z.Subnet
	}
	zones := slices.Clone(want)
	for i, z := range zones {
		if subnet, ok := subnets[zoneOf[z.Subnet]]; ok {
			zones[i].Subnet = subnet
		}
	}
	return zones
}

// KeepAllocations keeps desired Elastic IPs in their subnets: AWS does not move an Elastic IP that is in use,
// and cloud-provider-aws matched them with subnets in another order. It assigns the others in the order of the
// subnets.
func KeepAllocations(have, want []Zone) []Zone {
	allocations := map[string]string{}
	for _, z := range have {
		allocations[z.Subnet] = z.Allocation
	}
	var unused []string
	for _, z := range want {
		unused = append(unused, z.Allocation)
	}
	zones := slices.Clone(want)
	var unassigned []int
	for i, z := range zones {
		if kept := slices.Index(unused, allocations[z.Subnet]); kept >= 0 {
			zones[i].Allocation = allocations[z.Subnet]
			unused = slices.Delete(unused, kept, kept+1)
		} else {
			unassigned = append(unassigned, i)
		}
	}
	for n, i := range unassigned {
		zones[i].Allocation = unused[n]
	}
	return zones
}

// Subnets returns the IDs of the subnets of zones.
func Subnets(zones []Zone) []string {
	return api.Convert(zones, func(z Zone) string { return z.Subnet })
}

// SameZone compares subnets, and addresses that the user chose.
func SameZone(have, want Zone) bool {
	return have.Subnet == want.Subnet && !differs(have.Allocation, want.Allocation) &&
		!differs(have.PrivateIPv4, want.PrivateIPv4) && !differs(have.IPv6, want.IPv6)
}

// differs reports whether a desired value is set and differs from the existing one.
func differs(have, want string) bool { return want != "" && have != want }
