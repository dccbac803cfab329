package assign

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/approval"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// ConditionMoveHeld is true while a Service selects another cloud than the one that has its load balancer. Its message
// has the ID that approves the move.
const ConditionMoveHeld = "unified-ccm.io/LoadBalancerMoveHeld"

const (
	reasonMoveHeld = "CloudChanged"
	reasonSolved   = "Solved"
	// storeGrace is how long an informer may lag behind a write of this process.
	storeGrace = 10 * time.Second
)

// follow compares a record with what its Service selects: it holds or starts a move, and ends one that has started.
func (s *Services) follow(ctx context.Context, service *v1.Service, r Record) (time.Duration, error) {
	s.reportMissing(service, r)
	if err := s.restore(ctx, service, r); err != nil {
		return 0, err
	}
	choice, problem := s.options.Of(service)
	moves := s.options.wants(service) && choice != r.Owner
	switch {
	case problem != "" && s.selectsNone(service):
		s.recorder.sendOnce(service, events.LoadBalancerCloudMissing, "The load balancer of this Service stays in "+r.Owner+
			": "+problem+".")
	case moves && choice == r.From && !s.isReady(service, r):
		// The old load balancer still has the traffic.
		return 0, s.change(ctx, service, Record{UID: r.UID, Owner: choice, From: r.Owner, Moves: r.Moves})
	case moves && r.From != "":
		return s.hold(ctx, service, r, "the move from "+r.From+" to "+r.Owner+" has to end first", "")
	case moves:
		return s.decideMove(ctx, service, r, choice)
	}
	if err := s.setHeld(ctx, service, ""); err != nil {
		return 0, err
	}
	return s.finish(ctx, service, r)
}

// decideMove begins a move that is approved, and holds another one.
func (s *Services) decideMove(ctx context.Context, service *v1.Service, r Record,
	choice string) (time.Duration, error) {
	runtime := s.access()
	id := approval.ID(string(r.UID), r.Owner, choice, fmt.Sprint(r.Moves))
	approved := ""
	if runtime.Approvals != nil {
		var err error
		if approved, err = runtime.Approvals.Approved(ctx, service); err != nil {
			klog.FromContext(ctx).Error(err, "Failed to read the approval of a move", "service", klog.KObj(service))
			approved = ""
		}
	}
	if runtime.Disruption != provider.AllowDisruption && !approval.Covers(approved, id) {
		where := "an approval"
		if runtime.Approvals != nil {
			where = runtime.Approvals.Place(service)
		}
		text := fmt.Sprintf("the Service selects %s, and %s has its load balancer: a move creates a load balancer with "+
			"another address in %s, and deletes that of %s after it; to approve it, set %s to %s", choice, r.Owner, choice,
			r.Owner, where, id)
		return s.hold(ctx, service, r, text, id)
	}
	moved := Record{UID: r.UID, Owner: choice, From: r.Owner, Moves: r.Moves + 1}
	if err := s.change(ctx, service, moved); err != nil {
		return 0, err
	}
	if approved == id {
		if err := runtime.Approvals.End(ctx, service, id); err != nil {
			// The record counts the moves, so that it is not used twice.
			klog.FromContext(ctx).Error(err, "Failed to remove the approval of a move", "service", klog.KObj(service))
		}
	}
	s.recorder.sendOnce(service, events.LoadBalancerMoving, fmt.Sprintf("The load balancer moves from %s to %s: it is "+
		"created in %s first, and deleted in %s %s after the new one has an address.", r.Owner, choice, choice, r.Owner,
		s.options.MoveDelay))
	return 0, nil
}

// change stores a record with another owner. The controllers of both clouds see it.
func (s *Services) change(ctx context.Context, service *v1.Service, r Record) error {
	s.update(service.UID, func(state *serviceState) { state.ready = false })
	if err := s.setHeld(ctx, service, ""); err != nil {
		return err
	}
	if err := s.store(ctx, service, r); err != nil {
		return err
	}
	// A cloud that had the Service before sees no difference, and has to report its address now.
	s.repeat(r.Owner, service)
	return nil
}

// hold reports a move that is held, and continues what has started.
func (s *Services) hold(ctx context.Context, service *v1.Service, r Record, text, id string) (time.Duration, error) {
	if id != "" {
		s.recorder.sendOnce(service, events.LoadBalancerMoveHeld, text+".")
	}
	if err := s.setHeld(ctx, service, text); err != nil {
		return 0, err
	}
	return s.finish(ctx, service, r)
}

