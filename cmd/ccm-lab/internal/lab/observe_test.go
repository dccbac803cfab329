package lab

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/screen"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

func testNode(name, ip string) v1.Node {
	return v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelTopologyZone: "a", v1.LabelInstanceTypeStable: "small"}},
		Spec:       v1.NodeSpec{ProviderID: "fake://a/" + name},
		Status: v1.NodeStatus{
			Addresses:  []v1.NodeAddress{{Type: v1.NodeHostName, Address: name}, {Type: v1.NodeInternalIP, Address: ip}},
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
}

func testService(name string, protocol v1.Protocol, nodePort int32, addresses ...string) v1.Service {
	svc := v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: DemoNamespace, Name: name},
		Spec:       v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{{Protocol: protocol, Port: 80, NodePort: nodePort}}},
	}
	for _, address := range addresses {
		svc.Status.LoadBalancer.Ingress = append(svc.Status.LoadBalancer.Ingress, v1.LoadBalancerIngress{IP: address})
	}
	return svc
}

func TestDemoServices(t *testing.T) {
	var names []string
	for _, svc := range DemoServices([]string{"fake"}, 6) {
		names = append(names, svc.Name)
	}
	if diff := cmp.Diff([]string{"web", "internal", "restricted", "dns", "web-2", "internal-2"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for i, svc := range DemoServices([]string{"fake", "aws"}, 4) {
		if got, want := svc.Annotations[intent.KeyProvider], []string{"fake", "aws"}[i%2]; got != want {
			t.Errorf("Service %s selects %q, want %q", svc.Name, got, want)
		}
	}
	services := DemoServices([]string{"fake"}, 4)
	for i := range services {
		services[i].Spec.Ports[0].NodePort = 30001
		in, warnings, err := intent.Read(services[i], intent.Vocabulary{Provider: "any", Portable: intent.Keys()})
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, warnings %v", services[i].Name, err, warnings)
		}
		if want := services[i].Name == "internal"; (in.Scheme == intent.Internal) != want {
			t.Errorf("%s has scheme %s", services[i].Name, in.Scheme)
		}
	}
}

func TestDemoMachine(t *testing.T) {
	for i, want := range map[int][]string{1: {"10.244.0.0/24"}, MaxNodes: {"10.244.255.0/24"}, MaxNodes + 1: nil} {
		if diff := cmp.Diff(want, DemoMachine(i).PodCIDRs); diff != "" {
			t.Errorf("machine %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestDescribeNodes(t *testing.T) {
	second, tenth := testNode("node-2", "10.0.0.2"), testNode("node-10", "10.0.0.10")
	tenth.Spec.Taints = []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}
	tenth.Status.Conditions[0].Status = v1.ConditionUnknown
	want := []screen.Node{
		{Name: "node-2", Ready: true, Initialised: true, ProviderID: "fake://a/node-2", Zone: "a", Type: "small", InternalIP: "10.0.0.2"},
		{Name: "node-10", ProviderID: "fake://a/node-10", Zone: "a", Type: "small", InternalIP: "10.0.0.10"},
	}
	if diff := cmp.Diff(want, describeNodes([]v1.Node{tenth, second})); diff != "" {
		t.Errorf("describeNodes (-want +got):\n%s", diff)
	}
}

func TestDescribeServices(t *testing.T) {
	nodes := []v1.Node{testNode("node-1", "10.0.0.1"), testNode("node-2", "10.0.0.2"), testNode("node-3", "10.0.0.3")}
	nodes[2].Status.Conditions[0].Status = v1.ConditionFalse // Not ready: no member.
	all := []world.LoadBalancer{
		{Name: "another", Addresses: []string{"192.0.2.9"}},
		{Name: "a", Internal: true, Addresses: []string{"192.0.2.1"}, Listeners: []world.Listener{
			{Port: 80, Members: []string{"node-1", "node-2"}, SourceRanges: []string{"0.0.0.0/0"}},
			{Port: 81, Members: []string{"node-1"}, SourceRanges: []string{"203.0.113.0/24"}},
		}},
	}
	got := describeServices([]v1.Service{
		testService("web", v1.ProtocolTCP, 30001, "192.0.2.1"), testService("dns", v1.ProtocolUDP, 30002),
	}, []balancers{{all, countMembers(nodes)}})
	want := []screen.Service{
		{Namespace: "demo", Name: "dns", Ports: []string{"80/UDP"}},
		{Namespace: "demo", Name: "web", Ports: []string{"80/TCP"}, Addresses: []string{"192.0.2.1"},
			LoadBalancer: &screen.LoadBalancer{Internal: true, Listeners: 2, Members: 1, Nodes: 2, SourceRanges: []string{"203.0.113.0/24"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("describeServices (-want +got):\n%s", diff)
	}
}

func TestDescribeRoutes(t *testing.T) {
	got := describeRoutes([]world.Route{{Owned: true}, {Owned: true, Blackhole: true}, {Destination: "foreign"}})
	if got != (screen.Routes{Ready: 1, Blackholes: 1}) {
		t.Errorf("got %+v", got)
	}
}

func TestDescribeEvents(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	event := func(kind, namespace, name, kindOf string, after time.Duration) v1.Event {
		return v1.Event{
			InvolvedObject: v1.ObjectReference{Kind: kind, Namespace: namespace, Name: name},
			Type:           kindOf, Reason: "R", Message: "m", Count: 2, LastTimestamp: metav1.NewTime(at.Add(after)),
		}
	}
	modern := v1.Event{InvolvedObject: v1.ObjectReference{Kind: "Node", Name: "c"}, EventTime: metav1.NewMicroTime(at)}
	got := describeEvents([]v1.Event{
		event("Service", "demo", "web", v1.EventTypeWarning, 2*time.Second), event("Node", "", "node-1", v1.EventTypeNormal, time.Second), modern,
	})
	want := []screen.Event{
		{At: at, Object: "Node c", Times: 1},
		{At: at.Add(time.Second), Object: "Node node-1", Reason: "R", Message: "m", Times: 2},
		{At: at.Add(2 * time.Second), Warning: true, Object: "Service demo/web", Reason: "R", Message: "m", Times: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("describeEvents (-want +got):\n%s", diff)
	}
}

func TestEchoServers(t *testing.T) {
	servers := NewEchoServers()
	t.Cleanup(func() {
		if err := servers.Close(); err != nil {
			t.Error(err)
		}
	})
	ports := [2]int32{}
	for i := range ports {
		port, err := FreePort(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = int32(port)
	}
	nodes := []v1.Node{testNode("node-1", "127.0.0.1"), testNode("remote", "192.0.2.1")}
	web, dns := testService("web", v1.ProtocolTCP, ports[0]), testService("dns", v1.ProtocolUDP, ports[1])
	servers.Sync(t.Context(), nodes, []v1.Service{web, dns})
	if problems := servers.Problems(); len(problems) > 0 {
		t.Fatal(problems)
	}
	who := func(protocol v1.Protocol, port int32) string {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return probe(ctx, protocol, "127.0.0.1", port)
	}
	if got := who(v1.ProtocolTCP, ports[0]); got != "node-1" {
		t.Errorf("%s answers over TCP, want node-1", got)
	}
	if got := who(v1.ProtocolUDP, ports[1]); got != "node-1" {
		t.Errorf("%s answers over UDP, want node-1", got)
	}
	servers.Sync(t.Context(), nodes, []v1.Service{dns})
	if got := who(v1.ProtocolTCP, ports[0]); got != noAnswer {
		t.Errorf("%s answers for a deleted Service", got)
	}
	// A second one finds the port taken, and says so.
	second := NewEchoServers()
	second.Sync(t.Context(), nodes, []v1.Service{dns})
	if got := second.Problems(); len(got) != 1 {
		t.Errorf("problems are %q, want one", got)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}
