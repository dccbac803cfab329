package loadbalancer

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/kube"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/approval"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// heldIDOf returns the ID of held changes.
func heldIDOf(changes []plan.HeldChange) string {
	var held []plan.Difference
	for _, change := range changes {
		held = append(held, change.Differences()...)
	}
	return approval.OfHeld(held, 0)
}

// A manager that ends in the middle of an approved plan leaves changes that no policy but allow would apply: their cause
// is the approval only.
func TestApprovalCoversRestOfInterruptedPlan(t *testing.T) {
	f := newHolding(t, plan.DisruptsTraffic)
	f.options.Parallel = 1
	discover(f)
	before := f.planned(t, web(), node("a"))
	if len(before.Held) < 2 {
		t.Fatalf("held: %v, want several changes", before.Held)
	}
	approved := web(annotated(intent.KeyApprove, before.HeldID))
	first := len(f.cloud.mutations)
	f.cloud.fault = func(n int, done bool) error {
		if n == first+2 && !done {
			return &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "fault", Err: errors.New("no answer")}
		}
		return nil
	}
	nodes := []*v1.Node{node("a")}
	if _, err := f.EnsureLoadBalancer(t.Context(), "prod", approved, nodes); !cloudapi.Is(err, cloudapi.Unavailable) {
		t.Fatalf("the interrupted call: %v", err)
	}
	f.cloud.fault = nil
	f.restart() // another process
	if rest := f.planned(t, web(), node("a")); len(rest.Held) == 0 || len(rest.Held) >= len(before.Held) {
		t.Fatalf("held after the interruption: %v, before: %v", rest.Held, before.Held)
	}
	f.ensure(t, approved, node("a"))
	if p := f.planned(t, web(), node("a")); len(p.Held) > 0 || !p.Empty() {
		t.Errorf("plan %s, held %v", plan.Summary(p), p.Held)
	}
}

func TestApprovalCovers(t *testing.T) {
	held := func(names ...string) (all []plan.HeldChange) {
		for _, name := range names {
			all = append(all, plan.HeldChange{Change: plan.Change{
				Ref: plan.Ref{Kind: "listener", Name: name, Action: plan.Delete}, Disrupts: plan.DisruptsTraffic}})
		}
		return all
	}
	for name, tc := range map[string]struct {
		approval string
		held     []plan.HeldChange
		want     bool
	}{
		"the same changes":        {heldIDOf(held("a", "b")), held("b", "a"), true},
		"some of them are left":   {heldIDOf(held("a", "b")), held("b"), true},
		"a further change":        {heldIDOf(held("a", "b")), held("a", "b", "c"), false},
		"another change":          {heldIDOf(held("a")), held("b"), false},
		"no approval":             {"", held("a"), false},
		"nothing can be approved": {"", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := approval.Covers(tc.approval, heldIDOf(tc.held)); got != tc.want {
				t.Errorf("Covers(%q, %q) is %t", tc.approval, heldIDOf(tc.held), got)
			}
		})
	}
}

// The Event of many held changes is cut. It still has the ID, or says where it is.
func TestHeldWarningFitsIntoEvent(t *testing.T) {
	for _, changes := range []int{1, 20, 60, 200} {
		var p plan.Plan
		for i := range changes {
			p.Held = append(p.Held, plan.HeldChange{Reason: "the policy holds every disruption",
				Change: plan.Change{Ref: plan.Ref{Kind: "listener", Name: fmt.Sprint(i), Action: plan.Delete},
					Disrupts: plan.DisruptsTraffic}})
		}
		p.HeldID = heldIDOf(p.Held)
		text := events.Shorten(withHeldWarning(p, "the annotation "+intent.KeyApprove).Warnings[0])
		if !strings.Contains(text, " "+p.HeldID+": ") && !strings.Contains(text, "the ID that ccm plan prints") {
			t.Errorf("%d changes: %s", changes, text)
		}
	}
}

// Nodes that join do not revoke an approval, and are not reported as a new plan.
func TestHeldIDDoesNotDependOnMembers(t *testing.T) {
	held := func(members string, fields ...plan.Field) []plan.HeldChange {
		replacement := plan.Change{Ref: plan.Ref{Kind: "pool", Name: "x", Action: plan.Create}, Disrupts: plan.DisruptsTraffic,
			Fields: append(fields, plan.Field{Name: "members", After: members, Membership: true})}
		join := plan.Change{Ref: plan.Ref{Kind: "members", Name: "x", Action: plan.Create}, Membership: true,
			Fields: []plan.Field{{Name: "members", After: members}}}
		return []plan.HeldChange{{Change: replacement}, {Change: join}}
	}
	if heldIDOf(held("a")) != heldIDOf(held("a, b")) {
		t.Error("a node that joins changes the ID")
	}
	if heldIDOf(held("a")) == heldIDOf(held("a", plan.Field{Name: "protocol", After: "UDP"})) {
		t.Error("another protocol has the same ID")
	}
}

