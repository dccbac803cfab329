package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// cluster keeps the conditions of the Service of a fixture, as an API server does.
type cluster struct {
	*keepingFixture
	conditions []metav1.Condition
	writes     int
	fail       error
}

// newCluster returns a fixture whose histories survive a restart. Updates of its listeners disrupt traffic.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	return newClusterOf(t, newKeeping(false))
}

func newClusterOf(t *testing.T, f *keepingFixture) *cluster {
	t.Helper()
	c := &cluster{keepingFixture: f}
	c.cloud.declare = func(change *plan.Change) {
		if change.Kind == "listener" && change.Action != plan.Create {
			change.Disrupts = plan.DisruptsTraffic
		}
	}
	c.policy(provider.HoldDisruption)
	return c
}

func (c *cluster) policy(p provider.DisruptionPolicy) {
	c.SetRuntime(provider.Runtime{Recorder: c.events, Disruption: p,
		SetCondition: func(_ context.Context, _ *v1.Service, condition metav1.Condition) error {
			if c.fail != nil {
				return c.fail
			}
			c.writes++
			if condition.Status == "" {
				meta.RemoveStatusCondition(&c.conditions, condition.Type)
				return nil
			}
			meta.SetStatusCondition(&c.conditions, condition)
			return nil
		}})
}

// service returns a Service with the conditions of the cluster's.
func (c *cluster) service(edits ...func(*v1.Service)) *v1.Service {
	svc := web(edits...)
	svc.Status.Conditions = slices.Clone(c.conditions)
	return svc
}

func (c *cluster) sync(t *testing.T, edits ...func(*v1.Service)) {
	t.Helper()
	c.ensure(t, c.service(edits...), node("a"))
}

func (c *cluster) heldNow(t *testing.T, edits ...func(*v1.Service)) []plan.HeldChange {
	t.Helper()
	return c.planned(t, c.service(edits...), node("a")).Held
}

// wantByConfiguration makes the listener of port 443 have another value than what the Service says.
func (c *cluster) wantByConfiguration() { c.cloud.discovered = "by configuration" }

// An edit releases only what it causes.
func TestUnrelatedEditReleasesNothing(t *testing.T) {
	for name, edit := range map[string]func(*v1.Service){
		"a further port": func(svc *v1.Service) {
			svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Protocol: v1.ProtocolTCP, Port: 8443, NodePort: 30843})
		},
		"an annotation":          annotated(intent.KeyScheme, "internal"),
		"the source ranges, too": ranges("10.0.0.0/8"),
	} {
		for when, restart := range map[string]bool{"at once": false, "after a restart": true} {
			t.Run(name+" "+when, func(t *testing.T) {
				c := newCluster(t)
				c.sync(t)
				c.wantByConfiguration()
				c.sync(t)
				if restart {
					c.restart()
				}
				c.sync(t, edit)
				if got := c.listener(); got != "" {
					t.Errorf("listener %q", got)
				}
				if held := c.heldNow(t, edit); len(held) != 2 {
					t.Errorf("held %v", held)
				}
			})
		}
	}
}

// The edit that causes a difference is named.
func TestCauseIsNamed(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	edits := []func(*v1.Service){ranges("10.0.0.0/8"), annotated(intent.KeyScheme, "internal")}
	p := c.planned(t, c.service(edits...), node("a"))
	for _, change := range p.Changes {
		if change.Kind == "listener" && !slices.Equal(change.Because, []string{intent.FieldSourceRanges}) {
			t.Errorf("%s because of %v", change.Ref, change.Because)
		}
	}
	if len(p.Changes) == 0 || len(p.Held) > 0 {
		t.Errorf("plan %s, held %v", plan.Summary(p), p.Held)
	}
}

// What was edited while no manager was running is an edit, and so is one that was interrupted.
func TestCauseSurvivesRestarts(t *testing.T) {
	for name, interrupted := range map[string]bool{"edited meanwhile": false, "interrupted": true} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.sync(t)
			edit := ranges("10.0.0.0/8")
			if interrupted {
				c.cloud.fault = func(int, bool) error { return errors.New("interrupted") }
				if _, err := c.EnsureLoadBalancer(t.Context(), "prod", c.service(edit), []*v1.Node{node("a")}); err == nil {
					t.Fatal("the change was not interrupted")
				}
				c.cloud.fault = nil
			}
			c.restart()
			c.sync(t, edit)
			if got := c.listener(); got != "10.0.0.0/8" {
				t.Errorf("listener %q", got)
			}
		})
	}
}

