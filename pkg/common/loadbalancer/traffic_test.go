package loadbalancer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	servicehelper "k8s.io/cloud-provider/service/helpers"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
)

func TestTrafficNodes(t *testing.T) {
	now := metav1.Now()
	node := func(name string, change func(*v1.Node)) *v1.Node {
		n := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		if change != nil {
			change(n)
		}
		return n
	}
	label := func(value string) func(*v1.Node) {
		return func(n *v1.Node) { n.Labels[v1.LabelNodeExcludeBalancers] = value }
	}
	list := []*v1.Node{
		node("plain", nil),
		node("not ready", func(n *v1.Node) {
			n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse}}
		}),
		node("cordoned", func(n *v1.Node) { n.Spec.Unschedulable = true }),
		node("excluded", label("")),
		node("excluded by word", label("true")),
		node("not excluded", label("false")),
		node("going", func(n *v1.Node) { n.DeletionTimestamp = &now }),
		node("scaled down", func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: nodes.TaintToBeDeleted}} }),
	}
	var got []string
	for _, n := range nodes.TrafficNodes(list) {
		got = append(got, n.Name)
	}
	if diff := cmp.Diff([]string{"plain", "not ready", "cordoned", "not excluded"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWantsLoadBalancer(t *testing.T) {
	now, class := metav1.Now(), "other"
	for _, tc := range []struct {
		name    string
		service v1.Service
		want    bool
	}{
		{"a load balancer", v1.Service{Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer}}, true},
		{"another type", v1.Service{Spec: v1.ServiceSpec{Type: v1.ServiceTypeNodePort}}, false},
		{"another manager's class", v1.Service{Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, LoadBalancerClass: &class}}, false},
		{"being deleted", v1.Service{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}, Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer}}, false},
	} {
		if got := WantsLoadBalancer(&tc.service); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestIsReconciled(t *testing.T) {
	now, class := metav1.Now(), "other"
	finalizers := []string{servicehelper.LoadBalancerCleanupFinalizer}
	balanced := v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer}
	classed := v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, LoadBalancerClass: &class}
	for name, tc := range map[string]struct {
		service v1.Service
		want    bool
	}{
		"a load balancer":              {v1.Service{Spec: balanced}, true},
		"another type":                 {v1.Service{}, false},
		"of another type now":          {v1.Service{ObjectMeta: metav1.ObjectMeta{Finalizers: finalizers}}, true},
		"of another class":             {v1.Service{ObjectMeta: metav1.ObjectMeta{Finalizers: finalizers}, Spec: classed}, false},
		"deleted, with the finalizer":  {v1.Service{ObjectMeta: metav1.ObjectMeta{Finalizers: finalizers, DeletionTimestamp: &now}, Spec: classed}, true},
		"deleted, without a finalizer": {v1.Service{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}, Spec: balanced}, false},
	} {
		if got := IsReconciled(&tc.service); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
