package assign

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
)

func TestServiceSelectsItsCloud(t *testing.T) {
	for name, tc := range map[string]struct {
		service *v1.Service
		want    string
		events  []string
	}{
		"nothing":                         {web(), "a", nil},
		"a class":                         {web(classed("unified-ccm.io/b")), "b", nil},
		"an annotation":                   {web(selecting("b")), "b", nil},
		"a class before an annotation":    {web(classed("unified-ccm.io/a"), selecting("b")), "a", nil},
		"the class of another controller": {web(classed("example.com/lb")), "", nil},
		"a cloud that is not there":       {web(selecting("c")), "", []string{"LoadBalancerCloudMissing"}},
		"no load balancer":                {web(func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeClusterIP }), "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServiceTest(t, tc.service)
				s.start("a", "b")
				var sees []string
				if tc.want != "" {
					sees = []string{tc.want}
				}
				s.want(tc.want, sees...)
				if diff := cmp.Diff(tc.events, s.said()); diff != "" {
					t.Errorf("Events (-want +got):\n%s", diff)
				}
				if calls := slices.Concat(s.a.made(), s.b.made()); len(calls) > 0 {
					t.Errorf("a Service that cannot have a load balancer is looked for: %v", calls)
				}
			})
		})
	}
}

// A new Service does not wait for a cloud that does not answer.
func TestSickCloudDelaysNoServiceOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServiceTest(t, web())
		s.b.fail(errors.New("503"))
		s.start("a", "b")
		s.want("a", "a")
	})
}

// A Service without a record is looked for in all clouds: a cloud that does not have it must not remove its finalizer.
func TestServiceWithoutRecordIsLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServiceTest(t, web(finalized))
		s.b.exist = true
		s.a.fail(errors.New("503"))
		s.start("a", "b")
		s.want("")
		s.a.fail(nil)
		s.b.fail(errors.New("401"))
		time.Sleep(time.Hour)
		s.want("")
		s.b.fail(nil)
		time.Sleep(time.Hour)
		s.want("b", "b")
		if held := s.heldID(); held == "" {
			t.Error("the move to the default cloud is not held")
		}
		if !s.a.has() && !s.b.has() {
			t.Error("no load balancer is left")
		}
		// Also one that is being deleted.
		deleting := newServiceTest(t, web(finalized, func(s *v1.Service) { s.DeletionTimestamp = ptr.To(metav1.Now()) }))
		deleting.b.exist = true
		deleting.a.fail(errors.New("503"))
		deleting.start("a", "b")
		deleting.want("")
		deleting.a.fail(nil)
		time.Sleep(time.Hour)
		deleting.want("b", "b")
	})
}

func TestServiceInTwoCloudsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServiceTest(t, web(finalized, selecting("c")))
		s.a.exist, s.b.exist = true, true
		s.start("a", "b")
		if diff := cmp.Diff([]string{"LoadBalancerOwnerConflict"}, s.said()[1:2]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		s.want("a", "a")
	})
}

// The framework's controller of another cloud, whatever it has in its queue, neither changes nor deletes anything, and
// never removes the finalizer.
func TestOtherCloudTouchesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServiceTest(t, web(finalized))
		s.a.exist = true
		s.start("a", "b")
		s.b.made()
		balancer, _ := s.Balancer("b")
		if _, exists, err := balancer.GetLoadBalancer(t.Context(), "c", s.current()); err == nil {
			t.Errorf("exists %t without an error: on false, the framework removes the finalizer", exists)
		}
		err := errors.Join(balancer.EnsureLoadBalancerDeleted(t.Context(), "c", s.current()))
		if err != nil {
			t.Error(err)
		}
		if err := balancer.UpdateLoadBalancer(t.Context(), "c", s.current(), nil); err != cloudprovider.ImplementedElsewhere { //nolint:errorlint // the framework compares with ==
			t.Error(err)
		}
		if calls := s.b.made(); len(calls) > 0 || !s.a.has() {
			t.Errorf("calls %v, the load balancer exists: %t", calls, s.a.has())
		}
	})
}

// A cloud that is taken out of the list leaves its Services as they are.
func TestCloudIsTakenOutOfTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServiceTest(t, web(finalized, selecting("b")))
		s.b.exist = true
		s.start("a", "b")
		s.want("b", "b")
		s.start("a")
		s.want("b")
		s.a.made()
		if said := s.said(); !slices.Contains(said, "LoadBalancerCloudMissing") {
			t.Errorf("Events %v", said)
		}
		s.edit(func(s *v1.Service) { s.DeletionTimestamp = ptr.To(metav1.Now()) })
		time.Sleep(time.Hour)
		if !servicehelper.HasLBFinalizer(s.current()) || len(s.a.made()) > 0 {
			t.Error("another cloud works on the Service")
		}
		s.start("a", "b")
		s.want("b", "b")
	})
}

