package loadbalancer

import (
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-base/metrics/testutil"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/internal/instruments"
	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// newHolding returns a controller with a load balancer, whose listeners' updates disrupt traffic and follow from the
// source ranges.
func newHolding(t *testing.T, disrupts plan.Disruption) *keepingFixture {
	t.Helper()
	f := newKeeping(false)
	f.cloud.declare = func(c *plan.Change) {
		if c.Kind == "listener" && c.Action == plan.Update {
			c.Disrupts = disrupts
		}
	}
	f.ensure(t, web(), node("a"))
	f.drain()
	return f
}

// drain returns the Warnings since the last call.
func (f *keepingFixture) drain() (warnings []string) {
	for range len(f.events.Events) {
		if event := <-f.events.Events; strings.HasPrefix(event, v1.EventTypeWarning) {
			warnings = append(warnings, event)
		}
	}
	return warnings
}

func (f *keepingFixture) listener() string { return f.cloud.have[ref("listener", "lb-web/80-TCP")] }

func (f *keepingFixture) planned(t *testing.T, svc *v1.Service, nodes ...*v1.Node) plan.Plan {
	t.Helper()
	p, err := f.PlanLoadBalancer(t.Context(), "prod", svc, nodes, PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDisruptionNeedsACause(t *testing.T) {
	changed := web(ranges("10.0.0.0/8"))
	for name, tc := range map[string]struct {
		disrupts plan.Disruption
		policy   provider.DisruptionPolicy
		prepare  func(*keepingFixture)
		svc      *v1.Service
		held     bool
	}{
		"the field has changed":                 {disrupts: plan.DisruptsTraffic, svc: changed},
		"the field of an address has changed":   {disrupts: plan.DisruptsAddress, svc: changed},
		"the field has changed, hold-all":       {disrupts: plan.DisruptsTraffic, policy: provider.HoldAllDisruption, svc: changed, held: true},
		"no cause":                              {disrupts: plan.DisruptsTraffic, prepare: discover, svc: web(), held: true},
		"no cause, allow":                       {disrupts: plan.DisruptsTraffic, policy: provider.AllowDisruption, prepare: discover, svc: web()},
		"no cause, but members only":            {disrupts: plan.DisruptsMembers, prepare: discover, svc: web()},
		"no cause, and nothing is declared":     {prepare: discover, svc: web()},
		"taken over":                            {disrupts: plan.DisruptsTraffic, prepare: takeOver, svc: changed, held: true},
		"drift of traffic":                      {disrupts: plan.DisruptsTraffic, prepare: drift, svc: web()},
		"drift of an address":                   {disrupts: plan.DisruptsAddress, prepare: drift, svc: web(), held: true},
		"another field has changed, discovered": {disrupts: plan.DisruptsTraffic, prepare: discover, svc: web(onePort), held: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newHolding(t, tc.disrupts)
			f.SetRuntime(provider.Runtime{Recorder: f.events, Disruption: tc.policy})
			if tc.prepare != nil {
				tc.prepare(f)
			}
			before := f.listener()
			f.ensure(t, tc.svc, node("a"))
			if got := f.listener() == before; got != tc.held {
				t.Errorf("listener %q, was %q; want held: %t", f.listener(), before, tc.held)
			}
			f.ensure(t, tc.svc, node("a"))
			if n := len(f.drain()); tc.held != (n == 1) {
				t.Errorf("%d Warnings", n)
			}
			if p := f.planned(t, tc.svc, node("a")); tc.held != (len(p.Held) > 0) || len(p.Changes) > 0 {
				t.Errorf("plan %s, held %v", plan.Summary(p), p.Held)
			}
		})
	}
}

// The plan of an edit knows the Service of the cluster as its baseline, and leaves the manager's own one unchanged.
func TestPlanOfEditHasLiveServiceAsBaseline(t *testing.T) {
	f := newHolding(t, plan.DisruptsTraffic)
	takeOver(f)
	changed := web(ranges("10.0.0.0/8"))
	p, err := f.PlanLoadBalancer(t.Context(), "prod", changed, []*v1.Node{node("a")}, PlanOptions{Live: web()})
	if err != nil || len(p.Held) > 0 || p.Empty() {
		t.Errorf("plan of an edit: %s, held %v, %v", plan.Summary(p), p.Held, err)
	}
	f.ensure(t, changed, node("a"))
	warnings := f.drain()
	if len(warnings) != 1 || !strings.Contains(warnings[0], "no edit of the Service that was seen since the load balancer was taken over") ||
		!strings.Contains(warnings[0], "until the annotation "+intent.KeyApprove+" is set to ") {
		t.Errorf("Warnings about an edit that no manager saw: %q", warnings)
	}
}

func discover(f *keepingFixture) { f.cloud.discovered = "discovered" }

// takeOver leaves a load balancer without a record to a new process.
func takeOver(f *keepingFixture) {
	clear(f.cloud.records)
	f.restart()
}
func drift(f *keepingFixture) { f.cloud.have[ref("listener", "lb-web/80-TCP")] = "changed by hand" }
func onePort(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] }

// A Service that is invalid when it is first seen has inputs too: its correction is a change of them, and the cause of
// what it disrupts.
func TestCorrectionIsAChange(t *testing.T) {
	f := newHolding(t, plan.DisruptsTraffic)
	takeOver(f)
	if _, err := f.EnsureLoadBalancer(t.Context(), "prod", web(ranges("10.0.0.0/99")), []*v1.Node{node("a")}); err == nil {
		t.Fatal("an invalid source range passed")
	}
	corrected := web(ranges("10.0.0.0/8"))
	if p := f.planned(t, corrected, node("a")); len(p.Held) > 0 || p.Empty() {
		t.Errorf("held %v, changes %v", p.Held, p.Changes)
	}
	f.ensure(t, corrected, node("a"))
	takeOver(f)
	drift(f)
	if p := f.planned(t, corrected, node("a")); len(p.Held) == 0 {
		t.Error("without a change, nothing is held")
	}
}

func TestApprovalHoldsForOnePlan(t *testing.T) {
	f := newHolding(t, plan.DisruptsTraffic)
	discover(f)
	id := f.planned(t, web(), node("a")).HeldID
	f.ensure(t, web(annotated(intent.KeyApprove, "another")), node("a"))
	if got := f.listener(); got != "" {
		t.Errorf("approved for another plan: listener %q", got)
	}
	if warnings := f.drain(); len(warnings) != 1 || !strings.Contains(warnings[0], intent.KeyApprove+" is set to "+id+": ") {
		t.Errorf("Warnings %q", warnings)
	}
	f.ensure(t, web(annotated(intent.KeyApprove, id)), node("a"))
	if got := f.listener(); got != "discovered" {
		t.Errorf("approved: listener %q", got)
	}
	f.cloud.discovered = "discovered again"
	f.ensure(t, web(annotated(intent.KeyApprove, id)), node("a"))
	if got := f.listener(); got != "discovered" {
		t.Errorf("the next plan: listener %q", got)
	}
}

// The rest of a plan is applied; the record does not claim what was held.
func TestMembersFollowWhileChangesAreHeld(t *testing.T) {
	f := newHolding(t, plan.DisruptsTraffic)
	discover(f)
	nodes := []*v1.Node{node("a"), node("b")}
	if err := f.UpdateLoadBalancer(t.Context(), "prod", web(), nodes); err != nil {
		t.Fatal(err)
	}
	if got := f.cloud.have[ref("pool", "lb-web/80-TCP")]; got != "a,b" || f.listener() != "" {
		t.Errorf("members %q, listener %q", got, f.listener())
	}
	in, _, _ := intent.Read(web(), f.options.Vocabulary)
	want, _ := f.cloud.Desired(f.key("prod", web()), in, nodes, "")
	if applied.Parse(f.cloud.records["lb-web"]).Proves(want.record) {
		t.Error("the record proves a state that was not applied")
	}
	f.cloud.discovered = ""
	f.ensure(t, web(), nodes...)
	f.stored(t, web(), nodes...)
}

// The pool that a held change would replace stays, and its members follow.
func TestMembersOfPoolFollowWhileItsReplacementIsHeld(t *testing.T) {
	f := newHolding(t, plan.DisruptsTraffic)
	f.cloud.declare = func(c *plan.Change) {
		if strings.HasSuffix(c.Name, "/443-TCP") && c.Action == plan.Delete {
			c.Disrupts = plan.DisruptsTraffic
		}
	}
	f.SetRuntime(provider.Runtime{Recorder: f.events, Disruption: provider.HoldAllDisruption})
	kept, held := ref("pool", "lb-web/443-TCP"), web(onePort)
	if err := f.UpdateLoadBalancer(t.Context(), "prod", held, []*v1.Node{node("b")}); err != nil {
		t.Fatal(err)
	}
	if got := f.cloud.have[kept]; got != "b" {
		t.Errorf("members after an update %q", got)
	}
	f.ensure(t, held, node("c"))
	if got := f.cloud.have[kept]; got != "c" {
		t.Errorf("members after a sync %q", got)
	}
	f.SetRuntime(provider.Runtime{Recorder: f.events})
	f.ensure(t, held, node("d"))
	if _, exists := f.cloud.have[kept]; exists {
		t.Error("the pool is not deleted")
	}
}

func TestMetricCountsHeldChanges(t *testing.T) {
	const name = "ccm_load_balancer_changes_held"
	f := newHolding(t, plan.DisruptsTraffic)
	f.options.Provider = "held-metric"
	held := func(want float64) {
		t.Helper()
		got, err := testutil.GetGaugeMetricValue(instruments.Process().Held.WithLabelValues("held-metric"))
		if err != nil || got != want {
			t.Errorf("%s{provider} is %v, want %v: %v", name, got, want, err)
		}
	}
	discover(f)
	f.ensure(t, web(), node("a"))
	held(2) // the listeners of both ports
	f.cloud.discovered = ""
	f.ensure(t, web(), node("a"))
	held(0)
	discover(f)
	f.ensure(t, web(), node("a"))
	held(2)
	if err := f.EnsureLoadBalancerDeleted(t.Context(), "prod", web()); err != nil {
		t.Fatal(err)
	}
	held(0)
	docs := Metrics()
	i := slices.IndexFunc(docs, func(d metrics.Doc) bool { return d.Name == name })
	if i < 0 || !slices.Equal(docs[i].Labels, []string{"provider"}) {
		t.Errorf("documented metrics %+v", docs)
	}
}

// With hold-all, the cause is not lost: it counts as soon as the policy changes.
func TestRecordKeepsTheCauseOfHeldChanges(t *testing.T) {
	f := newHolding(t, plan.DisruptsTraffic)
	svc := web(ranges("10.0.0.0/8"))
	f.SetRuntime(provider.Runtime{Recorder: f.events, Disruption: provider.HoldAllDisruption})
	f.ensure(t, svc, node("b"))
	f.SetRuntime(provider.Runtime{Recorder: f.events})
	f.ensure(t, svc, node("b"))
	if got := f.listener(); got != "10.0.0.0/8" {
		t.Errorf("listener %q", got)
	}
}

// A Service that is changed after its load balancer was taken over has a cause, and gets a record. What was held when it
// was taken over stays held.
func TestChangesAfterTakingOver(t *testing.T) {
	f := newHolding(t, plan.DisruptsTraffic)
	takeOver(f)
	f.ensure(t, web(ranges("10.0.0.0/8")), node("a"))
	if got := f.listener(); got != "" || len(f.cloud.records) != 0 {
		t.Fatalf("taken over: listener %q, records %v", got, f.cloud.records)
	}
	f.ensure(t, web(ranges("10.0.0.0/8")), node("a"), node("b"))
	if got := f.listener(); got != "" || len(f.cloud.records) == 0 {
		t.Fatalf("after a member was added: listener %q, records %v", got, f.cloud.records)
	}
	f.ensure(t, web(ranges("10.0.0.0/8")), node("a"), node("b"))
	if got := f.listener(); got != "" {
		t.Errorf("the record made the held change a cause: listener %q", got)
	}
	f.ensure(t, web(ranges("192.0.2.0/24")), node("a"), node("b"))
	if got := f.listener(); got != "192.0.2.0/24" {
		t.Errorf("changed by the user: listener %q", got)
	}
}

func TestChangeWithoutARecordHasACauseInOneProcess(t *testing.T) {
	f := newHolding(t, plan.DisruptsTraffic)
	takeOver(f)
	f.ensure(t, web(), node("a"))
	f.ensure(t, web(ranges("10.0.0.0/8")), node("a"))
	if got := f.listener(); got != "10.0.0.0/8" {
		t.Errorf("listener %q", got)
	}
}

func TestHoldHoldsDependants(t *testing.T) {
	change := func(name string, disrupts plan.Disruption, after ...string) plan.Change {
		c := plan.Change{Ref: plan.Ref{Kind: "x", Name: name, Action: plan.Update}, Disrupts: disrupts}
		for _, a := range after {
			c.After = append(c.After, plan.Ref{Kind: "x", Name: a, Action: plan.Update})
		}
		return c
	}
	p := plan.Plan{Changes: []plan.Change{
		change("third", "", "second"), change("second", "", "first"), change("first", plan.DisruptsLoadBalancer),
		change("independent", ""),
	}}
	got := splitHeld(p, judge{policy: provider.HoldDisruption, causes: &causes{}}.judge(p))
	if len(got.Changes) != 1 || got.Changes[0].Name != "independent" || len(got.Held) != 3 {
		t.Errorf("applied %v, held %v", got.Changes, got.Held)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}

// Two pools can have one name: members follow unless the plan deletes their own pool.
func TestDeletedPoolOfSameNameKeepsMembersOfOther(t *testing.T) {
	for name, tt := range map[string]struct {
		deleted, members string
		want             int
	}{
		"own pool":   {"1", "1", 1},
		"other pool": {"1", "2", 2},
		"no ID":      {"1", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			deletion := plan.Change{Ref: plan.Ref{Kind: "pool", Name: "web", Action: plan.Delete}, ID: tt.deleted}
			update := plan.Change{
				Ref: plan.Ref{Kind: "members", Name: "web", Action: plan.Update}, ID: tt.members, Membership: true,
			}
			got := withMembers(plan.Plan{Changes: []plan.Change{deletion}}, plan.Plan{Changes: []plan.Change{update}})
			if len(got.Changes) != tt.want {
				t.Errorf("%s, want %d changes", plan.Summary(got), tt.want)
			}
		})
	}
}
