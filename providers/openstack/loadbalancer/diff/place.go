package diff

import (
	"maps"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
)

// immutableDifference describes a setting that differs and cannot change in place, or returns "".
func (d *differ) immutableDifference(lb api.LoadBalancer) string {
	differences := d.immutableDifferences(lb)
	if len(differences) == 0 {
		return ""
	}
	return kinds.ReplacementReason(differences[0])
}

// immutableDifferences returns the settings of the Service that differ and cannot change in place.
func (d *differ) immutableDifferences(lb api.LoadBalancer) plan.Fields {
	return d.placeReplacement(lb).Fields
}

// placeReplacement returns the deletion of a load balancer that cannot get the place that the Service requests, with
// these fields.
func (d *differ) placeReplacement(lb api.LoadBalancer) plan.Change {
	have := kinds.LoadBalancer{
		Object: lb.Name, Port: lb.VipPortID, Subnet: lb.VipSubnetID, Network: lb.VipNetworkID, Flavor: lb.FlavorID,
		Zone: lb.AvailabilityZone, Address: lb.VipAddress,
	}
	want, place := have, d.want.LoadBalancer
	for _, c := range []struct {
		explicit bool
		field    *string
		want     string
	}{
		{place.Explicit.Port, &want.Port, place.PortID},
		{place.Explicit.Subnet && !place.IsPlacedAt(lb.VipSubnetID), &want.Subnet, place.SubnetID},
		{place.Explicit.Network, &want.Network, place.NetworkID},
		{place.Explicit.Flavor, &want.Flavor, place.FlavorID},
		{place.Explicit.Zone, &want.Zone, place.Zone},
		{place.Explicit.Address && !model.SameIP(lb.VipAddress, place.Address), &want.Address, place.Address},
	} {
		if c.explicit && c.want != "" {
			*c.field = c.want
		}
	}
	change, _ := kinds.LoadBalancers.Replace(&have, &want)
	return change
}

// creationPlace returns the place of a new load balancer. One that replaces another one gets its address, unless the
// Service requests another place.
func (d *differ) creationPlace() model.LoadBalancer {
	place := d.want.LoadBalancer
	if d.keepsAddress() {
		if place.SubnetID != d.replaced.VipSubnetID {
			place.NamedSubnetID = ""
		}
		place.Address, place.SubnetID, place.NetworkID = d.replaced.VipAddress, d.replaced.VipSubnetID, ""
	}
	return place
}

// keepsAddress reports whether a new load balancer gets the address of the one that it replaces. If another client has
// it by then, the next plan, which replaces nothing, requests any.
func (d *differ) keepsAddress() bool {
	old, place := d.replaced, d.want.LoadBalancer
	if old == nil || place.PortID != "" || place.Address != "" || old.VipSubnetID == "" ||
		model.FamilyOf(old.VipAddress) != d.want.Families[0] {
		return false
	}
	return !slices.ContainsFunc(d.immutableDifferences(*old),
		func(f plan.Field) bool { return f.Name != kinds.FieldFlavor && f.Name != kinds.FieldZone })
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
	place := model.KeptPlace{Port: kept[kinds.FieldPort]}
	if kept[kinds.FieldSubnet] || kept[kinds.FieldPort] || kept[kinds.FieldAddress] {
		place.SubnetID = lb.VipSubnetID
	}
	if kept[kinds.FieldNetwork] {
		place.NetworkID = lb.VipNetworkID
	}
	if kept[kinds.FieldAddress] {
		place.Address = lb.VipAddress
	}
	if kept[kinds.FieldFlavor] {
		place.FlavorID = &lb.FlavorID
	}
	if kept[kinds.FieldZone] {
		place.Zone = &lb.AvailabilityZone
	}
	return place
}

// canPlace reports whether another load balancer can have a part of the place of this one, which kept has as true, and
// the wanted values of the others. The port of a load balancer is deleted with it.
func (d *differ) canPlace(lb api.LoadBalancer, kept map[string]bool) bool {
	names := []string{kinds.FieldPort, kinds.FieldSubnet, kinds.FieldNetwork, kinds.FieldAddress}
	moves := filter(names, func(name string) bool {
		value, differs := kept[name]
		return differs && !value
	})
	want := d.want.LoadBalancer
	switch {
	case kept[kinds.FieldPort]:
		return false
	case len(moves) == 0, !kept[kinds.FieldAddress] && !kept[kinds.FieldSubnet] && !kept[kinds.FieldNetwork]:
		return true
	case kept[kinds.FieldAddress], moves[0] == kinds.FieldPort:
		return false
	case kept[kinds.FieldSubnet]:
		return moves[0] == kinds.FieldAddress && model.IsInSubnet(d.have.Subnets[lb.VipSubnetID], want.Address)
	case moves[0] == kinds.FieldSubnet:
		return d.have.Subnets[want.SubnetID].NetworkID == lb.VipNetworkID
	default:
		return model.IsInSubnet(d.have.Subnets[lb.VipSubnetID], want.Address)
	}
}