// finish deletes what the old cloud of a move has, once the new load balancer has had an address for some time.
func (s *Services) finish(ctx context.Context, service *v1.Service, r Record) (time.Duration, error) {
	if r.From == "" || !s.options.wants(service) {
		return 0, nil // The controller of the owner deletes both.
	}
	if r.Ready == nil {
		if !s.state(service.UID).ready {
			return 0, nil // established queues it.
		}
		r.Ready = ptr.To(metav1.NewTime(s.clock.Now().UTC().Truncate(time.Second)))
		if err := s.store(ctx, service, r); err != nil {
			return 0, err
		}
	}
	if wait := s.options.MoveDelay - s.clock.Since(r.Ready.Time); wait > 0 {
		return wait, nil
	}
	if err := s.deleteFrom(ctx, service, r); err != nil {
		return 0, err
	}
	// The controller of the old cloud may have written its address after that of the owner: a call that started before
	// the record changed.
	s.repeat(r.Owner, service)
	return 0, nil
}

// repeat makes the controller of a cloud sync a Service that it knows.
func (s *Services) repeat(cloud string, service *v1.Service) {
	if view := s.views[cloud]; view != nil {
		view.Repeat(service)
	}
}

// lock waits for the changes of the load balancer of a Service in a cloud, but for those of members and audits, which
// create nothing for a Service of another cloud.
func (s *Services) lock(ctx context.Context, cloud string, service *v1.Service) (unlock func(), err error) {
	unlock, err = s.changes.Lock(ctx, cloud+"/"+cache.MetaObjectToName(service).String())
	if err != nil {
		return nil, fmt.Errorf("waiting for another change of the load balancer in %s to finish: %w", cloud, err)
	}
	return unlock, nil
}

// deleteFrom deletes what the old cloud of a move has, and stores that nothing is left.
func (s *Services) deleteFrom(ctx context.Context, service *v1.Service, r Record) error {
	cloud, ok := s.cloud(r.From)
	if !ok {
		return fmt.Errorf("the load balancer in %s cannot be deleted: it is not one of --cloud-provider", r.From)
	}
	unlock, err := s.lock(ctx, r.From, service)
	if err != nil {
		return err
	}
	defer unlock()
	switch now, _ := s.known(service); {
	case now.From == "":
		return nil // Another call has deleted it.
	case now.From != r.From:
		return fmt.Errorf("the load balancer in %s stays: its move was taken back", r.From)
	}
	if cloud.Balancer != nil {
		if !cloud.Started() {
			return fmt.Errorf("%s: %w", cloud.Name, errNotStarted)
		}
		err := cloud.Balancer.EnsureLoadBalancerDeleted(ctx, s.options.ClusterName, removed(service, s.clock.Now()))
		if err != nil {
			return fmt.Errorf("deleting the old load balancer in %s: %w", cloud.Name, err)
		}
	}
	r.From, r.Ready = "", nil
	return s.store(ctx, service, r)
}

// removed returns a Service as its old cloud has to see it: as one that is being deleted, so that nothing about the
// new load balancer in its status is changed.
func removed(service *v1.Service, now time.Time) *v1.Service {
	copied := service.DeepCopy()
	if copied.DeletionTimestamp.IsZero() {
		copied.DeletionTimestamp = ptr.To(metav1.NewTime(now))
	}
	return copied
}

// established records that the load balancer of the owner has an address.
func (s *Services) established(service *v1.Service) {
	s.update(service.UID, func(state *serviceState) { state.ready = true })
	s.runner.add(service.Namespace + "/" + service.Name)
}

func (s *Services) isReady(service *v1.Service, r Record) bool {
	return r.Ready != nil || s.state(service.UID).ready
}

// reportMissing sends an Event about a Service whose load balancer is in a cloud that is none of these.
func (s *Services) reportMissing(service *v1.Service, r Record) {
	for _, name := range []string{r.Owner, r.From} {
		if _, ok := s.cloud(name); name == "" || ok {
			continue
		}
		if choice, _ := s.options.Of(service); choice == "" && len(s.options.Clouds) == 1 {
			continue // It is that of another manager.
		}
		s.recorder.sendOnce(service, events.LoadBalancerCloudMissing, fmt.Sprintf("%s has the load balancer of this Service "+
			"and is not one of --cloud-provider: nothing is changed there, and the Service keeps its finalizer.", name))
	}
}

