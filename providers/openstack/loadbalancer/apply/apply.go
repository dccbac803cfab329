// Package apply changes load balancers in Octavia: it serializes changes, waits until Octavia accepts the
// next one, and records the changes in the snapshot.
package apply

import (
	"context"
	"fmt"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

const (
	// busyTries is the number of attempts of a change that Octavia rejects because of another one: our own are
	// serialized, so only another client can make Octavia reject the second attempt.
	busyTries = 10
	// busyPause is the backoff for a load balancer that is ACTIVE and rejects changes because a part of it is
	// not.
	busyPause = time.Second
)

// API has the calls to OpenStack for changes.
type API interface {
	api.LoadBalancingAPI
	api.NetworkAPI
	api.KeyManagerAPI
}

// Options of an Applier. All are required.
type Options struct {
	API   API
	Clock clock.Clock
	Store *observe.Store
	// Settings configure how load balancers are changed.
	Settings model.Settings
}

// Applier makes changes. It is safe for concurrent use.
type Applier struct {
	API        API
	clock      clock.Clock
	store      *observe.Store
	settings   model.Settings
	waiter     *waiter
	locks      locks.KeyedMutex
	orphans    *orphanPorts
	unanswered *unanswered
	failed     *failedCreations
}

// New returns an Applier.
func New(o Options) *Applier {
	return &Applier{
		API: o.API, clock: o.Clock, store: o.Store, settings: o.Settings,
		waiter: newWaiter(o.API, o.Clock, o.Store), orphans: &orphanPorts{api: o.API, clock: o.Clock},
		unanswered: &unanswered{clock: o.Clock, until: map[types.NamespacedName]time.Time{}},
		failed:     &failedCreations{clock: o.Clock, byService: map[types.NamespacedName]failedCreation{}},
	}
}

// Create creates a load balancer with everything in it. It returns an error while an earlier creation may
// still take effect.
func (a *Applier) Create(ctx context.Context, key observe.Key, spec loadbalancers.CreateOpts,
) (api.LoadBalancer, error) {
	if err := a.unanswered.check(key); err != nil {
		return api.LoadBalancer{}, err
	}
	startedAt := a.clock.Now()
	made, err := a.API.CreateLoadBalancer(ctx, spec)
	a.unanswered.note(key, err)
	if cloudapi.Is(err, cloudapi.Invalid, cloudapi.Quota, cloudapi.Denied, cloudapi.Conflict) {
		a.orphans.noteRefusal(ctx, spec, startedAt)
	}
	if err == nil {
		a.store.Created(spec, made)
	}
	return made, err
}

// Found ends the wait for a creation without a reply: the load balancer exists.
func (a *Applier) Found(key observe.Key) { a.unanswered.forget(key) }

// AwaitCreation waits until a new load balancer is ACTIVE.
func (a *Applier) AwaitCreation(ctx context.Context, key observe.Key, id string, want model.Desired) error {
	err := a.AtRest(ctx, id)
	if lb, ok := a.store.LoadBalancer(id); err != nil && ok && lb.ProvisioningStatus == api.Error {
		return a.creationFailed(ctx, key, id, want)
	}
	if err != nil {
		return err
	}
	a.failed.forget(key.Service())
	a.store.SettleParts(id)
	return nil
}

// Lock waits until no other change of a load balancer, or of a port of a node, is in flight, however many
// Services share it.
func (a *Applier) Lock(ctx context.Context, id string) (unlock func(), err error) {
	return a.locks.Lock(ctx, id)
}

// Mutate makes one change in a load balancer once Octavia accepts changes, records it, and waits until the
// load balancer is ACTIVE again.
func (a *Applier) Mutate(ctx context.Context, id string, do func(context.Context) error, record func()) error {
	unlock, err := a.locks.Lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	return a.MutateLocked(ctx, id, do, record)
}

// MutateLocked is Mutate for a caller that holds the load balancer's lock.
func (a *Applier) MutateLocked(ctx context.Context, id string, do func(context.Context) error, record func()) error {
	if err := a.AtRest(ctx, id); err != nil {
		return err
	}
	for try := 1; ; try++ {
		err := do(ctx)
		if err == nil {
			break
		}
		if !oserr.Immutable(err) || try == busyTries {
			return err
		}
		a.store.SetStatus(id, api.PendingUpdate)
		if try > 1 {
			if err := clocks.Sleep(ctx, a.clock, busyPause); err != nil {
				return err
			}
		}
		if err := a.AtRest(ctx, id); err != nil {
			return err
		}
	}
	record()
	a.store.SetStatus(id, api.PendingUpdate)
	if err := a.AtRest(ctx, id); err != nil {
		return err
	}
	a.store.SettleParts(id)
	return nil
}

// AtRest waits until a load balancer accepts changes. It returns an error for one that never will.
func (a *Applier) AtRest(ctx context.Context, id string) error {
	lb, ok := a.store.LoadBalancer(id)
	if ok && lb.ProvisioningStatus == api.Active {
		return nil
	}
	why := changing
	if lb.ProvisioningStatus == api.PendingCreate {
		why = booting
	}
	if !ok || lb.ProvisioningStatus != api.Error {
		var deleted bool
		var err error
		if lb, deleted, err = a.waiter.await(ctx, id, why); err != nil {
			return err
		}
		if deleted {
			a.store.Delete(id)
			return &cloudapi.Error{Class: cloudapi.NotFound, Operation: "load balancer " + id,
				Err: fmt.Errorf("it was deleted while it was being changed")}
		}
	}
	if lb.ProvisioningStatus == api.Active {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "load balancer " + id,
		Err: fmt.Errorf("it is in the state %s, in which Octavia changes nothing: approve the failover that an Event of the "+
			"Service names, or ask the cloud's operator for one",
			lb.ProvisioningStatus)}
}

// Failover requests a failover from Octavia, which builds a load balancer again, and waits until it is
// ACTIVE. Refused is true if Octavia denies it to this client or does not support it with this driver.
func (a *Applier) Failover(ctx context.Context, id string) (refused bool, err error) {
	unlock, err := a.locks.Lock(ctx, id)
	if err != nil {
		return false, err
	}
	defer unlock()
	if err := a.API.FailoverLoadBalancer(ctx, id); err != nil {
		return cloudapi.Is(err, cloudapi.Denied, cloudapi.Invalid), err
	}
	a.store.SetStatus(id, api.PendingUpdate)
	if err := a.AtRest(ctx, id); err != nil {
		return false, err
	}
	a.store.SettleParts(id)
	return false, nil
}

// Delete deletes a load balancer with everything in it, and waits until it does not exist any more.
func (a *Applier) Delete(ctx context.Context, have api.LoadBalancer, listeners []api.Listener,
	pools []observe.Pool) error {
	if a.settings.NoCascade && have.ProvisioningStatus == api.Active {
		if err := a.deleteParts(ctx, have.ID, listeners, pools); err != nil {
			return err
		}
	}
	return a.delete(ctx, have)
}

// deleteParts deletes the parts of a load balancer one by one, for drivers that do not support cascading
// deletion.
func (a *Applier) deleteParts(ctx context.Context, id string, listeners []api.Listener, pools []observe.Pool) error {
	nothing := func() {}
	for _, p := range pools {
		if p.MonitorID == "" {
			continue
		}
		if err := a.Mutate(ctx, id, func(ctx context.Context) error {
			return cloudapi.IgnoreNotFound(a.API.DeleteHealthMonitor(ctx, p.MonitorID))
		}, nothing); err != nil {
			return err
		}
	}
	for _, p := range pools {
		if err := a.Mutate(ctx, id, func(ctx context.Context) error {
			return cloudapi.IgnoreNotFound(a.API.DeletePool(ctx, p.ID))
		}, nothing); err != nil {
			return err
		}
	}
	for _, l := range listeners {
		if err := a.Mutate(ctx, id, func(ctx context.Context) error {
			return cloudapi.IgnoreNotFound(a.API.DeleteListener(ctx, l.ID))
		}, nothing); err != nil {
			return err
		}
	}
	return nil
}

// delete deletes one load balancer once Octavia accepts the deletion, and waits until it is deleted.
func (a *Applier) delete(ctx context.Context, have api.LoadBalancer) error {
	done, err := a.locks.Lock(ctx, have.ID)
	if err != nil {
		return err
	}
	defer done()
	return a.DeleteLocked(ctx, have)
}

// DeleteLocked is delete for a caller that holds the load balancer's lock.
func (a *Applier) DeleteLocked(ctx context.Context, have api.LoadBalancer) error {
	deleting := have.ProvisioningStatus == api.PendingDelete
	for try := 1; !deleting; try++ {
		err := a.API.DeleteLoadBalancer(ctx, have.ID, !a.settings.NoCascade || have.ProvisioningStatus == api.Error)
		switch {
		case cloudapi.Is(err, cloudapi.NotFound):
			return nil
		case err == nil:
			deleting = true
			continue
		case !oserr.Immutable(err) || try == busyTries:
			return err
		}
		lb, deleted, err := a.waiter.await(ctx, have.ID, changing)
		if err != nil || deleted {
			return err
		}
		have.ProvisioningStatus = lb.ProvisioningStatus
	}
	a.store.SetStatus(have.ID, api.PendingDelete)
	lb, deleted, err := a.waiter.await(ctx, have.ID, leaving)
	if err != nil || deleted {
		return err
	}
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "load balancer " + have.ID,
		Err: fmt.Errorf("it is in the state %s instead of deleted: its deletion is tried again", lb.ProvisioningStatus)}
}
