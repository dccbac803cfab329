package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// replacesLoadBalancer is what a change disrupts that no load balancer can make in place.
var replacesLoadBalancer = rows.LoadBalancer("the load balancer is replaced")

// The fields that other objects depend on.
const (
	fieldScheme    = "scheme"
	fieldFamilies  = "families"
	fieldAddresses = "addressIDs"
)

// balancerKind compares AddressIDs by the names of the addresses: one that does not exist yet has no ID.
var balancerKind = rows.Kind[*api.LoadBalancerSpec, *api.LoadBalancerPatch]{
	Name:     kindLoadBalancer,
	Key:      func(lb *api.LoadBalancerSpec) string { return lb.Name },
	Deletion: replacesLoadBalancer,
	Rows: []rows.Row[*api.LoadBalancerSpec, *api.LoadBalancerPatch]{
		{
			Name: fieldScheme, Value: rows.Text(func(lb *api.LoadBalancerSpec) *string { return &lb.Scheme }),
			Effect: replacesLoadBalancer,
		},
		{
			Name: fieldFamilies, Value: rows.Set(func(lb *api.LoadBalancerSpec) *[]string { return &lb.Families }),
			// A public load balancer gets and loses addresses in place. One that is provisioning has none yet.
			Ignore: func(have, want *api.LoadBalancerSpec) bool {
				return have.Scheme != string(intent.Internal) || want.Scheme != have.Scheme || len(have.Families) == 0
			},
			Effect: replacesLoadBalancer,
		},
		{
			Name: fieldAddresses, Value: rows.Set(func(lb *api.LoadBalancerSpec) *[]string { return &lb.AddressIDs }),
			Set:    func(p *api.LoadBalancerPatch, want *api.LoadBalancerSpec) { p.AddressIDs = &want.AddressIDs },
			Effect: rows.Address("an address leaves the load balancer"),
			Disrupts: func(have, want *api.LoadBalancerSpec) bool {
				return slices.ContainsFunc(have.AddressIDs, func(name string) bool {
					return !slices.Contains(want.AddressIDs, name)
				})
			},
		},
		{
			Name: "subnets", Value: rows.Set(func(lb *api.LoadBalancerSpec) *[]string { return &lb.Subnets }),
			Set: func(p *api.LoadBalancerPatch, want *api.LoadBalancerSpec) { p.Subnets = rows.NonNil(want.Subnets) },
		},
		{
			Name: "tags", Value: rows.Map(func(lb *api.LoadBalancerSpec) *map[string]string { return &lb.Tags }),
			Set:  func(p *api.LoadBalancerPatch, want *api.LoadBalancerSpec) { p.Tags = &want.Tags },
			Mark: true,
		},
	},
}

// existing returns the settings of a load balancer, with the names of its addresses.
func (d *differ) existing(lb api.LoadBalancer) api.LoadBalancerSpec {
	return api.LoadBalancerSpec{
		Name: lb.Name, Cluster: lb.Cluster, Scheme: lb.Scheme, Families: familiesOf(lb.Addresses),
		AddressIDs: d.addressNames(lb.AddressIDs), Subnets: lb.Subnets, Tags: lb.Tags,
	}
}

// balancerCreate is the change that creates the load balancer, without children, and waits until it accepts them.
func (d *differ) balancerCreate(addresses []addressRef, after []plan.Ref, reason string) plan.Change {
	want := d.want.LoadBalancer
	want.AddressIDs = namesOf(addresses)
	change := balancerKind.Create(&want)
	want.Tags = withTag(want.Tags, TagApplied, d.want.record().Encode())
	change.Step, change.After, change.Reason = balancerCreation{want, addresses}, after, reason
	return change
}

// balancerUpdate returns the change of addresses, subnets and tags, if they differ.
func (d *differ) balancerUpdate(lb api.LoadBalancer, addresses []addressRef, after []plan.Ref) (plan.Change, bool) {
	have, want := d.existing(lb), d.want.LoadBalancer
	want.AddressIDs, want.Tags = namesOf(addresses), mergeTags(lb.Tags, want.Tags)
	change, ok := balancerKind.Update(&have, &want)
	var patch api.LoadBalancerPatch
	balancerKind.Set(&patch, &want, change.Fields)
	change.Step, change.After = balancerUpdate{lb.ID, patch, addresses}, after
	return change, ok
}

