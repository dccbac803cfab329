package assign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/kube"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// balancers are the load balancers of a cloud.
type balancers struct {
	loadbalancer.Interface
	name string

	mu    sync.Mutex
	exist bool
	err   error
	calls []string
}

func (b *balancers) call(what string, change func()) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, what)
	if b.err == nil && change != nil {
		change()
	}
	return b.err
}

// made returns the calls since the last time.
func (b *balancers) made() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls := b.calls
	b.calls = nil
	return calls
}

func (b *balancers) has() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.exist
}

func (b *balancers) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func (b *balancers) GetLoadBalancer(_ context.Context, _ string, s *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	if s.DeletionTimestamp == nil && s.Spec.Type == v1.ServiceTypeLoadBalancer {
		return nil, false, errors.New("only a Service that is deleted is looked for: another one would lose its status")
	}
	exists := false
	err := b.call("get", func() { exists = b.exist })
	return nil, exists, err
}

func (b *balancers) EnsureLoadBalancer(context.Context, string, *v1.Service, []*v1.Node) (*v1.LoadBalancerStatus, error) {
	err := b.call("ensure", func() { b.exist = true })
	return &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{Hostname: b.name}}}, err
}

func (b *balancers) UpdateLoadBalancer(context.Context, string, *v1.Service, []*v1.Node) error {
	return b.call("update", nil)
}

func (b *balancers) EnsureLoadBalancerDeleted(_ context.Context, _ string, s *v1.Service) error {
	if s.DeletionTimestamp == nil && s.Spec.Type == v1.ServiceTypeLoadBalancer {
		return errors.New("the status of a Service that is not deleted would be changed")
	}
	return b.call("delete", func() { b.exist = false })
}

// serviceTest is an assignment over a fake API server, with the clouds a and b.
type serviceTest struct {
	*Services
	t      *testing.T
	client *fake.Clientset
	events *record.FakeRecorder
	a, b   *balancers
	// writes counts the changes of the status of Services.
	writes int
	stop   context.CancelFunc
}

