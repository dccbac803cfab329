package diff

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// balancerCreate returns the change that creates the load balancer.
func (d *differ) balancerCreate(groups []vpc.GroupRef, after []plan.Ref) plan.Change {
	var f plan.Fields
	f.Diff("scheme", "", d.want.Scheme)
	f.Diff(fieldAddressType, "", d.want.AddressType)
	f.Diff(fieldSubnets, "", showZones(d.want.Zones))
	f.Diff("securityGroups", "", showGroups(groups))
	f.Diff("tags", "", plan.ShowMap(d.want.Tags))
	return plan.Change{
		Ref: plan.Ref{Kind: kindBalancer, Name: d.name(), Action: plan.Create}, Fields: f, After: after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			groupIDs, err := vpc.ResolveGroups(groups, ids)
			if err != nil {
				return err
			}
			arn, err := d.Write.CreateBalancer(ctx, d.want, d.creationTags, groupIDs)
			if err == nil {
				ids.Set(balancerHandle, arn)
			}
			return err
		},
	}
}

// balancerUpdate plans the changes of an existing load balancer. It returns the changes that target groups and
// listeners need.
func (d *differ) balancerUpdate(groups []vpc.GroupRef, after []plan.Ref) (base []plan.Ref) {
	b := *d.have.Balancer
	if failure := model.Failure(d.have); failure != "" {
		d.warnf("load balancer %s %s", b.Name, failure)
	}
	if b.Scheme != d.want.Scheme {
		d.warnf("load balancer %s is %s, and AWS cannot make it %s: delete the Service and create it again", b.Name,
			b.Scheme, d.want.Scheme)
	}
	if b.Name != d.want.Name && d.want.Name != model.DefaultName(d.key) {
		d.warnf("load balancer %s was created with that name, which cannot become %s: delete the Service and create it "+
			"again", b.Name, d.want.Name)
	}
	if change, ok := d.addressUpdate(b); ok {
		d.add(change)
		d.order = append(d.order, change.Ref)
		if f := plan.Fields(change.Fields); f.Has(fieldAddressType) || f.Has(fieldSourceNAT) {
			base = append(base, change.Ref) // for IPv6 target groups, and listeners for UDP
		}
	}
	d.groupsUpdate(b, groups, after)
	if change, ok := d.attributesUpdate(); ok {
		d.add(change)
	}
	return base
}

// addsIPv6 reports whether the load balancer gets IPv6 now.
func (d *differ) addsIPv6(b model.Balancer) bool {
	return d.want.AddressType == string(types.IpAddressTypeDualstack) && b.AddressType != d.want.AddressType
}

// zoneFields returns the differences of subnets and chosen addresses: a field for each zone.
func (d *differ) zoneFields(b model.Balancer) plan.Fields {
	have, want := d.byZone(b.Zones), d.byZone(d.want.Zones)
	zones := slices.Sorted(maps.Keys(have))
	for zone := range want {
		if _, ok := have[zone]; !ok {
			zones = append(zones, zone)
		}
	}
	slices.Sort(zones)
	var f plan.Fields
	for _, zone := range zones {
		if h, w := have[zone], want[zone]; !model.SameZone(h, w) {
			f.Diff(fieldSubnets+" "+zone, showZone(h), showZone(w))
		}
	}
	return f
}

// addressUpdate returns the change of subnets, addresses and, to IPv6, the address type, if they differ.
func (d *differ) addressUpdate(b model.Balancer) (plan.Change, bool) {
	f := d.zoneFields(b)
	zones, moved := b.Zones, len(f) > 0
	if moved {
		zones = d.want.Zones
	}
	addsIPv6 := d.addsIPv6(b) && f.Diff(fieldAddressType, b.AddressType, d.want.AddressType)
	nat := d.want.SourceNAT && !b.SourceNAT && f.Diff(fieldSourceNAT, "off", "on")
	if len(f) == 0 {
		return plan.Change{}, false
	}
	change := plan.Change{Ref: plan.Ref{Kind: kindBalancer, Name: b.Name, Action: plan.Update}, Fields: f}
	movesAddress.Declare(&change)
	changesFamilies.Declare(&change)
	change.Do = func(ctx context.Context, _ *plan.Handles) error {
		if !moved && !nat {
			return d.Write.SetAddressType(ctx, b.ARN, d.want.AddressType)
		}
		return d.Write.SetSubnets(ctx, b, zones, addsIPv6, nat)
	}
	return change, true
}