// What was edited while another manager was working is only seen.
func TestEditDuringAnotherManager(t *testing.T) {
	c := newCluster(t)
	c.lead("1")
	c.sync(t)
	c.restart()
	c.lead("2")
	edit := ranges("10.0.0.0/8")
	for range 2 {
		c.sync(t, edit)
		if got := c.listener(); got != "" {
			t.Fatalf("listener %q", got)
		}
	}
	c.sync(t, ranges("192.0.2.0/24"))
	if got := c.listener(); got != "192.0.2.0/24" {
		t.Errorf("an edit that this manager saw: listener %q", got)
	}
}

// lead makes the runtime that of a leader.
func (c *cluster) lead(since string) {
	r := *c.runtime.Load()
	r.LeadingSince = since
	c.SetRuntime(r)
}

// A manager that ends before it has seen all Services leaves those that it has not seen to the next one.
func TestEditDuringAnotherManagerAfterARestart(t *testing.T) {
	c := newCluster(t)
	c.lead("1")
	c.sync(t)
	c.lead("2")
	c.restart() // It has seen other Services only.
	edit := ranges("10.0.0.0/8")
	c.sync(t, edit)
	if got := c.listener(); got != "" {
		t.Errorf("listener %q", got)
	}
	c.writes = 0
	c.restart()
	c.sync(t, edit)
	if c.writes > 0 {
		t.Errorf("a restart writes %d times", c.writes)
	}
}

// A disruptive change that was interrupted is undone without another cause.
func TestEditRevertedHalfWay(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	c.options.Parallel = 1
	first := len(c.cloud.mutations)
	c.cloud.fault = func(n int, _ bool) error {
		if n > first+1 {
			return errors.New("interrupted")
		}
		return nil
	}
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", c.service(ranges("10.0.0.0/8")), []*v1.Node{node("a")}); err == nil {
		t.Fatal("the change was not interrupted")
	}
	c.cloud.fault = nil
	c.restart()
	c.sync(t)
	for ref, value := range c.cloud.have {
		if ref.Kind == "listener" && value != "" {
			t.Errorf("%v is %q", ref, value)
		}
	}
}

// An approved change that was interrupted is undone once nothing wants it any more, without another approval.
func TestApprovedChangeIsUndoneHalfWay(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	c.wantByConfiguration()
	approved := c.service(annotated(intent.KeyApprove, c.planned(t, c.service(), node("a")).HeldID))
	c.options.Parallel = 1
	first := len(c.cloud.mutations)
	c.cloud.fault = func(n int, _ bool) error {
		if n > first+1 {
			return errors.New("interrupted")
		}
		return nil
	}
	if _, err := c.EnsureLoadBalancer(t.Context(), "prod", approved, []*v1.Node{node("a")}); err == nil {
		t.Fatal("the change was not interrupted")
	}
	c.cloud.fault, c.cloud.discovered = nil, ""
	clear(c.cloud.records) // which would prove drift
	c.restart()
	c.sync(t)
	for ref, value := range c.cloud.have {
		if ref.Kind == "listener" && value != "" {
			t.Errorf("%v is %q", ref, value)
		}
	}
}

// With hold-all, causes are kept, each for its difference.
func TestHoldAllKeepsCauses(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	c.policy(provider.HoldAllDisruption)
	edit := ranges("10.0.0.0/8")
	c.sync(t, edit)
	c.restart()
	further := []func(*v1.Service){edit, annotated(intent.KeyScheme, "internal")}
	c.sync(t, further...)
	c.policy(provider.HoldDisruption)
	c.sync(t, further...)
	if got := c.listener(); got != "10.0.0.0/8" {
		t.Errorf("listener %q", got)
	}
	c.wantByConfiguration()
	c.sync(t, further...)
	if got := c.listener(); got != "10.0.0.0/8" {
		t.Errorf("an applied cause was used again: listener %q", got)
	}
}

// A history that belongs to another Service, or that was removed, causes nothing.
func TestForeignHistoryIsIgnored(t *testing.T) {
	for name, change := range map[string]func(*cluster){
		"copied from another Service": func(c *cluster) {
			c.conditions[0].Message = strings.Replace(c.conditions[0].Message, `"uid":"u-1"`, `"uid":"u-2"`, 1)
		},
		"removed":   func(c *cluster) { c.conditions = nil },
		"malformed": func(c *cluster) { c.conditions[0].Message = "{" },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.sync(t)
			clear(c.cloud.records)
			c.restart()
			change(c)
			edit := ranges("10.0.0.0/8")
			c.sync(t, edit)
			if got := c.listener(); got != "" {
				t.Errorf("listener %q", got)
			}
			if _, ok := storedHistory(c.service()); !ok {
				t.Error("no history is stored")
			}
		})
	}
}

