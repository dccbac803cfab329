package drift

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	servicehelper "k8s.io/cloud-provider/service/helpers"

	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// cloud is a provider whose load balancers only support audits, and record when each ran.
type cloud struct {
	cloudprovider.LoadBalancer
	start  time.Time
	status *v1.LoadBalancerStatus
	err    error
	// together is the result of AuditsTogether.
	together bool

	mu    sync.Mutex
	audit []string
	nodes int
}

func (c *cloud) AuditLoadBalancer(_ context.Context, _ string,
	current loadbalancer.CurrentFunc) (plan.Plan, *v1.LoadBalancerStatus, error) {
	service, nodes := current()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.audit = append(c.audit, service.Name+" at "+time.Since(c.start).String())
	c.nodes = len(nodes)
	return plan.Plan{}, c.status, c.err
}

func (c *cloud) AuditsTogether() bool { return c.together }

// provider hands the cloud out as its load balancers.
type provider struct {
	cloudprovider.Interface
	balancer cloudprovider.LoadBalancer
}

func (p provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	return p.balancer, p.balancer != nil
}

func service(name string, edits ...func(*v1.Service)) *v1.Service {
	s := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name,
			Finalizers: []string{servicehelper.LoadBalancerCleanupFinalizer}},
		Spec:   v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer},
		Status: v1.ServiceStatus{LoadBalancer: v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: "198.51.100.1"}}}},
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func start(t *testing.T, c *cloud, services ...*v1.Service) (client *fake.Clientset) {
	t.Helper()
	client = fake.NewClientset()
	indexer := func() cache.Indexer {
		return cache.NewIndexer(cache.MetaNamespaceKeyFunc,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	}
	known, nodes := indexer(), indexer()
	for _, s := range services {
		if err := errors.Join(known.Add(s), client.Tracker().Add(s)); err != nil {
			t.Fatal(err)
		}
	}
	excluded := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b",
		Labels: map[string]string{v1.LabelNodeExcludeBalancers: ""}}}
	if err := errors.Join(nodes.Add(&v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}), nodes.Add(excluded)); err != nil {
		t.Fatal(err)
	}
	c.start = time.Now()
	a, ok := New(Options{
		Provider: "test", ClusterName: "prod", Period: 10 * time.Minute, Client: client,
		Services: corelisters.NewServiceLister(known), Nodes: corelisters.NewNodeLister(nodes),
	}, provider{balancer: c})
	if !ok {
		t.Fatal("no audit")
	}
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go a.Run(ctx)
	return client
}

func TestLoadBalancersThatShareOneReadAreAuditedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cloud{together: true}
		start(t, c, service("b"), service("a"))
		time.Sleep(12 * time.Minute)
		synctest.Wait()
		want := []string{"a at 1m0s", "b at 1m0s", "a at 11m0s", "b at 11m0s"}
		c.mu.Lock()
		defer c.mu.Unlock()
		if diff := cmp.Diff(want, c.audit); diff != "" {
			t.Errorf("audits (-want +have):\n%s", diff)
		}
	})
}

func TestLoadBalancersAreSpreadOverThePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := metav1.Now()
		c := &cloud{err: errors.New("throttled")} // an error ends nothing
		start(t, c, service("b"), service("a"),
			service("going", func(s *v1.Service) { s.DeletionTimestamp = &now }),
			service("another type", func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeNodePort }),
			service("not made yet", func(s *v1.Service) { s.Status.LoadBalancer.Ingress = nil }),
			service("never ours", func(s *v1.Service) { s.Finalizers = nil }))
		time.Sleep(16 * time.Minute)
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if diff := cmp.Diff([]string{"a at 5m0s", "b at 10m0s", "a at 15m0s"}, c.audit); diff != "" {
			t.Error(diff)
		}
		if c.nodes != 2 {
			t.Errorf("%d nodes, want all: package loadbalancer decides which receive traffic", c.nodes)
		}
	})
}

// Many load balancers have short shares: the first look waits until the start is over.
func TestFirstAuditWaitsAfterStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var services []*v1.Service
		for i := range 100 { // 6 s each
			services = append(services, service(fmt.Sprintf("s%02d", i)))
		}
		c := &cloud{}
		start(t, c, services...)
		time.Sleep(70 * time.Second)
		synctest.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if diff := cmp.Diff([]string{"s00 at 1m0s", "s01 at 1m6s"}, c.audit); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNewAddressIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cloud{status: &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: "198.51.100.2"}}}}
		client := start(t, c, service("a"))
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		got, err := client.CoreV1().Services("default").Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*c.status, got.Status.LoadBalancer); diff != "" {
			t.Error(diff)
		}
	})
}

func TestUnchangedAddressIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service("a")
		client := start(t, &cloud{status: s.Status.LoadBalancer.DeepCopy()}, s)
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		for _, action := range client.Actions() {
			if slices.Contains([]string{"patch", "update"}, action.GetVerb()) {
				t.Errorf("%s %s", action.GetVerb(), action.GetResource().Resource)
			}
		}
	})
}

func TestNoAudit(t *testing.T) {
	type plain struct{ cloudprovider.LoadBalancer }
	for name, tc := range map[string]struct {
		period   time.Duration
		balancer cloudprovider.LoadBalancer
	}{
		"turned off":                      {0, &cloud{}},
		"without load balancers":          {time.Minute, nil},
		"with a provider that cannot":     {time.Minute, plain{}},
		"with a time that makes no sense": {-time.Minute, &cloud{}},
	} {
		if _, ok := New(Options{Period: tc.period}, provider{balancer: tc.balancer}); ok {
			t.Errorf("there is an audit %s", name)
		}
	}
}
