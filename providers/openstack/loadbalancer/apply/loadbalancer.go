package apply

import (
	"context"
	"errors"
	"fmt"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/diff"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/oserr"
)

// CreateLoadBalancer creates a load balancer with everything in it. It returns an error while an earlier creation
// may still take effect.
func (w Writer) CreateLoadBalancer(ctx context.Context, spec loadbalancers.CreateOpts) (api.LoadBalancer, error) {
	if err := w.unanswered.check(w.Key); err != nil {
		return api.LoadBalancer{}, w.finish(err, nil)
	}
	w.reserved.renew(w.Key.Service(), 0)
	if err := w.reserved.checkPlace(w.Key.Service(), spec); err != nil {
		return api.LoadBalancer{}, w.finish(err, nil)
	}
	startedAt := w.clock.Now()
	created, err := w.API.CreateLoadBalancer(ctx, spec)
	w.unanswered.record(w.Key, err)
	if cloudapi.Is(err, cloudapi.Invalid, cloudapi.Quota, cloudapi.Denied, cloudapi.Conflict) {
		w.orphans.recordRefusal(ctx, spec, startedAt)
	}
	if err != nil {
		w.reserved.refusePlace(w.Key, err)
		return created, w.finish(err, nil)
	}
	w.reserved.remove(spec.VipPortID)
	w.store.RecordCreation(spec, created)
	return created, nil
}

// AwaitCreation waits until a new load balancer is ACTIVE.
func (w Writer) AwaitCreation(ctx context.Context, id string, want model.Desired) error {
	failed, err := w.awaitBuilt(ctx, id)
	if failed {
		err = w.creationFailed(ctx, id, want)
	}
	if err == nil {
		w.failed.forget(w.Key.Service())
		w.reserved.removeReplaced(w.Key)
		w.store.SettleParts(id)
	}
	return w.finish(err, nil)
}

// awaitBuilt waits until a load balancer that is being created is ACTIVE. It records and reports that Octavia failed to
// build it.
func (w Writer) awaitBuilt(ctx context.Context, id string) (failed bool, err error) {
	err = w.awaitActive(ctx, id)
	lb, ok := w.store.LoadBalancer(id)
	if failed = err != nil && ok && lb.ProvisioningStatus == api.Error; failed {
		w.store.FailCreation(id)
	}
	return failed, err
}

// creationFailed records that a load balancer that was just created is in the state ERROR.
func (w Writer) creationFailed(ctx context.Context, id string, want model.Desired) error {
	cause := ""
	if subnet := want.MemberSubnet; subnet.ID != "" && subnet.ID != want.LoadBalancer.SubnetID {
		if _, err := w.API.GetSubnet(ctx, subnet.ID); cloudapi.Is(err, cloudapi.NotFound) {
			cause = fmt.Sprintf("there is no subnet %s, which %s names for the members: correct it", subnet.ID, subnet.Source)
		}
	}
	return w.awaitRetry(w.failed.record(w.Key.Service(), id, want.CreationDigest(), cause))
}

// CheckCreationBackoff returns an error if a load balancer must stay in the state ERROR for now.
func (w Writer) CheckCreationBackoff(have api.LoadBalancer, want model.Desired) error {
	if have.ProvisioningStatus != api.Error {
		return nil
	}
	return w.awaitRetry(w.failed.check(w.Key.Service(), have.ID, want.CreationDigest()))
}

// awaitRetry renews the reservations of a Service until the attempt that an error allows. It returns the error.
func (w Writer) awaitRetry(err error) error {
	var failed *cloudapi.Error
	if errors.As(err, &failed) {
		w.reserved.renew(w.Key.Service(), failed.RetryAfter)
	}
	return err
}

// Reserve reserves floating IPs and ports for the Service, as far as no other one has reserved them.
func (w Writer) Reserve(ids ...string) { w.reserved.addFree(w.Key.Service(), ids...) }

// ReserveReplaced reserves a load balancer that is being deleted, its port and its floating IPs for the next one of the
// Service.
func (w Writer) ReserveReplaced(lb api.LoadBalancer) {
	w.Reserve(append(w.store.FloatingIPsAt(lb.VipPortID), lb.VipPortID)...)
	w.reserved.addReplaced(w.Key, lb)
}