// Inputs that are not valid any more are undone one at a time.
func TestLastInputsThatAreInvalidNow(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	h, _ := storedHistory(c.service())
	h.Inputs = maps.Clone(h.Inputs)
	h.Inputs[intent.KeyScheme] = "neither"
	h.Sequence++
	h.Digest = applied.Digest(h.Inputs)
	c.conditions[0].Message = h.encode()
	c.restart()
	c.sync(t, ranges("10.0.0.0/8"))
	if got := c.listener(); got != "10.0.0.0/8" {
		t.Errorf("listener %q", got)
	}
}

// An annotation that an earlier release did not read is no edit.
func TestAnnotationThatWasNotRead(t *testing.T) {
	svc := web(annotated(intent.KeyScheme, "internal"))
	earlier := intent.Vocabulary{Portable: []string{intent.KeySourceRanges}}
	now := intent.Vocabulary{Portable: []string{intent.KeyScheme, intent.KeySourceRanges}}
	present := intent.InputsOf(svc, now)
	h, ok := parseHistory(newHistory(svc, earlier, time.Now()).encode())
	if last, known := h.lastInputs(present, now); !ok || !known || !last.Equal(present) {
		t.Errorf("inputs %v, want %v", last, present)
	}
	h, _ = parseHistory(newHistory(web(), now, time.Now()).encode())
	if last, _ := h.lastInputs(present, now); last.Equal(present) {
		t.Error("an annotation that was read is no edit")
	}
}

// The history of a Service with many ports is compressed, and a longer one has no inputs: it still knows whether they
// are the same.
func TestLongHistories(t *testing.T) {
	for ports, stored := range map[int]bool{1: true, 100: true, 2000: false} {
		svc := web()
		for i := range ports {
			name := applied.Digest(i) // cannot be compressed
			svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Name: name, Protocol: v1.ProtocolUDP, Port: int32(i + 1000)})
		}
		vocabulary := intent.Vocabulary{Portable: intent.Keys()}
		text := newHistory(svc, vocabulary, time.Now()).encode()
		h, ok := parseHistory(text)
		if !ok || len(text) > maxHistory || (h.Inputs != nil) != stored {
			t.Errorf("%d ports: %d characters, inputs: %t, parsed: %t", ports, len(text), h.Inputs != nil, ok)
		}
		if _, known := h.lastInputs(intent.InputsOf(svc, vocabulary), vocabulary); !known {
			t.Errorf("%d ports: the same inputs are unknown", ports)
		}
	}
}

// An idle sync writes nothing to the cluster, a first one and an edit once each; a disruptive one writes its end, too.
func TestWritesOfHistories(t *testing.T) {
	c := newCluster(t)
	step := func(name string, want int, edits ...func(*v1.Service)) {
		t.Helper()
		c.writes = 0
		c.sync(t, edits...)
		if c.writes != want {
			t.Errorf("%s: %d writes, want %d", name, c.writes, want)
		}
	}
	step("creation", 1)
	step("idle", 0)
	c.restart()
	step("restart", 0)
	step("edit", 2, annotated(intent.KeyScheme, "internal"))
	step("disruptive edit", 2, annotated(intent.KeyScheme, "internal"), ranges("10.0.0.0/8"))
}

// Without its cause in the cluster, no disruptive change begins; all others are made.
func TestCauseThatCannotBeStored(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	c.fail = errors.New("the API server does not answer")
	_, err := c.EnsureLoadBalancer(t.Context(), "prod", c.service(ranges("10.0.0.0/8")), []*v1.Node{node("a")})
	if err == nil || c.listener() != "" {
		t.Errorf("listener %q, error %v", c.listener(), err)
	}
	c.sync(t, annotated(intent.KeyScheme, "internal"))
	if got := fmt.Sprint(c.cloud.have[ref("load balancer", "lb-web")]); got != "internal" {
		t.Errorf("the scheme is %q", got)
	}
	c.fail = nil
	c.sync(t, annotated(intent.KeyScheme, "internal"))
	if h, ok := storedHistory(c.service()); !ok || h.Inputs[intent.KeyScheme] != "internal" {
		t.Errorf("the history was not stored later: %v", h)
	}
}

