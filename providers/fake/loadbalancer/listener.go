package loadbalancer

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// listenerChange is a change of a listener with its pools.
type listenerChange struct {
	plan.Change
	// pool is the pool of the listener after the change, previousPool the one before it.
	pool, previousPool string
}

// diffListeners plans the listeners.
func (d *differ) diffListeners(lb api.LoadBalancer) []listenerChange {
	// A listener of our name for another port was renamed by hand: its port cannot be changed.
	listeners := plan.Match(lb.Listeners, d.want.Listeners, func(have, want api.Listener) bool {
		return have.Name == want.Name && samePort(have, want)
	})
	var changes []listenerChange
	for _, have := range listeners.Surplus {
		changes = append(changes, d.listenerDelete(lb.ID, have))
	}
	deletions := changes
	for _, pair := range listeners.Kept {
		if change, ok := d.listenerUpdate(lb.ID, pair.Have, pair.Want); ok {
			changes = append(changes, change)
		}
	}
	for _, want := range listeners.Missing {
		changes = append(changes, d.listenerCreate(lb, want, deletions))
	}
	return changes
}

// listenerCreate creates a listener after everything with its name or port is deleted.
func (d *differ) listenerCreate(lb api.LoadBalancer, want api.Listener, deletions []listenerChange) listenerChange {
	f := listenerFields(api.Listener{}, want)
	change := plan.Change{
		Ref:    plan.Ref{Kind: kindListener, Name: want.Name, Action: plan.Create},
		Fields: f,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			id, err := d.loadBalancerID(ctx, ids)
			if err != nil {
				return err
			}
			return d.write.createListener(ctx, id, want, func(l api.Listener) bool {
				return l.Name == want.Name && len(listenerFields(l, want)) == 0
			})
		},
	}
	for _, deletion := range deletions {
		i := slices.IndexFunc(lb.Listeners, func(l api.Listener) bool { return l.Name == deletion.Name })
		if deletion.Name == want.Name || samePort(lb.Listeners[i], want) {
			change.After = append(change.After, deletion.Ref)
		}
	}
	return listenerChange{Change: change, pool: want.Pool}
}

// listenerUpdate returns the change of a listener in place, if its fields differ.
func (d *differ) listenerUpdate(lbID string, have, want api.Listener) (listenerChange, bool) {
	f := listenerFields(have, want)
	if len(f) == 0 {
		return listenerChange{}, false
	}
	// A pointer to an empty list empties it; to a nil one it would not be sent as one.
	ranges := append([]string{}, want.SourceRanges...)
	patch := api.ListenerPatch{Pool: &want.Pool, SourceRanges: &ranges, IdleTimeoutSeconds: &want.IdleTimeoutSeconds}
	change := plan.Change{
		Ref:    plan.Ref{Kind: kindListener, Name: want.Name, Action: plan.Update},
		Fields: f,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return d.write.updateListener(ctx, lbID, want.Name, patch)
		},
	}
	if f.Has(fieldSourceRanges) && len(ranges) > 0 {
		closesListener.Declare(&change)
	}
	return listenerChange{Change: change, pool: want.Pool, previousPool: have.Pool}, true
}

func (d *differ) listenerDelete(lbID string, have api.Listener) listenerChange {
	change := plan.Change{
		Ref:      plan.Ref{Kind: kindListener, Name: have.Name, Action: plan.Delete},
		Disrupts: deletesListener.Disrupts,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return d.write.deleteListener(ctx, lbID, have.Name)
		},
	}
	return listenerChange{Change: change, previousPool: have.Pool}
}

// listenerFields returns the differences of two listeners, by the names of the API's fields.
func listenerFields(have, want api.Listener) plan.Fields {
	var f plan.Fields
	f.Diff("protocol", have.Protocol, want.Protocol)
	f.Diff("port", plan.ShowInt(have.Port), plan.ShowInt(want.Port))
	f.Diff("pool", have.Pool, want.Pool)
	f.Diff(fieldSourceRanges, plan.ShowSet(have.SourceRanges), plan.ShowSet(want.SourceRanges))
	f.Diff("idleTimeoutSeconds", plan.ShowInt(have.IdleTimeoutSeconds), plan.ShowInt(want.IdleTimeoutSeconds))
	return f
}

func samePort(a, b api.Listener) bool { return a.Protocol == b.Protocol && a.Port == b.Port }