// AwaitLoadBalancer waits until a load balancer that is still being created accepts changes.
func (w Writer) AwaitLoadBalancer(ctx context.Context, id string) error {
	_, err := w.awaitBuilt(ctx, id)
	return w.finish(err, nil)
}

// SecondSubnet returns a subnet of the other family in the network of the first; "" if there is none.
func (w Writer) SecondSubnet(ctx context.Context, place model.LoadBalancer, family v1.IPFamily) (string, error) {
	return observe.SecondSubnet(ctx, w.API, place, family)
}

// UpdateLoadBalancer changes settings of a load balancer, and its tags by retag if that is not nil.
func (w Writer) UpdateLoadBalancer(ctx context.Context, have api.LoadBalancer, patch loadbalancers.UpdateOpts,
	retag func([]string) []string) error {
	do, record := w.prepareUpdate(have, patch, retag)
	return w.mutate(ctx, have.ID, do, record)
}

// prepareUpdate returns the request of an update, and the function that records it. The request computes the tags when
// it is sent, under the lock: another Service that shares the load balancer may have changed them in the meantime.
func (w Writer) prepareUpdate(have api.LoadBalancer, patch loadbalancers.UpdateOpts,
	retag func([]string) []string) (do func(context.Context) error, record func()) {
	var updated api.LoadBalancer
	do = func(ctx context.Context) (err error) {
		if retag != nil {
			current, ok := w.store.LoadBalancer(have.ID)
			if !ok {
				current = have
			}
			patch.Tags = ptr.To(retag(current.Tags))
		}
		updated, err = w.API.UpdateLoadBalancer(ctx, have.ID, patch)
		return err
	}
	return do, func() { w.store.LoadBalancers.Put(have.ID, updated) }
}

// Leave removes the Service's tag from a load balancer, or deletes it if the Service is the last one that uses it. It
// holds the lock of the load balancer and reads it, so that of several Services that leave at the same time exactly the
// last one deletes it.
func (w Writer) Leave(ctx context.Context, have api.LoadBalancer, o diff.LeaveOptions) error {
	unlock, err := w.locks.Lock(ctx, have.ID)
	if err != nil {
		return err
	}
	defer unlock()
	deleted, err := w.deleteIfLast(ctx, have.ID, o)
	if deleted || err != nil {
		return err
	}
	do, record := w.prepareUpdate(have, loadbalancers.UpdateOpts{}, o.Retag)
	return w.finish(w.mutateLocked(ctx, have.ID, do, record), nil)
}

func (w Writer) deleteIfLast(ctx context.Context, id string, o diff.LeaveOptions) (bool, error) {
	if cached, ok := w.store.LoadBalancer(id); ok && len(w.Key.Guests(cached)) > 0 {
		return false, nil
	}
	lb, err := w.API.GetLoadBalancer(ctx, id)
	if missing, err := observe.IgnoreMissing(err); missing || err != nil {
		return missing, err
	}
	if !o.IsLast(lb) {
		return false, nil
	}
	if err := o.Release(ctx, lb); err != nil {
		return true, err
	}
	return true, w.finish(w.deleteLocked(ctx, lb), func() { w.store.Delete(lb.ID) })
}

// Failover requests a failover from Octavia, which builds a load balancer again, and waits until it is ACTIVE. A
// refusal is recorded: Octavia denies it to this client or does not support it with this driver.
func (w Writer) Failover(ctx context.Context, id string) error {
	unlock, err := w.locks.Lock(ctx, id)
	if err != nil {
		return w.finish(err, nil)
	}
	defer unlock()
	if err := w.API.FailoverLoadBalancer(ctx, id); err != nil {
		if cloudapi.Is(err, cloudapi.Denied, cloudapi.Invalid) {
			w.store.RefuseFailover(id)
			return fmt.Errorf("%w; Octavia refuses the failover: ask the cloud's operator for it, or approve the "+
				"replacement that is planned next", err)
		}
		return w.finish(err, nil)
	}
	w.store.SetStatus(id, api.PendingUpdate)
	if err := w.awaitActive(ctx, id); err != nil {
		return w.finish(err, nil)
	}
	w.store.SettleParts(id)
	return w.finish(nil, nil)
}