// Without a record, one cloud works as it always did: it sees each Service, and records nothing.
func TestOneCloudRecordsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, service := range map[string]*v1.Service{"new": web(), "existing": web(finalized)} {
			s := newServiceTest(t, service)
			s.start("a")
			time.Sleep(time.Hour)
			s.want("", "a")
			if s.writes.Load() > 0 || len(s.a.made()) > 0 {
				t.Errorf("%s: %d writes", name, s.writes.Load())
			}
		}
	})
}

// From one process for each cloud to one for both, and back: each load balancer stays where it is.
func TestTwoManagersBecomeOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServiceTest(t, web(finalized, classed("unified-ccm.io/b")))
		s.b.exist = true
		s.start("a", "b")
		s.want("b", "b")
		s.start("b")
		s.options.Classes = loadbalancer.OwnClass
		s.want("b", "b")
		s.start("a")
		s.want("b")
		if said := s.said(); len(said) > 0 {
			t.Errorf("Events about a Service of another manager: %v", said)
		}
		if calls := slices.DeleteFunc(slices.Concat(s.a.made(), s.b.made()), func(c string) bool { return c == "get" }); len(calls) > 0 {
			t.Errorf("changes %v", calls)
		}
	})
}

// Another client that overwrites the conditions of a Service does not move it.
func TestRecordThatIsLostIsWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServiceTest(t, web(finalized, selecting("b")))
		s.b.exist = true
		s.start("a", "b")
		time.Sleep(time.Minute)
		s.edit(selecting("a"), func(s *v1.Service) { s.Status.Conditions = nil })
		s.want("b", "b")
		// And a new process finds it by looking for it.
		service := s.current()
		service.Status.Conditions = nil
		if _, err := s.client.CoreV1().Services("default").UpdateStatus(t.Context(), service, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		s.start("a", "b")
		s.want("b", "b")
	})
}

// A record is that of one Service: a copy of its status means nothing.
func TestRecordOfAnotherServiceIsIgnored(t *testing.T) {
	text, err := json.Marshal(Record{UID: types.UID("another"), Owner: "b"})
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{string(text), "{", fmt.Sprintf(`{"uid":%q}`, "u")} {
		service := web()
		service.Status.Conditions = []metav1.Condition{{Type: ConditionOwner, Status: metav1.ConditionTrue, Message: message}}
		if r, ok := StoredRecord(service); ok {
			t.Errorf("%s: %+v", message, r)
		}
	}
}

// Managers of other releases have stored records, and read those of this one.
func TestFormOfRecordIsStable(t *testing.T) {
	text := `{"uid":"u","owner":"b","from":"a","ready":"2026-01-02T03:04:05Z","moves":3}`
	service := web()
	service.Status.Conditions = []metav1.Condition{{Type: "unified-ccm.io/LoadBalancerOwner", Message: text}}
	r, ok := StoredRecord(service)
	ready := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	if want := (Record{UID: "u", Owner: "b", From: "a", Ready: &ready, Moves: 3}); !ok || !r.equal(want) {
		t.Errorf("%+v is read, want %+v", r, want)
	}
	if c, err := r.condition(ready); c.Message != text || c.Type != service.Status.Conditions[0].Type {
		t.Errorf("the condition is %+v, %v", c, err)
	}
}

// A Service that stays without a load balancer loses its record, and may select another cloud later.
func TestRecordEndsWithTheLoadBalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServiceTest(t, web())
		s.start("a", "b")
		s.want("a", "a")
		s.edit(func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeClusterIP })
		s.want("")
		s.edit(func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeLoadBalancer }, selecting("b"))
		s.want("b", "b")
	})
}

// Whoever edits a Service may remove the finalizer with the type. Its load balancer is deleted before the record is.
func TestRecordOutlivesFinalizer(t *testing.T) {
	for name, restart := range map[string]bool{"at once": false, "while no manager runs": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServiceTest(t, web(finalized))
				s.a.exist = true
				s.start("a", "b")
				s.want("a", "a")
				s.a.fail(errors.New("503"))
				if restart {
					s.stop()
				}
				s.edit(func(s *v1.Service) { s.Spec.Type, s.Finalizers = v1.ServiceTypeClusterIP, nil })
				if restart {
					s.start("a", "b")
				}
				time.Sleep(time.Minute)
				if got := s.record(); got != "a" {
					t.Errorf("recorded %q while the load balancer exists", got)
				}
				s.a.fail(nil)
				time.Sleep(time.Hour)
				s.want("")
				if s.a.has() {
					t.Error("the load balancer is left")
				}
			})
		})
	}
}
