package assign

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// Whoever edits a Service, or the flags of the manager, moves nothing without an approval.
func TestChangedChoiceIsHeld(t *testing.T) {
	for name, change := range map[string]func(*serviceTest){
		"by an annotation": func(s *serviceTest) { s.edit(selecting("b")) },
		"by the default":   func(s *serviceTest) { s.start("b", "a") },
		"by a class, after its type was changed": func(s *serviceTest) {
			s.edit(func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeClusterIP })
			s.edit(func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeLoadBalancer }, classed("unified-ccm.io/b"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServiceTest(t, web(finalized))
				s.a.exist = true
				s.start("a", "b")
				s.want("a", "a")
				change(s)
				time.Sleep(time.Hour)
				s.want("a", "a")
				if s.heldID() == "" || s.b.has() {
					t.Errorf("held %q, a second load balancer: %t", s.heldID(), s.b.has())
				}
				s.edit(approving("another-id"))
				s.want("a", "a")
				if err := s.ensure("b"); !errors.Is(err, cloudprovider.ImplementedElsewhere) {
					t.Errorf("the other cloud: %v", err)
				}
				writes := s.writes.Load()
				time.Sleep(time.Hour)
				s.edit(func(s *v1.Service) { s.Labels = map[string]string{"a": "b"} })
				if s.writes.Load() != writes {
					t.Errorf("%d further writes", s.writes.Load()-writes)
				}
			})
		})
	}
}

// A move creates first and deletes last, however often it is interrupted.
func TestApprovedMove(t *testing.T) {
	for name, restarts := range map[string]bool{"in one process": false, "with restarts": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServiceTest(t, web(finalized))
				restart := func() {
					if restarts {
						s.start("a", "b")
					}
				}
				s.a.exist = true
				s.start("a", "b")
				s.edit(selecting("b"))
				s.edit(approving(s.heldID()))
				s.want("a to b", "a", "b")
				if got := s.current().Annotations[intent.KeyApprove]; got != "" {
					t.Errorf("the approval stays: %q", got)
				}
				restart()
				s.b.fail(errors.New("quota"))
				if err := s.ensure("b"); err == nil {
					t.Error("no error")
				}
				// The old load balancer follows the nodes, and does not report its address.
				if err := s.ensure("a"); !errors.Is(err, cloudprovider.ImplementedElsewhere) || !slices.Contains(s.a.made(), "ensure") {
					t.Errorf("the old cloud: %v", err)
				}
				time.Sleep(24 * time.Hour)
				if !s.a.has() {
					t.Fatal("the old load balancer is deleted before the new one exists")
				}
				s.b.fail(nil)
				if err := s.ensure("b"); err != nil {
					t.Error(err)
				}
				restart()
				time.Sleep(DefaultMoveDelay - time.Minute)
				if !s.a.has() || !s.b.has() {
					t.Errorf("a %t, b %t, want both for %s", s.a.has(), s.b.has(), DefaultMoveDelay)
				}
				s.a.fail(errors.New("503"))
				time.Sleep(time.Hour)
				s.want("a to b", "a", "b")
				restart()
				s.a.fail(nil)
				time.Sleep(time.Hour)
				s.want("b", "b")
				if s.a.has() || !s.b.has() {
					t.Errorf("a %t, b %t", s.a.has(), s.b.has())
				}
				if s.heldID() != "" {
					t.Error("the move is still held")
				}
			})
		})
	}
}

// A Service that is deleted in the middle of a move leaves nothing behind, and keeps its finalizer until then.
func TestDeletionDuringAMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServiceTest(t, web(finalized))
		s.a.exist = true
		s.start("a", "b")
		s.edit(selecting("b"))
		s.edit(approving(s.heldID()))
		if err := s.ensure("b"); err != nil {
			t.Fatal(err)
		}
		s.edit(func(s *v1.Service) { s.DeletionTimestamp = ptr.To(metav1.Now()) })
		s.want("a to b", "b")
		balancer, _ := s.Balancer("b")
		s.a.fail(errors.New("503"))
		if _, exists, err := balancer.GetLoadBalancer(t.Context(), "c", s.current()); err != nil || !exists {
			t.Errorf("exists %t, %v", exists, err)
		}
		if err := balancer.EnsureLoadBalancerDeleted(t.Context(), "c", s.current()); err == nil {
			t.Error("the finalizer would be removed while a load balancer is left")
		}
		s.a.fail(nil)
		if err := balancer.EnsureLoadBalancerDeleted(t.Context(), "c", s.current()); err != nil || s.a.has() || s.b.has() {
			t.Errorf("%v, a %t, b %t", err, s.a.has(), s.b.has())
		}
	})
}