// An approval is used once, also where it cannot be removed.
func TestApprovalIsUsedOnce(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	c.wantByConfiguration()
	id := c.planned(t, c.service(), node("a")).HeldID
	approved := annotated(intent.KeyApprove, id)
	c.sync(t, approved)
	if got := c.listener(); got != "by configuration" {
		t.Fatalf("listener %q", got)
	}
	c.cloud.discovered = ""
	for _, again := range []string{"", "by configuration"} {
		for ref := range c.cloud.have {
			if ref.Kind == "listener" {
				c.cloud.have[ref] = ""
			}
		}
		c.cloud.discovered = again
		clear(c.cloud.records)
		c.restart()
		c.sync(t, approved)
	}
	if got := c.listener(); got != "" {
		t.Errorf("the approval was used again: listener %q", got)
	}
}

// Marks of a load balancer that was taken over are made with other changes, or if an edit causes them.
func TestMarksAreWrittenWithOtherChanges(t *testing.T) {
	mark := plan.Change{Ref: plan.Ref{Kind: "tags"}, Mark: true, Fields: []plan.Field{{Name: "tags", After: "b"}}}
	other := plan.Change{Ref: plan.Ref{Kind: "listener"}}
	member := plan.Change{Ref: plan.Ref{Kind: "targets"}, Membership: true}
	for name, tc := range map[string]struct {
		changes  []plan.Change
		adopted  bool
		edited   bool
		changing int
	}{
		"alone":                    {[]plan.Change{mark}, true, false, 0},
		"with members":             {[]plan.Change{mark, member}, true, false, 1},
		"with another change":      {[]plan.Change{mark, other}, true, false, 2},
		"edited":                   {[]plan.Change{mark}, true, true, 1},
		"of a recorded state, too": {[]plan.Change{mark}, false, false, 1},
	} {
		found := &causes{known: true, plan: func(intent.Inputs, []plan.Difference) (plan.Plan, error) { return plan.Plan{}, nil }}
		if tc.edited {
			found.present = intent.Inputs{"tags": "b"}
		}
		got := withoutIdleMarks(plan.Plan{Changes: tc.changes}, judge{takenOver: tc.adopted, causes: found})
		if len(got.Changes) != tc.changing {
			t.Errorf("%s: changes %v", name, got.Changes)
		}
	}
}

// manyRanges are source ranges that are too long to be stored.
func manyRanges(svc *v1.Service) {
	for i := range 5000 {
		sum := applied.Digest(i)
		svc.Spec.LoadBalancerSourceRanges = append(svc.Spec.LoadBalancerSourceRanges,
			fmt.Sprintf("10.%d.%d.%d/32", sum[0], sum[1], sum[2]))
	}
}

// The first edit after a restart is one, also of a Service whose inputs are too long to be stored.
func TestEditOfLongInputsAfterARestart(t *testing.T) {
	c := newCluster(t)
	c.sync(t, manyRanges)
	if h, ok := storedHistory(c.service()); !ok || h.Inputs != nil {
		t.Fatalf("stored %t, inputs %d", ok, len(h.Inputs))
	}
	c.restart()
	c.sync(t, manyRanges)
	c.sync(t, ranges("10.0.0.0/8"))
	if got := c.listener(); got != "10.0.0.0/8" {
		t.Errorf("listener %q", got)
	}
}

// A history with more causes than fit is an error, and does not replace the one before.
func TestMoreCausesThanFit(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	before := slices.Clone(c.conditions)
	var p plan.Plan
	for i := range 3000 {
		p.Add(plan.Change{Ref: plan.Ref{Kind: "listener", Name: applied.Digest(i), Action: plan.Delete}, Disrupts: plan.DisruptsTraffic})
	}
	svc := c.service()
	target := target{key: c.key("prod", svc), service: svc}
	if err := c.beginPlan(t.Context(), target, nil, withCauses(p, verdict{})); !errors.Is(err, errHistoryTooLong) {
		t.Errorf("error %v", err)
	}
	if !slices.Equal(c.conditions, before) {
		t.Errorf("conditions %v", c.conditions)
	}
	c.sync(t)
	if h, ok := storedHistory(c.service()); !ok || len(h.Caused) > 0 {
		t.Errorf("after an idle sync: %v", h)
	}
}