// DeleteLoadBalancer deletes a load balancer with everything in it, and waits until it is deleted. A denial proves
// nothing: the load balancer exists, and its Service keeps the finalizer until a permission or a user decides.
// It holds the lock of the load balancer, and reads it for check: another Service may share it since the plan.
func (w Writer) DeleteLoadBalancer(ctx context.Context, have api.LoadBalancer, listeners []api.Listener,
	pools []observe.Pool, check func(api.LoadBalancer) error) error {
	err := w.deleteAll(ctx, have, listeners, pools, check)
	if cloudapi.Is(err, cloudapi.Denied) {
		err = fmt.Errorf("%w; allow this manager to delete the load balancer %s, or delete it by hand", err, have.ID)
	}
	return w.finish(err, func() { w.store.Delete(have.ID) })
}

func (w Writer) deleteAll(ctx context.Context, have api.LoadBalancer, listeners []api.Listener,
	pools []observe.Pool, check func(api.LoadBalancer) error) error {
	unlock, err := w.locks.Lock(ctx, have.ID)
	if err != nil {
		return err
	}
	defer unlock()
	if check != nil {
		lb, err := w.API.GetLoadBalancer(ctx, have.ID)
		if missing, err := observe.IgnoreMissing(err); missing || err != nil {
			return err
		}
		if err := check(lb); err != nil {
			return err
		}
		w.reserved.add(w.Key.Service(), append(w.store.FloatingIPsAt(lb.VipPortID), lb.VipPortID)...)
		w.reserved.addReplaced(w.Key, lb)
	}
	if w.settings.NoCascade && have.ProvisioningStatus == api.Active {
		if err := w.deletePartsLocked(ctx, have.ID, listeners, pools); err != nil {
			return err
		}
	}
	return w.deleteLocked(ctx, have)
}

// deletePartsLocked deletes the parts of a load balancer one by one, for drivers that do not support cascading
// deletion. The caller holds the load balancer's lock.
func (w Writer) deletePartsLocked(ctx context.Context, id string, listeners []api.Listener,
	pools []observe.Pool) error {
	var deletions []func(context.Context) error
	for _, p := range pools {
		if p.MonitorID != "" {
			deletions = append(deletions, func(ctx context.Context) error { return w.API.DeleteHealthMonitor(ctx, p.MonitorID) })
		}
	}
	for _, p := range pools {
		deletions = append(deletions, func(ctx context.Context) error { return w.API.DeletePool(ctx, p.ID) })
	}
	for _, l := range listeners {
		deletions = append(deletions, func(ctx context.Context) error { return w.API.DeleteListener(ctx, l.ID) })
	}
	for _, remove := range deletions {
		err := w.Applier.mutateLocked(ctx, id, func(ctx context.Context) error {
			return cloudapi.IgnoreNotFound(remove(ctx))
		}, func() {})
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteLocked deletes one load balancer once Octavia accepts the deletion, and waits until it is deleted. The caller
// holds the load balancer's lock.
func (w Writer) deleteLocked(ctx context.Context, have api.LoadBalancer) error {
	deleting := have.ProvisioningStatus == api.PendingDelete
	for attempt := 1; !deleting; attempt++ {
		err := w.API.DeleteLoadBalancer(ctx, have.ID, !w.settings.NoCascade || have.ProvisioningStatus == api.Error)
		switch {
		case cloudapi.Is(err, cloudapi.NotFound):
			return nil
		case err == nil:
			deleting = true
			continue
		case !oserr.IsImmutable(err) || attempt == maxBusyAttempts:
			return err
		}
		lb, deleted, err := w.waiter.await(ctx, have.ID, waitForChange)
		if err != nil || deleted {
			return err
		}
		have.ProvisioningStatus = lb.ProvisioningStatus
	}
	w.store.Abandon(have.ID)
	lb, deleted, err := w.waiter.await(ctx, have.ID, waitForDeletion)
	if err != nil || deleted {
		return err
	}
	return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "load balancer " + have.ID,
		Err: fmt.Errorf("it is in the state %s instead of deleted: its deletion is tried again", lb.ProvisioningStatus)}
}