// Going back before the new load balancer has an address needs no approval: the old one has the traffic.
func TestMoveIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMoveTest(t)
		s.edit(selecting("a"))
		s.want("b to a", "a", "b")
		if err := s.ensure("a"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		s.want("a", "a")
	})
}

// The controller of the old cloud gets its Service again when a move to another one is taken back, and the other one
// creates nothing any more.
func TestMoveIsTakenBackBeforeAnythingExists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMoveTest(t)
		added := s.additions("a")
		s.edit(selecting("a"))
		s.want("b to a", "a", "b")
		if added() != 1 {
			t.Errorf("the controller of a got the Service %d times", added())
		}
		if err := s.ensure("b"); !errors.Is(err, cloudprovider.ImplementedElsewhere) || s.b.has() {
			t.Errorf("b: %v, and it has a load balancer: %t", err, s.b.has())
		}
		if err := s.ensure("a"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		s.want("a", "a")
	})
}

// A cloud that loses its Service during a call does not report its address after it, and the owner's controller syncs
// once more when the move has ended: the other's may have written its address just before.
func TestMoveIsTakenBackDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMoveTest(t)
		s.b.during = func() {
			s.edit(selecting("a"))
			s.want("b to a", "a", "b")
		}
		if err := s.ensure("b"); !errors.Is(err, cloudprovider.ImplementedElsewhere) {
			t.Errorf("b: %v, and its address would replace that of a", err)
		}
		if err := s.ensure("a"); err != nil {
			t.Error(err)
		}
		added := s.additions("a")
		time.Sleep(time.Hour)
		s.want("a", "a")
		if s.b.has() || added() != 1 {
			t.Errorf("b has a load balancer: %t; the controller of a got the Service %d times", s.b.has(), added())
		}
	})
}

// The framework removes the finalizer after a deletion without an error: a move that starts between its question and its
// deletion leaves the load balancer of the old cloud to the next owner.
func TestMoveStartsDuringADeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMoveTest(t)
		s.edit(func(s *v1.Service) { s.DeletionTimestamp = ptr.To(metav1.Now()) })
		a, _ := s.Balancer("a")
		if err := a.EnsureLoadBalancerDeleted(t.Context(), "c", s.current()); err == nil && s.a.has() {
			t.Error("the finalizer would be removed while a load balancer is left")
		}
		b, _ := s.Balancer("b")
		if err := b.EnsureLoadBalancerDeleted(t.Context(), "c", s.current()); err != nil || s.a.has() {
			t.Errorf("%v, a has a load balancer: %t", err, s.a.has())
		}
	})
}

// The old cloud of a move makes nothing again that is being deleted there when its Service is edited.
func TestEditDuringTheEndOfAMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMoveTest(t)
		if err := s.ensure("b"); err != nil {
			t.Fatal(err)
		}
		s.a.delay(time.Minute)
		time.Sleep(DefaultMoveDelay + time.Second)
		if !s.a.has() {
			t.Fatal("the deletion has ended")
		}
		a, _ := s.Balancer("a")
		if _, err := a.EnsureLoadBalancer(t.Context(), "c", s.current(), nil); !errors.Is(err, cloudprovider.ImplementedElsewhere) {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		s.want("b", "b")
		if s.a.has() || !s.b.has() {
			t.Errorf("a %t, b %t", s.a.has(), s.b.has())
		}
	})
}

// additions returns how often the controller of a cloud gets a Service that it knows, from now on.
func (s *serviceTest) additions(cloud string) func() int64 {
	s.t.Helper()
	var added atomic.Int64
	handler := cache.ResourceEventHandlerFuncs{AddFunc: func(any) { added.Add(1) }}
	if _, err := s.Of(cloud).Informer().AddEventHandler(handler); err != nil {
		s.t.Fatal(err)
	}
	synctest.Wait()
	before := added.Load()
	return func() int64 { return added.Load() - before }
}

// newMoveTest returns an assignment with a Service whose move from a to b has started.
func newMoveTest(t *testing.T) *serviceTest {
	t.Helper()
	s := newServiceTest(t, web(finalized))
	s.a.exist = true
	s.start("a", "b")
	s.edit(selecting("b"))
	s.edit(approving(s.heldID()))
	s.want("a to b", "a", "b")
	return s
}
