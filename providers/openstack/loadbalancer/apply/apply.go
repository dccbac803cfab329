// Package apply changes load balancers in Octavia: it serializes changes, waits until Octavia accepts the
// next one, and records the changes in the snapshot.
package apply

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

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
	// maxBusyAttempts limits the attempts of a change that Octavia rejects because of another one: our own are
	// serialized, so only another client can make Octavia reject the second attempt.
	maxBusyAttempts = 10
	// busyBackoff is the backoff for a load balancer that is ACTIVE and rejects changes because a part of it is
	// not.
	busyBackoff = time.Second
)

// Options of an Applier. All are required.
type Options struct {
	API   API
	Clock clock.Clock
	Store *observe.Store
	// Settings configure how load balancers are changed.
	Settings model.Settings
}

// Applier has the state that the changes of all Services share. It is safe for concurrent use.
type Applier struct {
	API        API
	clock      clock.Clock
	store      *observe.Store
	settings   model.Settings
	waiter     *waiter
	locks      locks.KeyedMutex
	orphans    *orphanPorts
	unanswered *unansweredCreations
	failed     *failedCreations
	reserved   *reservations
	// deniedTags are the denials of tags of floating IPs; noTags is set if Neutron has no such tags.
	deniedTags denials
	noTags     atomic.Bool
}

// New returns an Applier.
func New(o Options) *Applier {
	return &Applier{
		API: o.API, clock: o.Clock, store: o.Store, settings: o.Settings,
		waiter: newWaiter(o.API, o.Clock, o.Store), orphans: &orphanPorts{api: o.API, clock: o.Clock},
		unanswered: &unansweredCreations{clock: o.Clock, until: map[types.NamespacedName]time.Time{}},
		failed:     &failedCreations{clock: o.Clock, byService: map[types.NamespacedName]failedCreation{}},
		reserved:   &reservations{clock: o.Clock, byID: map[string]reservation{}},
		deniedTags: denials{clock: o.Clock},
	}
}

// ForgetUnanswered ends the wait for a creation without a reply: the load balancer exists.
func (a *Applier) ForgetUnanswered(key observe.Key) { a.unanswered.forget(key) }

// Replaced returns the load balancer of a Service that is replaced, until the next one is built; nil if there is none.
func (a *Applier) Replaced(key observe.Key) *api.LoadBalancer { return a.reserved.replaced(key) }

// TagState reports whether Neutron denied tags of floating IPs last, and whether they cannot be written now.
func (a *Applier) TagState() (denied, wait bool) {
	denied, wait = a.deniedTags.state()
	return denied, wait || a.noTags.Load()
}

// mutate makes one change in a load balancer once Octavia accepts changes, records it, and waits until the
// load balancer is ACTIVE again.
func (a *Applier) mutate(ctx context.Context, id string, do func(context.Context) error, record func()) error {
	unlock, err := a.locks.Lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	return a.mutateLocked(ctx, id, do, record)
}

// mutateLocked is mutate for a caller that holds the load balancer's lock.
func (a *Applier) mutateLocked(ctx context.Context, id string, do func(context.Context) error, record func()) error {
	if err := a.awaitActive(ctx, id); err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := do(ctx)
		if err == nil {
			break
		}
		if !oserr.IsImmutable(err) || attempt == maxBusyAttempts {
			return err
		}
		a.store.SetStatus(id, api.PendingUpdate)
		if attempt > 1 {
			if err := clocks.Sleep(ctx, a.clock, busyBackoff); err != nil {
				return err
			}
		}
		if err := a.awaitActive(ctx, id); err != nil {
			return err
		}
	}
	record()
	a.store.SetStatus(id, api.PendingUpdate)
	if err := a.awaitActive(ctx, id); err != nil {
		return err
	}
	a.store.SettleParts(id)
	return nil
}

// awaitActive waits until a load balancer accepts changes. It returns an error for one that never will.
func (a *Applier) awaitActive(ctx context.Context, id string) error {
	lb, ok := a.store.LoadBalancer(id)
	if ok && lb.ProvisioningStatus == api.Active {
		return nil
	}
	reason := waitForChange
	if lb.ProvisioningStatus == api.PendingCreate {
		reason = waitForCreation
	}
	if !ok || lb.ProvisioningStatus != api.Error {
		var deleted bool
		var err error
		if lb, deleted, err = a.waiter.await(ctx, id, reason); err != nil {
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
