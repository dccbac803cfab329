package loadbalancer

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// loadBalancerCreate is the change that creates the load balancer, without children, and waits until it
// accepts them.
func (d *differ) loadBalancerCreate(addresses []addressRef, after []plan.Ref, reason string) plan.Change {
	spec := d.want.LoadBalancer
	var state string // the result of the creation; empty if an earlier run of the plan created it
	return plan.Change{
		Ref:    d.loadBalancerRef(plan.Create),
		Fields: loadBalancerFields(spec, addresses),
		Reason: reason,
		After:  after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			addressIDs, err := resolveIDs(addresses, ids)
			if err != nil {
				return err
			}
			spec.AddressIDs = addressIDs
			spec.Tags = withTag(spec.Tags, TagApplied, d.want.record().Encode())
			lb, err := d.write.createLoadBalancer(ctx, spec)
			if err != nil {
				return err
			}
			ids.Set(loadBalancerHandle, lb.ID)
			state = lb.State
			return nil
		},
		Ready: func(ctx context.Context, _ *plan.Handles) error { return d.write.waitActive(ctx, state) },
	}
}

// loadBalancerUpdate returns the change of tags, subnets and addresses, if they differ.
func (d *differ) loadBalancerUpdate(have api.LoadBalancer, addresses []addressRef,
	after []plan.Ref) (plan.Change, bool) {
	var f plan.Fields
	patch := api.LoadBalancerPatch{}
	if tags := mergeTags(have.Tags, d.want.LoadBalancer.Tags); f.Diff("tags", plan.ShowMap(have.Tags),
		plan.ShowMap(tags)) {
		patch.Tags = &tags
	}
	if want := d.want.LoadBalancer.Subnets; f.Diff("subnets", plan.ShowSet(have.Subnets), plan.ShowSet(want)) {
		subnets := append([]string{}, want...)
		patch.Subnets = &subnets
	}
	changesAddresses := f.Diff(fieldAddresses, plan.ShowSet(d.showIDs(have.AddressIDs)), plan.ShowSet(showRefs(addresses)))
	if len(f) == 0 {
		return plan.Change{}, false
	}
	change := plan.Change{
		Ref:    d.loadBalancerRef(plan.Update),
		Fields: f,
		Mark:   len(f) == 1 && f.Has("tags"),
		After:  after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			if changesAddresses {
				addressIDs, err := resolveIDs(addresses, ids)
				if err != nil {
					return err
				}
				patch.AddressIDs = &addressIDs
			}
			return d.write.updateLoadBalancer(ctx, have.ID, patch)
		},
	}
	if removesAddress(have.AddressIDs, addresses) {
		losesAddress.Declare(&change)
	}
	return change, true
}

// removesAddress reports whether the load balancer loses an address.
func removesAddress(have []string, want []addressRef) bool {
	return slices.ContainsFunc(have, func(id string) bool {
		return !slices.ContainsFunc(want, func(r addressRef) bool { return r.id == id })
	})
}

// loadBalancerReplace is the deletion of a load balancer that is replaced because of these differences.
func (d *differ) loadBalancerReplace(have api.LoadBalancer, reason string, differences plan.Fields) plan.Change {
	change := d.loadBalancerDelete(have, reason)
	change.Fields = differences
	replacesLoadBalancer.Declare(&change)
	return change
}

// loadBalancerDelete is the change that deletes the load balancer with its listeners and pools.
func (d *differ) loadBalancerDelete(have api.LoadBalancer, reason string) plan.Change {
	return plan.Change{
		Ref:      d.loadBalancerRef(plan.Delete),
		ID:       have.ID,
		Reason:   reason,
		Disrupts: replacesLoadBalancer.Disrupts,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return d.write.deleteLoadBalancer(ctx, have.ID)
		},
	}
}

// loadBalancerFields are the fields that a creation sets.
func loadBalancerFields(spec api.LoadBalancerSpec, addresses []addressRef) plan.Fields {
	var f plan.Fields
	f.Diff(fieldScheme, "", spec.Scheme)
	f.Diff(fieldFamilies, "", plan.ShowSet(spec.Families))
	f.Diff(fieldAddresses, "", plan.ShowSet(showRefs(addresses)))
	f.Diff("subnets", "", plan.ShowSet(spec.Subnets))
	f.Diff("tags", "", plan.ShowMap(spec.Tags))
	return f
}

func (d *differ) loadBalancerRef(action plan.Action) plan.Ref {
	return plan.Ref{Kind: kindLoadBalancer, Name: loadBalancerName(d.key), Action: action}
}
