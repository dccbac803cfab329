package controllers

import (
	"context"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"
	servicecontroller "k8s.io/cloud-provider/controllers/service"
	controllersmetrics "k8s.io/component-base/metrics/prometheus/controllers"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// syncedCloud sends the names of the nodes of each sync of its only load balancer.
type syncedCloud struct {
	cloudprovider.Interface
	balancer syncedBalancer
}

func (c syncedCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c.balancer, true }

type syncedBalancer struct {
	cloudprovider.LoadBalancer
	nodes chan []string
}

func (b syncedBalancer) EnsureLoadBalancer(_ context.Context, _ string, _ *v1.Service, nodes []*v1.Node,
) (*v1.LoadBalancerStatus, error) {
	b.send(nodes)
	return &v1.LoadBalancerStatus{}, nil
}

func (b syncedBalancer) UpdateLoadBalancer(_ context.Context, _ string, _ *v1.Service, nodes []*v1.Node) error {
	b.send(nodes)
	return nil
}

func (b syncedBalancer) send(nodes []*v1.Node) {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Name
	}
	slices.Sort(names)
	b.nodes <- names
}

// TestOptOutLabelSyncsLoadBalancers verifies that a node leaves the load balancers when it gets the opt-out label, and
// joins when it loses it, although its name and provider ID stay.
func TestOptOutLabelSyncsLoadBalancers(t *testing.T) {
	both := []string{"node-1", "node-2"}
	second := node("node-2", "fake:///2")
	service := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer}}
	client := fake.NewClientset(node("node-1", "fake:///1"), second, service)
	factory := informers.NewSharedInformerFactory(client, 0)
	core := factory.Core().V1()
	cloud := syncedCloud{balancer: syncedBalancer{nodes: make(chan []string, 8)}}
	controller, err := servicecontroller.New(cloud, client, core.Services(), coalescedNodes{core.Nodes()}, "test",
		utilfeature.DefaultFeatureGate)
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	go controller.Run(t.Context(), 1, controllersmetrics.NewControllerManagerMetrics("test"))
	want := func(names ...string) {
		t.Helper()
		for deadline := time.After(30 * time.Second); ; {
			select {
			case got := <-cloud.balancer.nodes:
				if slices.Equal(got, names) {
					return
				}
			case <-deadline:
				t.Fatalf("the load balancer was not synced with %v", names)
			}
		}
	}
	want(both...)
	for _, tt := range []struct {
		labels map[string]string
		names  []string
	}{
		{map[string]string{provider.ManagedLabel: "false"}, both[:1]},
		{nil, both},
	} {
		second.Labels = tt.labels
		if _, err := client.CoreV1().Nodes().Update(t.Context(), second.DeepCopy(), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		want(tt.names...)
	}
}
