package loadbalancer

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	servicecontroller "k8s.io/cloud-provider/controllers/service"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// provided is a provider that has load balancers only.
type provided struct {
	cloudprovider.Interface
	balancer cloudprovider.LoadBalancer
}

func (p provided) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return p.balancer, true }
func (p provided) ProviderName() string                             { return "toy" }

// delayed calls before at the beginning of each EnsureLoadBalancer.
type delayed struct {
	cloudprovider.LoadBalancer
	before func()
}

func (d delayed) EnsureLoadBalancer(
	ctx context.Context, cluster string, svc *v1.Service, nodes []*v1.Node,
) (*v1.LoadBalancerStatus, error) {
	d.before()
	return d.LoadBalancer.EnsureLoadBalancer(ctx, cluster, svc, nodes)
}

func ready(n *v1.Node) *v1.Node {
	n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}
	return n
}

// The framework's service controller updates members of load balancers that are still to be created. Nodes join here
// before and after EnsureLoadBalancer has the lock.
func TestNodesThatJoinDuringCreationCauseNoWarning(t *testing.T) {
	for _, during := range []string{"call", "creation"} {
		t.Run(during, func(t *testing.T) {
			f := newFixture(t)
			svc := web()
			client := fake.NewClientset(svc, ready(node("a")))
			reached, goOn := make(chan struct{}), make(chan struct{})
			pause := func() { close(reached); <-goOn }
			balancer := delayed{f.Controller, sync.OnceFunc(func() {
				if during == "call" {
					pause()
				}
			})}
			f.cloud.doing = func(_ context.Context, r plan.Ref) error {
				if during == "creation" && r.Kind == KindLoadBalancer {
					pause()
				}
				return nil
			}
			factory := informers.NewSharedInformerFactory(client, 0)
			f.options.Nodes = &nodes.LazyLister{}
			f.options.Nodes.Set(factory.Core().V1().Nodes().Lister(), nil)
			controller, err := servicecontroller.New(provided{balancer: balancer}, client,
				factory.Core().V1().Services(), factory.Core().V1().Nodes(), "prod", nil)
			if err != nil {
				t.Fatal(err)
			}
			factory.Start(t.Context().Done())
			go controller.Run(t.Context(), 2, controllersmetrics.NewControllerManagerMetrics("test"))
			<-reached
			if _, err := client.CoreV1().Nodes().Create(t.Context(), ready(node("b")), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(200 * time.Millisecond) // the node sync has started, and with "call" has ended
			close(goOn)
			f.waitForMembers(t, "a,b")
			f.noWarning(t, client)
		})
	}
}

// waitForMembers waits until every pool has these members.
func (f *fixture) waitForMembers(t *testing.T, want string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		f.cloud.mu.Lock()
		got := []string{f.cloud.have[ref("pool", "lb-web/80-TCP")], f.cloud.have[ref("pool", "lb-web/443-TCP")]}
		f.cloud.mu.Unlock()
		if !slices.ContainsFunc(got, func(members string) bool { return members != want }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("members %q, want %s", got, want)
		}
	}
}

// noWarning asserts that neither the framework nor the Controller warns.
func (f *fixture) noWarning(t *testing.T, client *fake.Clientset) {
	t.Helper()
	time.Sleep(100 * time.Millisecond) // Events are sent in the background
	list, err := client.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range list.Items {
		if event.Type == v1.EventTypeWarning {
			t.Errorf("Warning %s: %s", event.Reason, event.Message)
		}
	}
	for _, event := range f.eventsNow() {
		if strings.HasPrefix(event, v1.EventTypeWarning) {
			t.Error(event)
		}
	}
}

// The framework has listed the nodes of EnsureLoadBalancer before a node joins, and a later UpdateLoadBalancer finds no
// load balancer.
func TestEnsureUsesTheNodesAtTheTimeOfItsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.options.Nodes = listerOf(t, node("a"), node("b"))
		unlock, _ := f.locks.TryLock("default/web")
		var updated, ensured error
		go func() { updated = f.UpdateLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("a"), node("b")}) }()
		synctest.Wait()
		go func() { _, ensured = f.EnsureLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("a")}) }()
		synctest.Wait()
		unlock()
		synctest.Wait()
		if updated != nil || ensured != nil {
			t.Errorf("Update: %v, Ensure: %v", updated, ensured)
		}
		f.converged(t, web(), node("a"), node("b"))
	})
}

func TestUpdateReportsALoadBalancerThatWasDeletedAfterItsCreation(t *testing.T) {
	f := newFixture(t)
	update := func() error { return f.UpdateLoadBalancer(t.Context(), "prod", web(), []*v1.Node{node("b")}) }
	if err := update(); err != nil {
		t.Errorf("before the creation: %v", err)
	}
	f.mustEnsure(t, web(), node("a"))
	clear(f.cloud.have)
	if err := update(); err == nil {
		t.Error("after the creation: no error")
	}
	if err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", web()); err != nil {
		t.Fatal(err)
	}
	if err := update(); err != nil {
		t.Errorf("before the next creation: %v", err)
	}
	withAddress := web(func(svc *v1.Service) { svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "192.0.2.1"}} })
	if err := f.UpdateLoadBalancer(t.Context(), "prod", withAddress, nil); err == nil {
		t.Error("a Service that has an address: no error")
	}
}
