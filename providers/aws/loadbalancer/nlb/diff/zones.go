package diff

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// reconcileZones fits the desired zones to the existing load balancer, and allows its subnets to probe the nodes.
// The error prevents the creation of a load balancer.
func (d *differ) reconcileZones() error {
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
			want.Zones = model.KeepSubnets(b.Zones, want.Zones, want.ZoneOf)
		}
		want.Zones = model.KeepAllocations(b.Zones, want.Zones)
	}
	if b != nil {
		want.Zones = d.keepZones(b.Zones, want.Zones)
	}
	d.keepDualStack()
	var networks []netip.Prefix
	for _, z := range want.Zones {
		networks = append(networks, want.Probes[z.Subnet]...)
	}
	want.ByCIDR.Subnets = networks
	return nil
}

// byZone returns subnets by their zones. A load balancer has one in each.
func (d *differ) byZone(zones []model.Zone) map[string]model.Zone {
	byZone := map[string]model.Zone{}
	for _, z := range zones {
		byZone[d.zoneOf(z)] = z
	}
	return byZone
}

// zoneOf returns the zone of a subnet of the load balancer; the subnet if its zone is unknown.
func (d *differ) zoneOf(z model.Zone) string { return cmp.Or(d.want.ZoneOf[z.Subnet], z.Subnet) }

// keepZones replaces the desired subnets and addresses of zones that stay as they are. An address that stays in one
// zone is not moved to another: that zone stays as well. So do all zones if none would be left.
func (d *differ) keepZones(have, want []model.Zone) []model.Zone {
	existing, desired := d.byZone(have), d.byZone(want)
	kept := d.impossibleZones(existing, desired)
	for _, difference := range d.want.Kept {
		if zone, ok := strings.CutPrefix(difference.Field, fieldSubnets+" "); ok && difference.Kind == kindBalancer {
			kept[zone] = true
		}
	}
	if len(kept) == 0 {
		return want
	}
	for found := true; found; {
		found = false
		for zone, z := range desired {
			taken := func(h model.Zone) bool { return kept[d.zoneOf(h)] && h.Allocation == z.Allocation }
			if !kept[zone] && z.Allocation != "" && slices.ContainsFunc(have, taken) {
				kept[zone], found = true, true
			}
		}
	}
	zones := slices.DeleteFunc(slices.Clone(want), func(z model.Zone) bool { return kept[d.zoneOf(z)] })
	for zone := range kept {
		if z, ok := existing[zone]; ok {
			zones = append(zones, z)
		}
	}
	if len(zones) == 0 {
		return have
	}
	sorting.Func(zones, func(a, b model.Zone) int { return strings.Compare(a.Subnet, b.Subnet) })
	return zones
}

// impossibleZones returns the zones with another desired subnet than the existing one: AWS refuses to replace it, and
// no other change would be made after that.
func (d *differ) impossibleZones(existing, desired map[string]model.Zone) map[string]bool {
	impossible := map[string]bool{}
	for _, zone := range slices.Sorted(maps.Keys(desired)) {
		have, exists := existing[zone]
		want := desired[zone]
		if !exists || have.Subnet == want.Subnet {
			continue
		}
		impossible[zone] = true
		d.warnf("%s: load balancer %s keeps %s in %s, because AWS accepts no second subnet of a zone: list only subnets of "+
			"other zones for some minutes, then %s as well", annotation.KeySubnets, d.name(), have.Subnet, zone, want.Subnet)
	}
	return impossible
}

// keepDualStack keeps IPv6 on a load balancer that has it, if only UDP ports of the Service prevent it on a new
// one, or if its removal is held. AWS rejects listeners for these ports.
func (d *differ) keepDualStack() {
	b, want := d.have.Balancer, &d.want
	if b == nil || b.AddressType == want.AddressType {
		return
	}
	if !want.UDPKeepsIPv4 && !want.Keeps(kindAddressType, b.Name, fieldAddressType) {
		return
	}
	want.AddressType, want.SourceNAT = b.AddressType, b.SourceNAT
	var listeners []model.DesiredListener
	for _, l := range want.Listeners {
		if !l.Datagrams() {
			listeners = append(listeners, l)
			continue
		}
		d.keptPorts = append(d.keptPorts, l.Port)
		d.warnf("port %d/%s has no listener: load balancer %s has IPv6, and AWS sends UDP of both families to IPv6 targets "+
			"only; write IPv6 first in spec.ipFamilies, or move the port to another Service", l.Port, l.Protocol, b.Name)
	}
	want.Listeners = listeners
}
