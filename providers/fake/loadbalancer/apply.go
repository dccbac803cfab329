package loadbalancer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// pollInterval is the interval of polls of a load balancer that is provisioning. Provisioning takes seconds:
// a shorter interval would not be noticeably faster, and 16 concurrent workers should stay far below any rate
// limit.
const pollInterval = time.Second

// writer makes the changes of one Service, and records them in the snapshot.
type writer struct {
	api   API
	clock clock.Clock
	store *store
	key   lbcommon.Key
	// active delays changes of an existing load balancer; nil if the plan creates the load balancer.
	active *activeGate
}

// whenActive returns a writer for changes of an existing load balancer.
func (w writer) whenActive(lb api.LoadBalancer) writer {
	w.active = &activeGate{passed: lb.State == api.LBActive, poll: func(ctx context.Context) error {
		return w.waitActive(ctx, lb.State)
	}}
	return w
}

// waitActive returns once the load balancer, last seen in state, accepts changes of its children. Its
// deletion in the meantime is an error, so that the wait ends.
func (w writer) waitActive(ctx context.Context, state string) error {
	name := loadBalancerName(w.key)
	for state != api.LBActive {
		if err := clocks.Sleep(ctx, w.clock, pollInterval); err != nil {
			return fmt.Errorf("load balancer %s is still %s: %w", name, cmp.Or(state, "in an unknown state"), err)
		}
		found, err := w.api.ListLoadBalancers(ctx, "", name)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "ListLoadBalancers",
				Err: fmt.Errorf("load balancer %s was deleted while it was provisioning", name)}
		}
		w.store.recordWrite(name, func(o *Observed) { o.LoadBalancer = &found[0] })
		state = found[0].State
	}
	return nil
}

// activeGate delays changes of an existing load balancer until it is active. It is provisioning if a
// manager was interrupted between its creation and that of its listeners.
type activeGate struct {
	mu     sync.Mutex
	passed bool
	poll   func(ctx context.Context) error
}

// wait polls for the first caller; concurrent callers wait for its result. A nil gate is open: the
// creation of the load balancer waited.
func (g *activeGate) wait(ctx context.Context) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.passed {
		return nil
	}
	err := g.poll(ctx)
	g.passed = err == nil
	return err
}

// loadBalancerID returns the ID of the load balancer for a new pool or listener: of an existing one, once it is active,
// or of the one that the plan created.
func (w writer) loadBalancerID(ctx context.Context, existing string, ids *plan.Handles) (string, error) {
	if existing == "" {
		return ids.ID(loadBalancerHandle)
	}
	return existing, w.active.wait(ctx)
}

// finish records the outcome of a mutation in the shared snapshot: the change or, with an error, that the
// outcome is uncertain. It returns err.
func (w writer) finish(err error, change func(*Observed)) error {
	name := loadBalancerName(w.key)
	if err != nil {
		w.store.state.MarkUncertain(name)
		return err
	}
	w.store.recordWrite(name, change)
	return nil
}

// finishChild records the outcome of a mutation of a pool or listener.
func (w writer) finishChild(err error, change func(*api.LoadBalancer)) error {
	return w.finish(err, func(o *Observed) {
		if o.LoadBalancer == nil {
			return
		}
		lb := *o.LoadBalancer // Observations are shared, so the change goes into a copy.
		lb.Pools, lb.Listeners = slices.Clone(lb.Pools), slices.Clone(lb.Listeners)
		change(&lb)
		o.LoadBalancer = &lb
	})
}

// acceptExisting turns "already exists" into success if the existing object equals the one to create: an earlier
// creation lost its reply. The next reconcile plans the change of any other object with the name.
func (w writer) acceptExisting(ctx context.Context, err error, same func(api.LoadBalancer) bool) error {
	if !cloudapi.Is(err, cloudapi.AlreadyExists) {
		return err
	}
	have, readErr := w.store.read(ctx, loadBalancerName(w.key))
	if readErr != nil {
		return fmt.Errorf("%w; reading it failed: %w", err, readErr)
	}
	if have.LoadBalancer != nil && same(*have.LoadBalancer) {
		return nil
	}
	return err
}

// updateLoadBalancer changes settings of a load balancer.
func (w writer) updateLoadBalancer(ctx context.Context, id string, patch api.LoadBalancerPatch) error {
	if err := w.active.wait(ctx); err != nil {
		return err
	}
	lb, err := w.api.UpdateLoadBalancer(ctx, id, patch)
	return w.finish(err, func(o *Observed) { o.LoadBalancer = &lb })
}

// upsert replaces the item that has the same name, or adds it.
func upsert[T any](items []T, item T, sameName func(T) bool) []T {
	i := slices.IndexFunc(items, sameName)
	if i < 0 {
		return append(items, item)
	}
	items[i] = item
	return items
}
