package nlb

import (
	"net/netip"

	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
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
			want.Zones = model.InSubnetsOf(b.Zones, want.Zones, want.ZoneOf)
		}
		want.Zones = model.KeepAllocations(b.Zones, want.Zones)
	}
	var networks []netip.Prefix
	for _, z := range want.Zones {
		networks = append(networks, want.Probes[z.Subnet]...)
	}
	want.ByCIDR.Subnets = networks
	return nil
}
