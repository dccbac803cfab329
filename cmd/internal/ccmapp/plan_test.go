package ccmapp

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	nodes := []*v1.Node{
		node("plain", nil),
		node("not ready", func(n *v1.Node) {
			n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse}}
		}),
		node("cordoned", func(n *v1.Node) { n.Spec.Unschedulable = true }),
		node("excluded", label("")),
		node("excluded by word", label("true")),
		node("not excluded", label("false")),
		node("going", func(n *v1.Node) { n.DeletionTimestamp = &now }),
		node("scaled down", func(n *v1.Node) { n.Spec.Taints = []v1.Taint{{Key: toBeDeletedTaint}} }),
	}
	var got []string
	for _, n := range trafficNodes(nodes) {
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
		if got := wantsLoadBalancer(&tc.service); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
}

func TestAdoptKeepsWhatTheFileDoesNotSay(t *testing.T) {
	live := &v1.Service{
		ObjectMeta: metav1.ObjectMeta{UID: "live", Finalizers: []string{"f"}},
		Spec: v1.ServiceSpec{
			IPFamilies: []v1.IPFamily{v1.IPv6Protocol}, HealthCheckNodePort: 31000,
			Ports: []v1.ServicePort{{Port: 80, Protocol: v1.ProtocolTCP, NodePort: 30080}, {Port: 53, Protocol: v1.ProtocolUDP, NodePort: 30053}},
		},
	}
	s := &v1.Service{Spec: v1.ServiceSpec{ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyLocal, Ports: []v1.ServicePort{
		{Port: 53, Protocol: v1.ProtocolUDP}, {Port: 53, Protocol: v1.ProtocolTCP}, {Port: 80, Protocol: v1.ProtocolTCP, NodePort: 30999},
	}}}
	adopt(s, live)
	var ports []int32
	for _, p := range s.Spec.Ports {
		ports = append(ports, p.NodePort)
	}
	if diff := cmp.Diff([]int32{30053, 0, 30999}, ports); diff != "" {
		t.Errorf("node ports:\n%s", diff)
	}
	if s.UID != "live" || s.Spec.HealthCheckNodePort != 31000 || len(s.Spec.IPFamilies) != 1 || len(s.Finalizers) != 1 {
		t.Errorf("got %+v", s)
	}
}

func TestDecodeManifests(t *testing.T) {
	const service = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
	for _, tc := range []struct {
		name, text      string
		services, nodes int
		problem         string
	}{
		{"several documents", service + "---\n" + service + "---\napiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n", 2, 1, ""},
		{"comments and empty documents", "# hello\n---\n---\n" + service + "---\n# bye\n", 1, 0, ""},
		{"JSON", `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}`, 1, 0, ""},
		{"a typed list", "apiVersion: v1\nkind: NodeList\nitems: [{metadata: {name: a}}, {metadata: {name: b}}]\n", 0, 2, ""},
		{"a list", "apiVersion: v1\nkind: List\nitems: []\n", 0, 0, "a List is not read"},
		{"another kind", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n", 0, 0, "document 1: Deployment is not read"},
		{"an unknown field", service + "spec: {tpye: LoadBalancer}\n", 0, 0, `unknown field "spec.tpye"`},
		{"no kind", "a: b\n", 0, 0, "document 1: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var w work
			problems := strings.Join(decodeManifests("f", []byte(tc.text), &w), "\n")
			if len(w.services) != tc.services || len(w.nodes) != tc.nodes {
				t.Errorf("%d services, %d nodes", len(w.services), len(w.nodes))
			}
			if (problems == "") != (tc.problem == "") || !strings.Contains(problems, tc.problem) {
				t.Errorf("problems: %q, want %q", problems, tc.problem)
			}
		})
	}
}
