package diff

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// balancer has the fields of a load balancer, existing or wanted.
type balancer struct {
	name, scheme, addressType string
	// sourceNAT is "on" or "".
	sourceNAT string
	// zones are the subnets with their addresses, by zone.
	zones  map[string]string
	groups []string
	tags   map[string]string
}

// balancerKind are the load balancers. Their security groups, attributes and tags have calls of their own, and IPv6 is
// removed by one of its own.
var balancerKind = rows.Kind[*balancer, *balancer]{
	Name: kindBalancer,
	Key:  func(b *balancer) string { return b.name },
	Rows: rows.InPlace([]rows.Row[*balancer, *balancer]{
		atCreation("scheme", rows.Text(func(b *balancer) *string { return &b.scheme })),
		addressTypeRow(),
		{
			Name: fieldSubnets,
			Value: rows.Entries(func(b *balancer) map[string]string { return b.zones },
				func(to, from *balancer) { to.zones = maps.Clone(from.zones) }),
			Effect: rows.Address("network: other subnets or Elastic IPs"),
		},
		{Name: fieldSourceNAT, Value: rows.Text(func(b *balancer) *string { return &b.sourceNAT })},
		atCreation(vpc.FieldGroups, rows.Set(func(b *balancer) *[]string { return &b.groups })),
		atCreation("tags", rows.Map(func(b *balancer) *map[string]string { return &b.tags })),
	}),
}

// addressTypeKind is the address type of a load balancer that loses IPv6.
var addressTypeKind = rows.Kind[*balancer, *balancer]{
	Name: kindAddressType, Key: balancerKind.Key, Rows: rows.InPlace([]rows.Row[*balancer, *balancer]{addressTypeRow()}),
}

func addressTypeRow() rows.Row[*balancer, *balancer] {
	return rows.Row[*balancer, *balancer]{
		Name: fieldAddressType, Value: rows.Text(func(b *balancer) *string { return &b.addressType }),
		Effect: rows.Address("network: IPv6 is added, or the addresses of IPv6 are removed"),
	}
}

// balancerCreate returns the change that creates the load balancer.
func (d *differ) balancerCreate(groups []vpc.GroupRef, after []plan.Ref) plan.Change {
	change := balancerKind.Create(&balancer{
		name: d.name(), scheme: d.want.Scheme, addressType: d.want.AddressType, zones: d.showZones(d.want.Zones),
		groups: groupNames(groups), tags: d.want.Tags,
	})
	change.After, change.Step = after, balancerCreation{ref: d.balancer(), want: d.want, groups: groups}
	return change
}

// balancerCreation creates a load balancer. The tags are in addition to those of all objects of the Service.
type balancerCreation struct {
	ref    reference
	want   model.Desired
	tags   map[string]string
	groups []vpc.GroupRef
}

// Do implements plan.Step.
func (s balancerCreation) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	groups, err := vpc.ResolveGroups(s.groups, ids)
	if err != nil {
		return err
	}
	arn, err := w.CreateBalancer(ctx, s.want, s.tags, groups)
	return s.ref.created(ids, arn, err)
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
	if b.Name != d.want.Name && d.want.Name != model.DefaultName(d.Key) {
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
	d.diffAttributes(d.have.Attributes, nil)
	return base
}

// addsIPv6 reports whether the load balancer gets IPv6 now.
func (d *differ) addsIPv6(b model.Balancer) bool {
	return d.want.AddressType == string(types.IpAddressTypeDualstack) && b.AddressType != d.want.AddressType
}