// removesIPv6 reports whether the load balancer loses IPv6.
func (d *differ) removesIPv6() bool {
	b := d.have.Balancer
	return b != nil && b.AddressType != d.want.AddressType && !d.addsIPv6(*b)
}

// removesIPv6First reports whether the load balancer has to lose IPv6 before it can get its listeners: those for UDP.
func (d *differ) removesIPv6First() bool {
	ipv6 := func(g model.TargetGroup) bool { return g.AddressType != model.AddressIPv4 }
	return d.removesIPv6() && slices.ContainsFunc(d.want.Listeners, model.DesiredListener.Datagrams) &&
		!slices.ContainsFunc(d.have.TargetGroups, ipv6)
}

// removeIPv6 removes IPv6, after the listeners no longer forward to IPv6 targets.
func (d *differ) removeIPv6(after []plan.Ref) []plan.Ref {
	if !d.removesIPv6() {
		return nil
	}
	b := d.have.Balancer
	change := plan.Change{
		Ref:    plan.Ref{Kind: kindAddressType, Name: b.Name, Action: plan.Update},
		Fields: []plan.Field{{Name: fieldAddressType, Before: b.AddressType, After: d.want.AddressType}},
		After:  after,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return d.Write.SetAddressType(ctx, b.ARN, d.want.AddressType)
		},
	}
	changesFamilies.Declare(&change)
	d.add(change)
	return []plan.Ref{change.Ref}
}

// groupsUpdate replaces the security groups of a load balancer, and deletes a managed one that it no longer
// uses.
func (d *differ) groupsUpdate(b model.Balancer, groups []vpc.GroupRef, after []plan.Ref) {
	if groups == nil {
		return
	}
	want := api.Convert(groups, func(g vpc.GroupRef) string { return g.ID })
	var detached []plan.Ref
	if plan.ShowSet(b.SecurityGroups) != plan.ShowSet(want) {
		change := plan.Change{
			Ref:    plan.Ref{Kind: kindGroups, Name: b.Name, Action: plan.Update},
			Fields: []plan.Field{{Name: vpc.FieldGroups, Before: plan.ShowSet(b.SecurityGroups), After: showGroups(groups)}},
			After:  after,
			Do: func(ctx context.Context, ids *plan.Handles) error {
				groupIDs, err := vpc.ResolveGroups(groups, ids)
				if err != nil {
					return err
				}
				return d.Write.SetSecurityGroups(ctx, b.ARN, groupIDs)
			},
		}
		vpc.DeclareGroups(&change, b.SecurityGroups, want)
		d.add(change)
		detached = []plan.Ref{change.Ref}
	}
	for _, g := range d.managedGroups() {
		if !slices.Contains(want, g.ID) {
			d.managedGroupDelete(g, detached)
		}
	}
}

// balancerDelete returns the change that deletes the load balancer with its listeners.
func (d *differ) balancerDelete(b model.Balancer) plan.Change {
	return plan.Change{
		Ref: plan.Ref{Kind: kindBalancer, Name: b.Name, Action: plan.Delete}, ID: b.ARN,
		Do: func(ctx context.Context, _ *plan.Handles) error { return d.Write.DeleteBalancer(ctx, b.ARN) },
	}
}

func showGroups(groups []vpc.GroupRef) string {
	return plan.ShowSet(api.Convert(groups, func(g vpc.GroupRef) string { return g.Name }))
}

// showZones formats subnets with the chosen addresses.
func showZones(zones []model.Zone) string {
	return plan.ShowSet(api.Convert(zones, showZone))
}

// showZone formats a subnet with the chosen addresses.
func showZone(z model.Zone) string {
	shown := z.Subnet
	for _, a := range []string{z.Allocation, z.PrivateIPv4, z.IPv6} {
		if a != "" {
			shown += " " + a
		}
	}
	return shown
}
