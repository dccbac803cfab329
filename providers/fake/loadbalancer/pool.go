package loadbalancer

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// diffPools plans the pools. Creations wait for that of the load balancer, deletions for the listeners that leave the
// pool.
func (d *differ) diffPools(lb api.LoadBalancer, created []plan.Ref, listeners []listenerChange) []plan.Change {
	var changes []plan.Change
	pools := plan.Match(lb.Pools, d.want.Pools, func(have, want api.Pool) bool { return have.Name == want.Name })
	for _, want := range pools.Missing {
		changes = append(changes, d.poolCreate(want, created))
	}
	for _, pair := range pools.Kept {
		if change, ok := d.poolUpdate(lb.ID, pair.Have, pair.Want); ok {
			changes = append(changes, change)
		}
		if change, ok := d.membersUpdate(lb.ID, pair.Have, pair.Want); ok {
			changes = append(changes, change)
		}
	}
	for _, have := range pools.Surplus {
		var after []plan.Ref
		for _, listener := range listeners {
			if listener.previousPool == have.Name {
				after = append(after, listener.Ref)
			}
		}
		changes = append(changes, d.poolDelete(lb.ID, have, after))
	}
	return changes
}

// poolCreate creates a pool with its members, which saves a call.
func (d *differ) poolCreate(want api.Pool, after []plan.Ref) plan.Change {
	var f plan.Fields
	f.Diff("protocol", "", want.Protocol)
	f = append(f, poolFields(api.Pool{}, want)...)
	if f.Diff("members", "", plan.ShowMembers(formatMembers(want.Members))) {
		f[len(f)-1].Membership = true
	}
	return plan.Change{
		Ref:    plan.Ref{Kind: kindPool, Name: want.Name, Action: plan.Create},
		Fields: f,
		After:  slices.Clone(after),
		Do: func(ctx context.Context, ids *plan.Handles) error {
			id, err := d.loadBalancerID(ctx, ids)
			if err != nil {
				return err
			}
			return d.write.createPool(ctx, id, want, func(p api.Pool) bool {
				return p.Name == want.Name && len(poolFields(p, want)) == 0 && sameMembers(p.Members, want.Members)
			})
		},
	}
}

// poolUpdate returns the change of a pool's settings, if they differ.
func (d *differ) poolUpdate(lbID string, have, want api.Pool) (plan.Change, bool) {
	f := poolFields(have, want)
	if len(f) == 0 {
		return plan.Change{}, false
	}
	patch := api.PoolPatch{ProxyProtocol: &want.ProxyProtocol, HealthCheck: &want.HealthCheck,
		AffinitySeconds: &want.AffinitySeconds}
	return plan.Change{
		Ref:    plan.Ref{Kind: kindPool, Name: want.Name, Action: plan.Update},
		Fields: f,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return d.write.updatePool(ctx, lbID, want.Name, patch)
		},
	}, true
}

// membersUpdate returns the change of a pool's members, if they differ.
func (d *differ) membersUpdate(lbID string, have, want api.Pool) (plan.Change, bool) {
	if sameMembers(have.Members, want.Members) {
		return plan.Change{}, false
	}
	before, after := plan.ShowMembersChange(formatMembers(have.Members), formatMembers(want.Members))
	return plan.Change{
		Ref:        plan.Ref{Kind: kindMembers, Name: want.Name, Action: plan.Update},
		Fields:     []plan.Field{{Name: "members", Before: before, After: after}},
		Membership: true,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return d.write.setMembers(ctx, lbID, want.Name, want.Members)
		},
	}, true
}

func (d *differ) poolDelete(lbID string, have api.Pool, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:   plan.Ref{Kind: kindPool, Name: have.Name, Action: plan.Delete},
		After: after,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return d.write.deletePool(ctx, lbID, have.Name)
		},
	}
}

// poolFields returns the differences of two pools, by the names of the API's fields. The protocol is
// not among them: it cannot change, and is part of the name.
func poolFields(have, want api.Pool) plan.Fields {
	var f plan.Fields
	h, w := have.HealthCheck, want.HealthCheck
	f.Diff("proxyProtocol", plan.ShowInt(have.ProxyProtocol), plan.ShowInt(want.ProxyProtocol))
	f.Diff("affinitySeconds", plan.ShowInt(have.AffinitySeconds), plan.ShowInt(want.AffinitySeconds))
	f.Diff("healthCheck.protocol", h.Protocol, w.Protocol)
	f.Diff("healthCheck.port", plan.ShowInt(h.Port), plan.ShowInt(w.Port))
	f.Diff("healthCheck.path", h.Path, w.Path)
	f.Diff("healthCheck.intervalSeconds", plan.ShowInt(h.IntervalSeconds), plan.ShowInt(w.IntervalSeconds))
	f.Diff("healthCheck.timeoutSeconds", plan.ShowInt(h.TimeoutSeconds), plan.ShowInt(w.TimeoutSeconds))
	f.Diff("healthCheck.healthyThreshold", plan.ShowInt(h.HealthyThreshold), plan.ShowInt(w.HealthyThreshold))
	f.Diff("healthCheck.unhealthyThreshold", plan.ShowInt(h.UnhealthyThreshold), plan.ShowInt(w.UnhealthyThreshold))
	return f
}

// sameMembers compares members as sets.
func sameMembers(a, b []api.Member) bool {
	return slices.Equal(sortedMembers(a), sortedMembers(b))
}

func sortedMembers(members []api.Member) []api.Member {
	return sorting.SortedFunc(slices.Values(members), func(a, b api.Member) int {
		return cmp.Or(cmp.Compare(a.InstanceID, b.InstanceID), cmp.Compare(a.Port, b.Port))
	})
}

// formatMembers returns the text of each member in plans.
func formatMembers(members []api.Member) []string {
	texts := make([]string, len(members))
	for i, m := range members {
		texts[i] = fmt.Sprintf("%s:%d", m.InstanceID, m.Port)
	}
	return texts
}
