package controllers

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	appconfig "k8s.io/cloud-provider/app/config"
	servicecontroller "k8s.io/cloud-provider/controllers/service"
	controllermanagerapp "k8s.io/controller-manager/app"

	"github.com/unified-ccm/unified-ccm/pkg/common/assign"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// handedOver is an informer of Nodes that only keeps who registers.
type handedOver struct {
	coreinformers.NodeInformer
	cache.SharedIndexInformer
	handlers []cache.ResourceEventHandler
}

func (h *handedOver) Informer() cache.SharedIndexInformer { return h }

func (h *handedOver) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler,
	_ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	h.handlers = append(h.handlers, handler)
	return nil, nil
}

type someBalancers struct{ cloudprovider.Interface }

func (someBalancers) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, true }

// withoutBalancers is a cloud that has no load balancers.
type withoutBalancers struct{ cloudprovider.Interface }

func (withoutBalancers) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return nil, false }
func (withoutBalancers) ProviderName() string                             { return "none" }

func TestServiceControllerDoesNotStartWithoutLoadBalancers(t *testing.T) {
	// The manager ends on an error of this function.
	set := NewSet(provider.Descriptor{Name: "none"}, withoutBalancers{}, nil, nil)
	core := informers.NewSharedInformerFactory(fake.NewClientset(), 0).Core().V1()
	sets := &Sets{sets: []*Set{set}, services: assign.NewServices(assign.ServicesOptions{
		Clouds: []assign.ServiceCloud{{Name: "none"}}, Informer: core.Services(),
	})}
	start := perSet(startServiceController)(app.ControllerInitContext{}, &appconfig.CompletedConfig{}, sets)
	close(set.started)
	if _, started, err := start(t.Context(), controllermanagerapp.ControllerContext{}); started || err != nil {
		t.Errorf("started %t, %v, want false and no error", started, err)
	}
}

// The framework's controller registers through the coalescing informer. If a new version of it takes
// another, it bypasses the coalescing, and the informer of this test fails.
func TestServiceControllerWatchesCoalescedNodes(t *testing.T) {
	client := fake.NewClientset()
	core := informers.NewSharedInformerFactory(client, 0).Core().V1()
	nodes := &handedOver{NodeInformer: core.Nodes(), SharedIndexInformer: core.Nodes().Informer()}
	if _, err := servicecontroller.New(someBalancers{}, client, core.Services(), coalescedNodes{nodes}, "test",
		utilfeature.DefaultFeatureGate); err != nil {
		t.Fatal(err)
	}
	if len(nodes.handlers) != 1 {
		t.Fatalf("%d handlers were registered, want 1", len(nodes.handlers))
	}
	if _, ok := nodes.handlers[0].(coalescedEvents); !ok {
		t.Errorf("the handler is a %T, want coalescedEvents", nodes.handlers[0])
	}
}

func TestNodeEventsAreCoalesced(t *testing.T) {
	var queued []string
	note := func(what string, objects ...any) {
		for _, o := range objects {
			node := o.(*v1.Node)
			what += fmt.Sprintf(" %s/%s", node.Name, node.Spec.ProviderID)
		}
		queued = append(queued, what)
	}
	events := coalescedEvents{cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { note("add", o) },
		UpdateFunc: func(old, now any) { note("update", old, now) },
		DeleteFunc: func(o any) { note("delete", o) },
	}}
	first, second, joined := node("node-1", "fake:///1"), node("node-2", "fake:///2"), node("node-3", "")
	events.OnAdd(first, true)
	events.OnAdd(second, false)
	events.OnUpdate(joined, node("node-3", "fake:///3"))
	events.OnDelete(first)
	events.OnDelete(cache.DeletedFinalStateUnknown{Key: "node-2", Obj: second})

	want := []string{"add nodes/", "add nodes/", "update nodes/ nodes/fake:///3", "delete nodes/", "delete nodes/"}
	if diff := cmp.Diff(want, queued); diff != "" {
		t.Errorf("events of nodes (-want +got):\n%s", diff)
	}
	if joined.Name != "node-3" {
		t.Errorf("the informer's own object was changed: it is called %s", joined.Name)
	}
}

func node(name, providerID string) *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{ProviderID: providerID}}
}
