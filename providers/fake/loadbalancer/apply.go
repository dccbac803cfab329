package loadbalancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
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

// createLoadBalancer creates a load balancer. If its name exists, an earlier creation lost its reply, or
// another cluster uses the name: its tags distinguish the two.
func (w writer) createLoadBalancer(ctx context.Context, spec api.LoadBalancerSpec) (api.LoadBalancer, error) {
	lb, err := w.api.CreateLoadBalancer(ctx, spec)
	if cloudapi.Is(err, cloudapi.AlreadyExists) {
		have, readErr := w.store.read(ctx, spec.Name)
		switch {
		case readErr != nil:
			return lb, errors.Join(err, readErr)
		case have.LoadBalancer == nil:
			return lb, err
		case foreignOwner(w.key, have.LoadBalancer.Cluster, have.LoadBalancer.Tags) != "":
			return lb, foreignLoadBalancerError(w.key, *have.LoadBalancer)
		}
		return *have.LoadBalancer, nil
	}
	return lb, w.finish(err, func(o *Observed) { o.LoadBalancer = &lb })
}

// updateLoadBalancer changes settings of a load balancer.
func (w writer) updateLoadBalancer(ctx context.Context, id string, patch api.LoadBalancerPatch) error {
	if err := w.active.wait(ctx); err != nil {
		return err
	}
	lb, err := w.api.UpdateLoadBalancer(ctx, id, patch)
	return w.finish(err, func(o *Observed) { o.LoadBalancer = &lb })
}

// deleteLoadBalancer deletes a load balancer with its listeners and pools.
func (w writer) deleteLoadBalancer(ctx context.Context, id string) error {
	err := cloudapi.IgnoreNotFound(w.api.DeleteLoadBalancer(ctx, id))
	return w.finish(err, func(o *Observed) { o.removeLoadBalancer() })
}

// allocateAddress allocates an address. If its name exists, an earlier allocation lost its reply, or another
// cluster uses the name: its tags distinguish the two.
func (w writer) allocateAddress(ctx context.Context, spec api.AddressSpec) (api.Address, error) {
	address, err := w.api.AllocateAddress(ctx, spec)
	if cloudapi.Is(err, cloudapi.Quota) {
		err = fmt.Errorf("%w: delete Services that are not needed, or give the cloud a larger address pool "+
			"(without endpoint: address-pool in section [Global])", err)
	}
	if !cloudapi.Is(err, cloudapi.AlreadyExists) {
		return address, w.finish(err, func(o *Observed) { o.Addresses = append(slices.Clone(o.Addresses), address) })
	}
	have, readErr := w.store.read(ctx, loadBalancerName(w.key))
	if readErr != nil {
		return address, fmt.Errorf("%w; reading it failed: %w", err, readErr)
	}
	i := slices.IndexFunc(have.Addresses, func(a api.Address) bool { return a.Name == spec.Name })
	if i < 0 {
		return address, err
	}
	if owner := foreignOwner(w.key, have.Addresses[i].Cluster, have.Addresses[i].Tags); owner != "" {
		return address, foreignAddressError(w.key, have.Addresses[i], owner)
	}
	return have.Addresses[i], nil
}

// releaseAddress releases an address.
func (w writer) releaseAddress(ctx context.Context, id string) error {
	err := cloudapi.IgnoreNotFound(w.api.ReleaseAddress(ctx, id))
	return w.finish(err, func(o *Observed) {
		o.Addresses = slices.DeleteFunc(slices.Clone(o.Addresses), func(a api.Address) bool { return a.ID == id })
	})
}

// createListener creates a listener of a load balancer. An existing one that is the same counts as created.
func (w writer) createListener(ctx context.Context, lbID string, want api.Listener, same func(api.Listener) bool,
) error {
	listener, err := w.api.CreateListener(ctx, lbID, want)
	err = w.acceptExisting(ctx, err, func(lb api.LoadBalancer) bool {
		return slices.ContainsFunc(lb.Listeners, func(l api.Listener) bool {
			listener = l
			return same(l)
		})
	})
	return w.finishListener(err, listener)
}

// updateListener changes a listener.
func (w writer) updateListener(ctx context.Context, lbID, name string, patch api.ListenerPatch) error {
	if err := w.active.wait(ctx); err != nil {
		return err
	}
	listener, err := w.api.UpdateListener(ctx, lbID, name, patch)
	return w.finishListener(err, listener)
}

// deleteListener deletes a listener.
func (w writer) deleteListener(ctx context.Context, lbID, name string) error {
	if err := w.active.wait(ctx); err != nil {
		return err
	}
	err := cloudapi.IgnoreNotFound(w.api.DeleteListener(ctx, lbID, name))
	return w.finishChild(err, func(lb *api.LoadBalancer) {
		lb.Listeners = slices.DeleteFunc(lb.Listeners, func(l api.Listener) bool { return l.Name == name })
	})
}

func (w writer) finishListener(err error, listener api.Listener) error {
	return w.finishChild(err, func(lb *api.LoadBalancer) {
		lb.Listeners = upsert(lb.Listeners, listener, func(l api.Listener) bool { return l.Name == listener.Name })
	})
}

// createPool creates a pool of a load balancer, with its members. An existing one that is the same counts as created.
func (w writer) createPool(ctx context.Context, lbID string, want api.Pool, same func(api.Pool) bool) error {
	pool, err := w.api.CreatePool(ctx, lbID, want)
	err = w.acceptExisting(ctx, err, func(lb api.LoadBalancer) bool {
		return slices.ContainsFunc(lb.Pools, func(p api.Pool) bool {
			pool = p
			return same(p)
		})
	})
	return w.finishPool(err, pool)
}

// updatePool changes settings of a pool.
func (w writer) updatePool(ctx context.Context, lbID, name string, patch api.PoolPatch) error {
	if err := w.active.wait(ctx); err != nil {
		return err
	}
	pool, err := w.api.UpdatePool(ctx, lbID, name, patch)
	return w.finishPool(err, pool)
}

// setMembers replaces the members of a pool.
func (w writer) setMembers(ctx context.Context, lbID, name string, members []api.Member) error {
	if err := w.active.wait(ctx); err != nil {
		return err
	}
	pool, err := w.api.SetMembers(ctx, lbID, name, members)
	return w.finishPool(err, pool)
}

// deletePool deletes a pool.
func (w writer) deletePool(ctx context.Context, lbID, name string) error {
	if err := w.active.wait(ctx); err != nil {
		return err
	}
	err := cloudapi.IgnoreNotFound(w.api.DeletePool(ctx, lbID, name))
	return w.finishChild(err, func(lb *api.LoadBalancer) {
		lb.Pools = slices.DeleteFunc(lb.Pools, func(p api.Pool) bool { return p.Name == name })
	})
}

func (w writer) finishPool(err error, pool api.Pool) error {
	return w.finishChild(err, func(lb *api.LoadBalancer) {
		lb.Pools = upsert(lb.Pools, pool, func(p api.Pool) bool { return p.Name == pool.Name })
	})
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