// balancerReplace returns the deletion of a load balancer that cannot become the desired one in place.
func (d *differ) balancerReplace(lb api.LoadBalancer) (plan.Change, bool) {
	have := d.existing(lb)
	change, ok := balancerKind.Replace(&have, &d.want.LoadBalancer)
	for _, f := range change.Fields {
		change.Reason = fmt.Sprintf("the %s changes from %s to %s, which no load balancer can do in place: clients have to "+
			"follow to a new address", f.Name, f.Before, f.After)
	}
	change.ID, change.Step = lb.ID, balancerDeletion{lb.ID}
	return change, ok
}

// balancerDelete is the change that deletes the load balancer with its listeners and pools.
func (d *differ) balancerDelete(lb api.LoadBalancer) plan.Change {
	have := d.existing(lb)
	change := balancerKind.Delete(&have)
	change.ID, change.Step = lb.ID, balancerDeletion{lb.ID}
	return change
}

// balancerCreation creates a load balancer. If its name exists, an earlier creation lost its reply, or another cluster
// uses the name: its tags distinguish the two.
type balancerCreation struct {
	want      api.LoadBalancerSpec
	addresses []addressRef
}

// Do implements plan.Step.
func (s balancerCreation) Do(ctx context.Context, w writer, ids *plan.Handles) (err error) {
	spec := s.want
	if spec.AddressIDs, err = resolveIDs(s.addresses, ids); err != nil {
		return err
	}
	lb, err := w.api.CreateLoadBalancer(ctx, spec)
	if cloudapi.Is(err, cloudapi.AlreadyExists) {
		lb, err = w.existingLoadBalancer(ctx, err)
	} else {
		err = w.finish(err, func(o *Observed) { o.LoadBalancer = &lb })
	}
	if err == nil {
		ids.Set(loadBalancerHandle, lb.ID)
	}
	return err
}

// Ready implements plan.WaitingStep.
func (s balancerCreation) Ready(ctx context.Context, w writer, _ *plan.Handles) error {
	return w.waitActive(ctx, w.store.lastState(s.want.Name))
}

// existingLoadBalancer returns the load balancer of a creation that failed because its name exists.
func (w writer) existingLoadBalancer(ctx context.Context, err error) (api.LoadBalancer, error) {
	have, readErr := w.store.read(ctx, loadBalancerName(w.key))
	switch {
	case readErr != nil:
		return api.LoadBalancer{}, errors.Join(err, readErr)
	case have.LoadBalancer == nil:
		return api.LoadBalancer{}, err
	case foreignOwner(w.key, have.LoadBalancer.Cluster, have.LoadBalancer.Tags) != "":
		return api.LoadBalancer{}, foreignLoadBalancerError(w.key, *have.LoadBalancer)
	}
	return *have.LoadBalancer, nil
}

// balancerUpdate changes settings of a load balancer. The patch has the addresses if they change.
type balancerUpdate struct {
	id        string
	patch     api.LoadBalancerPatch
	addresses []addressRef
}

// Do implements plan.Step.
func (s balancerUpdate) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	patch := s.patch
	if patch.AddressIDs != nil {
		addressIDs, err := resolveIDs(s.addresses, ids)
		if err != nil {
			return err
		}
		patch.AddressIDs = &addressIDs
	}
	return w.updateLoadBalancer(ctx, s.id, patch)
}

// balancerDeletion deletes a load balancer with its listeners and pools.
type balancerDeletion struct{ id string }

// Do implements plan.Step.
func (s balancerDeletion) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	err := cloudapi.IgnoreNotFound(w.api.DeleteLoadBalancer(ctx, s.id))
	return w.finish(err, func(o *Observed) { o.removeLoadBalancer() })
}
