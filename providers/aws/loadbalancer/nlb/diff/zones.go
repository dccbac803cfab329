package diff

import (
	"net/netip"

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
	d.keepDualStack()
	var networks []netip.Prefix
	for _, z := range want.Zones {
		networks = append(networks, want.Probes[z.Subnet]...)
	}
	want.ByCIDR.Subnets = networks
	return nil
}

// keepDualStack keeps IPv6 on a load balancer that has it, if only UDP ports of the Service prevent it on a new
// one. AWS rejects listeners for these ports.
func (d *differ) keepDualStack() {
	b, want := d.have.Balancer, &d.want
	if b == nil || !want.UDPKeepsIPv4 || b.AddressType == want.AddressType {
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
