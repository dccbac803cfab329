package loadbalancer

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

var listenerKind = rows.Kind[*api.Listener, *api.ListenerPatch]{
	Name:     kindListener,
	Key:      func(l *api.Listener) string { return l.Name },
	Deletion: rows.Traffic("a listener is deleted, with its pool"),
	Rows: []rows.Row[*api.Listener, *api.ListenerPatch]{
		{Name: "protocol", Value: rows.Text(func(l *api.Listener) *string { return &l.Protocol })},
		{Name: "port", Value: rows.Number(func(l *api.Listener) *int32 { return &l.Port })},
		{
			Name: "pool", Value: rows.Text(func(l *api.Listener) *string { return &l.Pool }),
			Set: func(p *api.ListenerPatch, l *api.Listener) { p.Pool = &l.Pool },
		},
		{
			Name: "sourceRanges", Value: rows.Set(func(l *api.Listener) *[]string { return &l.SourceRanges }),
			Set:      func(p *api.ListenerPatch, l *api.Listener) { p.SourceRanges = rows.NonNil(l.SourceRanges) },
			Effect:   rows.Traffic("source ranges are set or changed"),
			Disrupts: func(_, want *api.Listener) bool { return len(want.SourceRanges) > 0 },
		},
		{
			Name:  "idleTimeoutSeconds",
			Value: rows.Number(func(l *api.Listener) *int { return &l.IdleTimeoutSeconds }),
			Set:   func(p *api.ListenerPatch, l *api.Listener) { p.IdleTimeoutSeconds = &l.IdleTimeoutSeconds },
		},
	},
}

// listenerChange is a change of a listener with its pools.
type listenerChange struct {
	plan.Change
	// pool is the pool of the listener after the change, previousPool the one before it.
	pool, previousPool string
}

// diffListeners plans the listeners.
func (d *differ) diffListeners(lb api.LoadBalancer) []listenerChange {
	// A listener of our name for another port was renamed by hand: its port cannot be changed.
	listeners := match(lb.Listeners, d.want.Listeners, func(have, want api.Listener) bool {
		return have.Name == want.Name && samePort(have, want)
	})
	var changes []listenerChange
	for _, have := range listeners.Surplus {
		deletion := listenerKind.Delete(&have)
		deletion.Step = listenerDeletion{lb.ID, have.Name}
		changes = append(changes, listenerChange{Change: deletion, previousPool: have.Pool})
	}
	deletions := changes
	for _, pair := range listeners.Kept {
		if update, ok := listenerKind.Update(&pair.Have, &pair.Want); ok {
			var patch api.ListenerPatch
			listenerKind.Set(&patch, &pair.Want, update.Fields)
			update.Step = listenerUpdate{lb.ID, pair.Want.Name, patch}
			changes = append(changes, listenerChange{Change: update, pool: pair.Want.Pool, previousPool: pair.Have.Pool})
		}
	}
	for _, want := range listeners.Missing {
		creation := listenerKind.Create(&want)
		creation.Step = listenerCreation{lb.ID, want}
		creation.After = blockingDeletions(lb, want, deletions)
		changes = append(changes, listenerChange{Change: creation, pool: want.Pool})
	}
	return changes
}

// blockingDeletions returns the deletions of listeners with the name or the port of a new one.
func blockingDeletions(lb api.LoadBalancer, want api.Listener, deletions []listenerChange) []plan.Ref {
	var blocking []plan.Ref
	for _, deletion := range deletions {
		i := slices.IndexFunc(lb.Listeners, func(l api.Listener) bool { return l.Name == deletion.Name })
		if deletion.Name == want.Name || samePort(lb.Listeners[i], want) {
			blocking = append(blocking, deletion.Ref)
		}
	}
	return blocking
}

func samePort(a, b api.Listener) bool { return a.Protocol == b.Protocol && a.Port == b.Port }

// listenerCreation creates a listener. An existing one that is the same counts as created.
type listenerCreation struct {
	loadBalancer string
	want         api.Listener
}

// Do implements plan.Step.
func (s listenerCreation) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	id, err := w.loadBalancerID(ctx, s.loadBalancer, ids)
	if err != nil {
		return err
	}
	listener, err := w.api.CreateListener(ctx, id, s.want)
	err = w.acceptExisting(ctx, err, func(lb api.LoadBalancer) bool {
		i := slices.IndexFunc(lb.Listeners, func(l api.Listener) bool { return l.Name == s.want.Name })
		if i >= 0 {
			listener = lb.Listeners[i]
		}
		return i >= 0 && listenerKind.Equal(&listener, &s.want)
	})
	return w.finishListener(err, listener)
}

// listenerUpdate changes a listener.
type listenerUpdate struct {
	loadBalancer, name string
	patch              api.ListenerPatch
}

// Do implements plan.Step.
func (s listenerUpdate) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	if err := w.active.wait(ctx); err != nil {
		return err
	}
	listener, err := w.api.UpdateListener(ctx, s.loadBalancer, s.name, s.patch)
	return w.finishListener(err, listener)
}

// listenerDeletion deletes a listener.
type listenerDeletion struct{ loadBalancer, name string }

// Do implements plan.Step.
func (s listenerDeletion) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	if err := w.active.wait(ctx); err != nil {
		return err
	}
	err := cloudapi.IgnoreNotFound(w.api.DeleteListener(ctx, s.loadBalancer, s.name))
	return w.finishChild(err, func(lb *api.LoadBalancer) {
		lb.Listeners = slices.DeleteFunc(lb.Listeners, func(l api.Listener) bool { return l.Name == s.name })
	})
}

func (w writer) finishListener(err error, listener api.Listener) error {
	return w.finishChild(err, func(lb *api.LoadBalancer) {
		lb.Listeners = upsert(lb.Listeners, listener, func(l api.Listener) bool { return l.Name == listener.Name })
	})
}
