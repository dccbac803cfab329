package world

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNodeIsAsKubeletRegistersIt(t *testing.T) {
	want := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-a", Labels: map[string]string{
			"kubernetes.io/hostname": "node-a", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		}},
		Spec: v1.NodeSpec{
			PodCIDR: "10.1.0.0/24", PodCIDRs: []string{"10.1.0.0/24", "fd00::/64"},
			Taints: []v1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized", Value: "true",
				Effect: v1.TaintEffectNoSchedule}},
		},
		Status: v1.NodeStatus{
			Addresses:  []v1.NodeAddress{{Type: v1.NodeHostName, Address: "node-a"}},
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady"}},
		},
	}
	got := Machine{Name: "node-a", Zone: "a", PodCIDRs: []string{"10.1.0.0/24", "fd00::/64"}}.Node()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOrder(t *testing.T) {
	lbs := []LoadBalancer{{Name: "b"}, {Name: "a", Listeners: []Listener{
		{Port: 443, Protocol: v1.ProtocolTCP}, {Port: 53, Protocol: v1.ProtocolUDP, Members: []string{"y", "x"}}, {Port: 53, Protocol: v1.ProtocolTCP},
	}}}
	SortLoadBalancers(lbs)
	want := []LoadBalancer{{Name: "a", Listeners: []Listener{
		{Port: 53, Protocol: v1.ProtocolTCP}, {Port: 53, Protocol: v1.ProtocolUDP, Members: []string{"x", "y"}}, {Port: 443, Protocol: v1.ProtocolTCP},
	}}, {Name: "b"}}
	if diff := cmp.Diff(want, lbs); diff != "" {
		t.Errorf("load balancers (-want +got):\n%s", diff)
	}
	routes := []Route{{Destination: "10.10.0.0/24"}, {Destination: "fd00::/64"}, {Destination: "10.9.0.0/24"}}
	SortRoutes(routes)
	if diff := cmp.Diff([]Route{{Destination: "10.9.0.0/24"}, {Destination: "10.10.0.0/24"}, {Destination: "fd00::/64"}},
		routes); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
}
