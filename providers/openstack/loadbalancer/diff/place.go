package diff

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
)

// immutableFieldNames are the names of the fields of immutableDifferences in messages.
var immutableFieldNames = map[string]string{
	fieldPort: "port", fieldSubnet: "subnet", fieldNetwork: "network", fieldFlavor: "flavor",
	fieldZone: "availability zone", fieldAddress: "address",
}

// immutableDifference describes a setting that differs and cannot change in place, or returns "".
func (d *differ) immutableDifference(lb api.LoadBalancer) string {
	differences := d.immutableDifferences(lb)
	if len(differences) == 0 {
		return ""
	}
	f, consequence := differences[0], ""
	if f.Name == fieldAddress {
		consequence = ": clients have to follow"
	}
	return fmt.Sprintf("the %s changes from %s to %s, which no load balancer can do in place%s",
		immutableFieldNames[f.Name], f.Before, f.After, consequence)
}

// immutableDifferences returns the settings of the Service that differ and cannot change in place.
func (d *differ) immutableDifferences(lb api.LoadBalancer) plan.Fields {
	var f plan.Fields
	want := d.want.LoadBalancer
	for _, c := range []struct {
		explicit         bool
		name, have, want string
	}{
		{want.Explicit.Port, fieldPort, lb.VipPortID, want.PortID},
		{want.Explicit.Subnet && !want.IsPlacedAt(lb.VipSubnetID), fieldSubnet, lb.VipSubnetID, want.SubnetID},
		{want.Explicit.Network, fieldNetwork, lb.VipNetworkID, want.NetworkID},
		{want.Explicit.Flavor, fieldFlavor, lb.FlavorID, want.FlavorID},
		{want.Explicit.Zone, fieldZone, lb.AvailabilityZone, want.Zone},
		{want.Explicit.Address && !model.SameIP(lb.VipAddress, want.Address), fieldAddress, lb.VipAddress, want.Address},
	} {
		if c.explicit && c.want != "" {
			f.Diff(c.name, c.have, c.want)
		}
	}
	return f
}

// keepPlace replaces the wanted place of the load balancer by the existing one, as far as it stays.
func (d *differ) keepPlace() error {
	lb := d.have.LoadBalancer
	if lb == nil || lb.ProvisioningStatus == api.Error {
		return nil
	}
	kept := map[string]bool{}
	for _, f := range d.immutableDifferences(*lb) {
		kept[f.Name] = d.keeps(kindLoadBalancer, lb.Name, f.Name)
	}
	if !slices.Contains(slices.Collect(maps.Values(kept)), true) {
		return nil
	}
	if !d.canPlace(*lb, kept) {
		for name := range kept {
			kept[name] = true
		}
	}
	d.configured = d.configured.WithPlace(keptPlace(*lb, kept))
	var err error
	d.want, err = d.configured.For(lb, d.have.Subnets)
	return err
}

// keptPlace returns the part of the place of a load balancer that stays.
func keptPlace(lb api.LoadBalancer, kept map[string]bool) model.KeptPlace {
	place := model.KeptPlace{Port: kept[fieldPort]}
	if kept[fieldSubnet] || kept[fieldPort] || kept[fieldAddress] {
		place.SubnetID = lb.VipSubnetID
	}
	if kept[fieldNetwork] {
		place.NetworkID = lb.VipNetworkID
	}
	if kept[fieldAddress] {
		place.Address = lb.VipAddress
	}
	if kept[fieldFlavor] {
		place.FlavorID = &lb.FlavorID
	}
	if kept[fieldZone] {
		place.Zone = &lb.AvailabilityZone
	}
	return place
}

// canPlace reports whether another load balancer can have a part of the place of this one, which kept has as true, and
// the wanted values of the others. The port of a load balancer is deleted with it.
func (d *differ) canPlace(lb api.LoadBalancer, kept map[string]bool) bool {
	moves := filter([]string{fieldPort, fieldSubnet, fieldNetwork, fieldAddress}, func(name string) bool {
		value, differs := kept[name]
		return differs && !value
	})
	want := d.want.LoadBalancer
	switch {
	case kept[fieldPort]:
		return false
	case len(moves) == 0, !kept[fieldAddress] && !kept[fieldSubnet] && !kept[fieldNetwork]:
		return true
	case kept[fieldAddress], moves[0] == fieldPort:
		return false
	case kept[fieldSubnet]:
		return moves[0] == fieldAddress && d.subnetHas(lb.VipSubnetID, want.Address)
	case moves[0] == fieldSubnet:
		return d.have.Subnets[want.SubnetID].NetworkID == lb.VipNetworkID
	default:
		return d.subnetHas(lb.VipSubnetID, want.Address)
	}
}

// subnetHas reports whether a subnet of the project certainly has an address.
func (d *differ) subnetHas(subnet, address string) bool {
	prefix, err := netip.ParsePrefix(d.have.Subnets[subnet].CIDR)
	parsed, invalid := netip.ParseAddr(address)
	return err == nil && invalid == nil && prefix.Contains(parsed)
}