// addressUpdate returns the change of subnets, addresses and, to IPv6, the address type, if they differ.
func (d *differ) addressUpdate(b model.Balancer) (plan.Change, bool) {
	have := balancer{name: b.Name, addressType: b.AddressType, zones: d.showZones(b.Zones)}
	want := have
	want.zones = d.showZones(d.want.Zones)
	wantZones := d.byZone(d.want.Zones)
	for zone, z := range d.byZone(b.Zones) {
		if w, ok := wantZones[zone]; ok && model.SameZone(z, w) {
			want.zones[zone] = have.zones[zone]
		}
	}
	step := subnetsUpdate{balancer: b, zones: b.Zones, addsIPv6: d.addsIPv6(b)}
	step.sourceNAT = d.want.SourceNAT && !b.SourceNAT
	if step.addsIPv6 {
		want.addressType = d.want.AddressType
	}
	if step.sourceNAT {
		want.sourceNAT = "on"
	}
	change, differ := balancerKind.Update(&have, &want)
	moved := !maps.Equal(have.zones, want.zones)
	if moved {
		step.zones = d.want.Zones
	}
	change.Step = step
	if !moved && !step.sourceNAT {
		change.Step = addressTypeUpdate{b.ARN, d.want.AddressType}
	}
	return change, differ
}

// subnetsUpdate sets the subnets and addresses of a load balancer.
type subnetsUpdate struct {
	balancer            model.Balancer
	zones               []model.Zone
	addsIPv6, sourceNAT bool
}

// Do implements plan.Step.
func (s subnetsUpdate) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.SetSubnets(ctx, s.balancer, s.zones, s.addsIPv6, s.sourceNAT)
}

// addressTypeUpdate sets the families of the addresses of a load balancer.
type addressTypeUpdate struct{ balancer, addressType string }

// Do implements plan.Step.
func (s addressTypeUpdate) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.SetAddressType(ctx, s.balancer, s.addressType)
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
	change, _ := addressTypeKind.Update(&balancer{name: b.Name, addressType: b.AddressType},
		&balancer{name: b.Name, addressType: d.want.AddressType})
	change.After, change.Step = after, addressTypeUpdate{b.ARN, d.want.AddressType}
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
	if before := plan.ShowSet(b.SecurityGroups); before != plan.ShowSet(want) {
		change := plan.Change{
			Ref:    plan.Ref{Kind: kindGroups, Name: b.Name, Action: plan.Update},
			Fields: []plan.Field{{Name: vpc.FieldGroups, Before: before, After: plan.ShowSet(groupNames(groups))}},
			// AWS may refuse rules. The load balancer keeps the groups with which it is reached until all of them exist.
			After: slices.Concat(after, d.allowed, d.opened), Step: groupsUpdate{b.ARN, groups},
		}
		vpc.DeclareGroups(&change, b.SecurityGroups, want)
		d.add(change)
		detached = []plan.Ref{change.Ref}
	}
	d.left = detached
	for _, g := range d.managedGroups() {
		if !slices.Contains(want, g.ID) {
			d.managedGroupDelete(g, detached)
		}
	}
}

// groupsUpdate replaces the security groups of a load balancer.
type groupsUpdate struct {
	balancer string
	groups   []vpc.GroupRef
}

// Do implements plan.Step.
func (s groupsUpdate) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	groups, err := vpc.ResolveGroups(s.groups, ids)
	if err != nil {
		return err
	}
	return w.SetSecurityGroups(ctx, s.balancer, groups)
}

// balancerDelete returns the change that deletes the load balancer with its listeners.
func (d *differ) balancerDelete(b model.Balancer) plan.Change {
	change := balancerKind.Delete(&balancer{name: b.Name})
	change.ID, change.Step = b.ARN, balancerDeletion(b.ARN)
	return change
}

// balancerDeletion deletes a load balancer, by its ARN.
type balancerDeletion string

// Do implements plan.Step.
func (s balancerDeletion) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.DeleteBalancer(ctx, string(s))
}

func groupNames(groups []vpc.GroupRef) []string {
	return api.Convert(groups, func(g vpc.GroupRef) string { return g.Name })
}

// showZones formats subnets with the chosen addresses, by their zones.
func (d *differ) showZones(zones []model.Zone) map[string]string {
	shown := map[string]string{}
	for zone, z := range d.byZone(zones) {
		shown[zone] = showZone(z)
	}
	return shown
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
