package nlb

import (
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// fitZones fits the desired zones to the load balancer that exists, and lets its subnets probe the nodes. The error
// prevents the creation of a load balancer.
func (d *differ) fitZones() error {
	b, want := d.have.Balancer, &d.want
	switch {
	case b == nil:
		if want.Invalid != nil {
			return want.Invalid
		}
	case want.Invalid != nil:
		d.warnf("load balancer %s keeps its subnets and addresses: %v", b.Name, want.Invalid)
		want.Zones, want.AddressType, want.SourceNAT = b.Zones, b.AddressType, b.SourceNAT
	case b.Scheme != want.Scheme || !want.Listed && !want.Addressed:
		want.Zones = b.Zones
	default:
		if !want.Listed {
			want.Zones = inSubnetsOf(b.Zones, want.Zones, want.ZoneOf)
		}
		want.Zones = keepAllocations(b.Zones, want.Zones)
	}
	var networks []netip.Prefix
	for _, z := range want.Zones {
		networks = append(networks, want.Probes[z.Subnet]...)
	}
	want.ByCIDR.Subnets = networks
	return nil
}

// inSubnetsOf replaces the discovered subnets of zones in which the load balancer has one already.
func inSubnetsOf(have, want []Zone, zoneOf map[string]string) []Zone {
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

// keepAllocations leaves the Elastic IPs that are desired where they are: AWS does not move an Elastic IP that is in
// use, and today's manager matched them with subnets in another order. The others follow the order of the subnets.
func keepAllocations(have, want []Zone) []Zone {
	at := map[string]string{}
	for _, z := range have {
		at[z.Subnet] = z.Allocation
	}
	var rest []string
	for _, z := range want {
		rest = append(rest, z.Allocation)
	}
	zones := slices.Clone(want)
	var open []int
	for i, z := range zones {
		if kept := slices.Index(rest, at[z.Subnet]); kept >= 0 {
			zones[i].Allocation = at[z.Subnet]
			rest = slices.Delete(rest, kept, kept+1)
		} else {
			open = append(open, i)
		}
	}
	for n, i := range open {
		zones[i].Allocation = rest[n]
	}
	return zones
}

// sameZones compares subnets, and addresses as far as the user chose them.
func sameZones(have, want []Zone) bool {
	subnets := func(zones []Zone) string {
		ids := make([]string, len(zones))
		for i, z := range zones {
			ids[i] = z.Subnet
		}
		return plan.ShowSet(ids)
	}
	if subnets(have) != subnets(want) {
		return false
	}
	in := map[string]Zone{}
	for _, z := range have {
		in[z.Subnet] = z
	}
	return !slices.ContainsFunc(want, func(z Zone) bool {
		h := in[z.Subnet]
		return differs(h.Allocation, z.Allocation) || differs(h.PrivateIPv4, z.PrivateIPv4) || differs(h.IPv6, z.IPv6)
	})
}

// differs reports whether a desired value, if there is one, is not what exists.
func differs(have, want string) bool { return want != "" && have != want }