// access returns the manager's access to the cluster.
func (s *Services) access() provider.Runtime {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runtime
}

// restore stores a record again that the Service lacks, because another client has overwritten its conditions.
func (s *Services) restore(ctx context.Context, service *v1.Service, r Record) error {
	stored, ok := StoredRecord(service)
	state := s.state(service.UID)
	if ok && stored.equal(r) || state.known && s.clock.Since(state.storedAt) < storeGrace {
		return nil
	}
	return s.store(ctx, service, r)
}

// store writes a record to the status of its Service, and shows it to the controllers of all clouds after that.
func (s *Services) store(ctx context.Context, service *v1.Service, r Record) error {
	if set := s.access().SetCondition; set != nil {
		condition, err := r.condition(metav1.NewTime(s.clock.Now()))
		if err == nil {
			err = set(ctx, service, condition)
		}
		if err != nil {
			return fmt.Errorf("storing the cloud of a load balancer in the status of its Service: %w", err)
		}
	}
	s.update(service.UID, func(state *serviceState) {
		state.record, state.known = r, true
		state.stored, state.storedAt = r, s.clock.Now()
	})
	for _, view := range s.views {
		view.Refresh(service)
	}
	return nil
}

// leave removes the record from a Service that stays without a load balancer, once no cloud has anything of it: whoever
// edits the Service may have removed the finalizer, too. Controllers of the clouds delete nothing without the record.
func (s *Services) leave(ctx context.Context, service *v1.Service, r Record) error {
	for _, name := range []string{r.From, r.Owner} {
		cloud, ok := s.cloud(name)
		if !ok || cloud.Balancer == nil {
			continue
		}
		if !cloud.Started() {
			return fmt.Errorf("%s: %w", name, errNotStarted)
		}
		if err := cloud.Balancer.EnsureLoadBalancerDeleted(ctx, s.options.ClusterName, service); err != nil {
			return fmt.Errorf("deleting the load balancer of a Service that has none any more in %s: %w", name, err)
		}
	}
	return s.removeRecord(ctx, service)
}

// removeRecord removes the record from a Service that stays without a load balancer.
func (s *Services) removeRecord(ctx context.Context, service *v1.Service) error {
	_, stored := StoredRecord(service)
	if set := s.access().SetCondition; set != nil && stored {
		if err := set(ctx, service, metav1.Condition{Type: ConditionOwner}); err != nil {
			return fmt.Errorf("removing the cloud of a load balancer from the status of its Service: %w", err)
		}
	}
	if err := s.setHeld(ctx, service, ""); err != nil {
		return err
	}
	s.mu.Lock()
	delete(s.states, service.UID)
	s.mu.Unlock()
	for _, view := range s.views {
		view.Refresh(service)
	}
	return nil
}

// setHeld sets the condition ConditionMoveHeld to true with a message, or to false without one. It writes nothing if
// the Service has it, or never had one.
func (s *Services) setHeld(ctx context.Context, service *v1.Service, message string) error {
	if message == "" {
		s.recorder.forget(service, events.LoadBalancerMoveHeld)
	}
	set := s.access().SetCondition
	current := meta.FindStatusCondition(service.Status.Conditions, ConditionMoveHeld)
	was := ""
	if current != nil && current.Status == metav1.ConditionTrue {
		was = current.Message
	}
	if state := s.state(service.UID); set == nil || was == message && (state.held == "" || state.held == message) {
		return nil
	}
	condition := metav1.Condition{
		Type: ConditionMoveHeld, Status: metav1.ConditionTrue, Reason: reasonMoveHeld, Message: message,
		LastTransitionTime: metav1.NewTime(s.clock.Now()),
	}
	if message == "" {
		condition.Status, condition.Reason = metav1.ConditionFalse, reasonSolved
	}
	if err := set(ctx, service, condition); err != nil {
		return fmt.Errorf("reporting a held move in the status of a Service: %w", err)
	}
	s.update(service.UID, func(state *serviceState) { state.held = message })
	return nil
}
