package assign

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/kube"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
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
	// during, if set, runs once while EnsureLoadBalancer is in flight.
	during func()
	// serial is held by each change, which lasts as long as this.
	serial locks.Mutex
	lasts  time.Duration
	// real, if set, are load balancers that are synced instead.
	real loadbalancer.Interface
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

// delay sets how long deletions last.
func (b *balancers) delay(lasts time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lasts = lasts
}

func (b *balancers) GetLoadBalancer(ctx context.Context, cluster string, s *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	if b.real != nil {
		return b.real.GetLoadBalancer(ctx, cluster, s)
	}
	if s.DeletionTimestamp == nil && s.Spec.Type == v1.ServiceTypeLoadBalancer {
		return nil, false, errors.New("only a Service that is deleted is looked for: another one would lose its status")
	}
	exists := false
	err := b.call("get", func() { exists = b.exist })
	return nil, exists, err
}

func (b *balancers) EnsureLoadBalancer(ctx context.Context, cluster string, s *v1.Service, nodes []*v1.Node) (
	*v1.LoadBalancerStatus, error) {
	if b.real != nil {
		return b.real.EnsureLoadBalancer(ctx, cluster, s, nodes)
	}
	unlock, err := b.serial.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	err = b.call("ensure", func() { b.exist = true })
	if during := b.during; during != nil {
		b.during = nil
		during()
	}
	return &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{Hostname: b.name}}}, err
}

func (b *balancers) UpdateLoadBalancer(context.Context, string, *v1.Service, []*v1.Node) error {
	return b.call("update", nil)
}

func (b *balancers) EnsureLoadBalancerDeleted(ctx context.Context, _ string, s *v1.Service) error {
	if s.DeletionTimestamp == nil && s.Spec.Type == v1.ServiceTypeLoadBalancer {
		return errors.New("the status of a Service that is not deleted would be changed")
	}
	unlock, err := b.serial.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	b.mu.Lock()
	lasts := b.lasts
	b.mu.Unlock()
	time.Sleep(lasts)
	return b.call("delete", func() { b.exist = false })
}

// serviceTest is an assignment over a fake API server, with the clouds a and b.
type serviceTest struct {
	*Services
	t      *testing.T
	client *fake.Clientset
	events *record.FakeRecorder
	a, b   *balancers
	// endpoints are the nodes with endpoints of a Service. The first letter of a node is its cloud.
	endpoints atomic.Pointer[[]string]
	// writes counts the changes of the status of Services. A manager that ends may still make one.
	writes atomic.Int64
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
		CloudOfNode: func(node string) string { return node[:min(1, len(node))] },
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
		EndpointNodes: s.endpointNodes,
	})
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	go func() { _ = s.Run(ctx) }()
	synctest.Wait()
}

func (s *serviceTest) setCondition(ctx context.Context, service *v1.Service, c metav1.Condition) error {
	s.writes.Add(1)
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

func (s *serviceTest) endpointNodes(context.Context, *v1.Service) ([]string, error) {
	if nodes := s.endpoints.Load(); nodes != nil {
		return *nodes, nil
	}
	return nil, errors.New("forbidden")
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