// A rule that nodes no longer need is a change of members. Its removal disrupts, so that it is held, and is named and
// approved like every other change.
func TestHeldMembershipChangeCanBeApproved(t *testing.T) {
	rule := func(name string) plan.HeldChange {
		return plan.HeldChange{Reason: "no change was seen", Change: plan.Change{
			Ref: plan.Ref{Kind: "security group rules", Name: name, Action: plan.Delete}, Membership: true,
			Disrupts: plan.DisruptsTraffic, Fields: []plan.Field{{Name: "ingress", Before: "tcp 30080"}}}}
	}
	p := plan.Plan{Held: []plan.HeldChange{rule("nodes")}}
	p.HeldID = heldIDOf(p.Held)
	if !approval.Covers(p.HeldID, p.HeldID) || approval.Covers(p.HeldID, heldIDOf([]plan.HeldChange{rule("others")})) {
		t.Errorf("the ID %q approves another change, or not this one", p.HeldID)
	}
	if text := withHeldWarning(p, "x").Warnings[0]; !strings.Contains(text, "delete security group rules nodes") {
		t.Errorf("the warning does not name the change: %s", text)
	}
}

// approvalsOf makes a fixture use the approvals of a source.
func approvalsOf(f *keepingFixture, client kubernetes.Interface, source string) {
	r := *f.runtime.Load()
	r.Approvals = kube.NewApprovals(client, source, false)
	f.SetRuntime(r)
}

// Whoever may edit a Service cannot approve where the administrator has the approvals.
func TestConfigMapAloneApproves(t *testing.T) {
	f := newHolding(t, plan.DisruptsTraffic)
	client := fake.NewClientset()
	approvalsOf(f, client, "kube-system/approvals")
	discover(f)
	held := f.planned(t, web(), node("a"))
	if place := "the key default.web of the ConfigMap kube-system/approvals is set to " + held.HeldID; len(held.Warnings) == 0 ||
		!strings.Contains(held.Warnings[0], place) {
		t.Errorf("warnings %q", held.Warnings)
	}
	annotatedWeb := web(annotated(intent.KeyApprove, held.HeldID))
	f.ensure(t, annotatedWeb, node("a"))
	if p := f.planned(t, annotatedWeb, node("a")); p.HeldID != held.HeldID {
		t.Fatalf("the annotation approves: held %q", p.HeldID)
	}
	configMap := &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "approvals"},
		Data:       map[string]string{"default.web": held.HeldID},
	}
	if _, err := client.CoreV1().ConfigMaps("kube-system").Create(t.Context(), configMap, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	drift, _, err := f.AuditLoadBalancer(t.Context(), "prod", func() (*v1.Service, []*v1.Node) { return web(), []*v1.Node{node("a")} })
	if err != nil || !drift.Empty() {
		t.Errorf("the audit reports approved changes as drift: %s, error %v", plan.Summary(drift), err)
	}
	if p := f.planned(t, web(), node("a")); len(p.Held) > 0 || !p.Empty() {
		t.Errorf("plan %s, held %v", plan.Summary(p), p.Held)
	}
	configMap, err = client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "approvals", metav1.GetOptions{})
	if err != nil || len(configMap.Data) > 0 {
		t.Errorf("the approval stays: %v, error %v", configMap.Data, err)
	}
}

// The same changes may be due again later, for a reason that no one approved.
func TestApprovalEndsWithItsChange(t *testing.T) {
	f := newHolding(t, plan.DisruptsTraffic)
	svc := web()
	client := fake.NewClientset(svc.DeepCopy())
	approvalsOf(f, client, kube.ApprovalsOfServices)
	before := f.listener()
	discover(f)
	svc.Annotations[intent.KeyApprove] = f.planned(t, svc, node("a")).HeldID
	if _, err := client.CoreV1().Services("default").Update(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	failures := 1
	client.PrependReactor("patch", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
		failures--
		return failures >= 0, nil, errors.New("the API server does not answer")
	})
	f.ensure(t, svc, node("a"))
	if f.listener() == before {
		t.Fatal("the approved changes are not applied")
	}
	for ref := range f.cloud.have { // as before the approval: the same changes are due again
		if ref.Kind == "listener" {
			f.cloud.have[ref] = before
		}
	}
	f.cloud.discovered = ""
	f.states.update(svc.UID, func(s *serviceState) { s.history = nil })
	f.ensure(t, svc, node("a")) // removes the approval
	current, err := client.CoreV1().Services("default").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil || current.Annotations[intent.KeyApprove] != "" {
		t.Fatalf("the approval stays: %v, error %v", current.Annotations, err)
	}
	discover(f)
	if p := f.planned(t, current, node("a")); len(p.Held) == 0 {
		t.Errorf("the same changes are applied again: %s", plan.Summary(p))
	}
}