func newServiceTest(t *testing.T, services ...*v1.Service) *serviceTest {
	t.Helper()
	s := &serviceTest{t: t, client: fake.NewClientset(), a: &balancers{name: "a"}, b: &balancers{name: "b"}}
	for _, service := range services {
		if err := s.client.Tracker().Add(service); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// start starts a manager of the clouds, whose first is the default. One that runs ends.
func (s *serviceTest) start(clouds ...string) {
	s.t.Helper()
	if s.stop != nil {
		s.stop()
	}
	ctx, stop := context.WithCancel(s.t.Context())
	s.stop, s.events = stop, record.NewFakeRecorder(100)
	factory := informers.NewSharedInformerFactory(s.client, 0)
	o := ServicesOptions{
		Choice:   Choice{Clouds: clouds, Default: clouds[0], Classes: loadbalancer.DefaultClass},
		Informer: factory.Core().V1().Services(), MoveDelay: DefaultMoveDelay,
	}
	for _, name := range clouds {
		balancer := s.a
		if name == "b" {
			balancer = s.b
		}
		o.Clouds = append(o.Clouds, ServiceCloud{Name: name, Balancer: balancer, Started: func() bool { return true }})
	}
	s.Services = NewServices(o)
	s.SetRuntime(provider.Runtime{
		Recorder: s.events, Approvals: kube.NewApprovals(s.client, kube.ApprovalsOfServices, false), SetCondition: s.setCondition,
	})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go func() { _ = s.Run(ctx) }()
	synctest.Wait()
}

func (s *serviceTest) setCondition(ctx context.Context, service *v1.Service, c metav1.Condition) error {
	s.writes++
	current, err := s.client.CoreV1().Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if c.Status == "" {
		meta.RemoveStatusCondition(&current.Status.Conditions, c.Type)
	} else {
		meta.SetStatusCondition(&current.Status.Conditions, c)
	}
	_, err = s.client.CoreV1().Services(service.Namespace).UpdateStatus(ctx, current, metav1.UpdateOptions{})
	return err
}

func (s *serviceTest) current() *v1.Service {
	s.t.Helper()
	service, err := s.client.CoreV1().Services("default").Get(s.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return service
}

func (s *serviceTest) edit(edits ...func(*v1.Service)) {
	s.t.Helper()
	service := s.current()
	for _, edit := range edits {
		edit(service)
	}
	if _, err := s.client.CoreV1().Services("default").Update(s.t.Context(), service, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	synctest.Wait()
}

// sees returns the clouds whose controllers see the Service.
func (s *serviceTest) sees() (clouds []string) {
	s.t.Helper()
	for _, name := range s.options.Choice.Clouds {
		list, err := s.Of(name).Lister().List(labels.Everything())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, service := range list {
			if service.Name == "web" && loadbalancer.IsReconciled(service) {
				clouds = append(clouds, name)
			}
		}
	}
	return clouds
}

func (s *serviceTest) record() string {
	r, ok := StoredRecord(s.current())
	if !ok {
		return ""
	}
	if r.From != "" {
		return r.From + " to " + r.Owner
	}
	return r.Owner
}

func (s *serviceTest) want(record string, sees ...string) {
	s.t.Helper()
	if got := s.record(); got != record {
		s.t.Errorf("recorded %q, want %q", got, record)
	}
	if diff := cmp.Diff(sees, s.sees()); diff != "" {
		s.t.Errorf("seen by (-want +got):\n%s", diff)
	}
}

// ensure syncs the Service as the framework's controller of a cloud does.
func (s *serviceTest) ensure(cloud string) error {
	s.t.Helper()
	balancer, _ := s.Balancer(cloud)
	_, err := balancer.EnsureLoadBalancer(s.t.Context(), "c", s.current(), nil)
	synctest.Wait()
	return err
}

// heldID returns the ID of the held move.
func (s *serviceTest) heldID() string {
	s.t.Helper()
	c := meta.FindStatusCondition(s.current().Status.Conditions, ConditionMoveHeld)
	if c == nil || c.Status != metav1.ConditionTrue {
		return ""
	}
	return c.Message[strings.LastIndex(c.Message, " ")+1:]
}

func (s *serviceTest) said() (list []string) {
	for {
		select {
		case e := <-s.events.Events:
			list = append(list, strings.Fields(e)[1])
		default:
			slices.Sort(list)
			return list
		}
	}
}

func web(edits ...func(*v1.Service)) *v1.Service {
	s := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u"},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer},
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func selecting(cloud string) func(*v1.Service) {
	return func(s *v1.Service) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, intent.KeyProvider, cloud) }
}

func classed(class string) func(*v1.Service) {
	return func(s *v1.Service) { s.Spec.LoadBalancerClass = ptr.To(class) }
}

func finalized(s *v1.Service) { s.Finalizers = []string{servicehelper.LoadBalancerCleanupFinalizer} }

func approving(id string) func(*v1.Service) {
	return func(s *v1.Service) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, intent.KeyApprove, id) }
}

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
				writes := s.writes
				time.Sleep(time.Hour)
				s.edit(func(s *v1.Service) { s.Labels = map[string]string{"a": "b"} })
				if s.writes != writes {
					t.Errorf("%d further writes", s.writes-writes)
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
		s := newServiceTest(t, web(finalized))
		s.a.exist = true
		s.start("a", "b")
		s.edit(selecting("b"))
		s.edit(approving(s.heldID()))
		s.want("a to b", "a", "b")
		s.edit(selecting("a"))
		s.want("b to a", "a", "b")
		if err := s.ensure("a"); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
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
			if s.writes > 0 || len(s.a.made()) > 0 {
				t.Errorf("%s: %d writes", name, s.writes)
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
