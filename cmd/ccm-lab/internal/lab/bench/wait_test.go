package bench

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestStallReportsAfterTenSecondsWithoutProgress(t *testing.T) {
	missing, reason := 5, "address pool exhausted"
	g := goal{
		description: "the address of 5 Services", missing: func() int { return missing },
		examples: func() []string { return []string{"demo/bench-1 (" + reason + ")", "demo/bench-2"} },
	}
	const first = "the address of 5 Services (5 missing): demo/bench-1 (address pool exhausted); demo/bench-2"
	start := time.Unix(1_000, 0)
	var s stall
	for _, step := range []struct {
		at   int
		do   func()
		want string
	}{
		{at: 0},
		{at: 9},
		{at: 10, want: first},
		{at: 19},
		{at: 20}, // The same message is not repeated.
		{at: 30, do: func() { reason = "quota" }, want: "the address of 5 Services (5 missing): demo/bench-1 (quota); demo/bench-2"},
		{at: 31, do: func() { missing = 1 }},
		{at: 40},
		{at: 41, want: "the address of 5 Services: demo/bench-1 (quota); demo/bench-2"},
	} {
		if step.do != nil {
			step.do()
		}
		message, due := s.due(start.Add(time.Duration(step.at)*time.Second), g)
		if due != (step.want != "") || due && message != step.want {
			t.Errorf("after %d s: %q, %t, want %q", step.at, message, due, step.want)
		}
	}
}

func TestWatchDescribesMissingObjectsWithTheirReason(t *testing.T) {
	service := func(name string) *v1.Service {
		return &v1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "demo", Name: name}, Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer},
		}
	}
	ready := service("ready")
	ready.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: "198.51.100.1"}}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	w, err := startWatch(t.Context(), fake.NewClientset(ready, service("a"), service("b"), service("c"), service("d"), node))
	if err != nil {
		t.Fatal(err)
	}
	event := &v1.Event{
		InvolvedObject: v1.ObjectReference{Kind: "Service", Namespace: "demo", Name: "b"},
		Type:           v1.EventTypeWarning, Reason: "SyncLoadBalancerFailed", Message: "address pool exhausted",
	}
	w.recordEvent(event)
	if n := w.addressed(); n != 1 {
		t.Errorf("%d Services with an address, want 1", n)
	}
	want := []string{"demo/a", "demo/b (SyncLoadBalancerFailed: address pool exhausted)", "demo/c"}
	if diff := cmp.Diff(want, w.unaddressed()); diff != "" {
		t.Errorf("Services without an address (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"node-1 (no provider ID)"}, w.uninitialized()); diff != "" {
		t.Errorf("nodes that are not initialized (-want +got):\n%s", diff)
	}
	w.recordEvent(&v1.Event{InvolvedObject: event.InvolvedObject, Type: v1.EventTypeNormal, Reason: ensuredReason})
	want = []string{"demo/a", "demo/c", "demo/d"}
	if diff := cmp.Diff(want, w.unensured()); diff != "" {
		t.Errorf("Services that are not ensured (-want +got):\n%s", diff)
	}
}
