package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// A difference that another one hides in the plan for the last inputs, as the replacement of a load balancer does with
// those of its listeners, has no cause in the edit that takes away the other one.
func TestHiddenDifferenceHasNoCause(t *testing.T) {
	replacement := plan.Difference{Kind: KindLoadBalancer, Object: "lb", Field: "flavor", Wanted: "large"}
	listener := plan.Difference{Kind: "listener", Object: "443", Field: "protocol", Wanted: "TLS"}
	change := func(d plan.Difference) plan.Change {
		return plan.Change{Ref: plan.Ref{Kind: d.Kind, Name: d.Object, Action: plan.Update}, Disrupts: plan.DisruptsTraffic,
			Fields: []plan.Field{{Name: d.Field, After: d.Wanted, Disrupts: plan.DisruptsTraffic}}}
	}
	// The configuration wants another flavor and protocol. The Service pins the flavor, and adds a port.
	planned := func(in intent.Inputs, keep []plan.Difference) (plan.Plan, error) {
		var p plan.Plan
		switch {
		case in["flavor"] == "" && !slices.ContainsFunc(keep, replacement.Same):
			p.Add(change(replacement))
		case !slices.ContainsFunc(keep, listener.Same):
			p.Add(change(listener))
		}
		return p, nil
	}
	present := intent.Inputs{"flavor": "small", "port": "8443"}
	p, _ := planned(present, nil)
	found := &causes{known: true, last: intent.Inputs{}, present: present, plan: planned}
	if v := (judge{policy: provider.HoldDisruption, causes: found}).judge(p); len(v.held) != 1 || len(v.caused) != 0 {
		t.Errorf("held %v, caused %v", v.held, v.caused)
	}
}

// The time for the causes of a plan grows with its differences, not with their square.
func TestCausesOfManyDifferences(t *testing.T) {
	const n = 3000
	planned := func(ranges string) (p plan.Plan) {
		for i := range n {
			p.Changes = append(p.Changes, plan.Change{
				Ref: plan.Ref{Kind: "listener", Name: fmt.Sprint("tcp-", i), Action: plan.Update}, Disrupts: plan.DisruptsTraffic,
				Fields: []plan.Field{{Name: "sourceRanges", After: ranges, Disrupts: plan.DisruptsTraffic}},
			})
		}
		return p
	}
	before := planned("10.0.0.0/8")
	present := intent.Inputs{}
	for i := range maxEvaluations {
		present[fmt.Sprint("annotation ", i)] = "edited"
	}
	found := &causes{known: true, last: intent.Inputs{}, present: present,
		plan: func(intent.Inputs, []plan.Difference) (plan.Plan, error) { return before, nil }}
	start := time.Now()
	v := judge{policy: provider.HoldDisruption, causes: found}.judge(planned("192.0.2.0/24"))
	if took := time.Since(start); len(v.caused) != n || took > 5*time.Second {
		t.Errorf("%d caused differences after %s", len(v.caused), took)
	}
}

// The configuration has changed, the process is another one, and a listener was changed by hand: an edit of something
// else releases none of it, and its own difference is applied once it is one.
func TestUnrelatedEditAfterConfigurationRestartAndChangeByHand(t *testing.T) {
	c := newCluster(t)
	c.sync(t)
	c.wantByConfiguration()
	c.restart()
	c.sync(t)
	byHand := ref("listener", "lb-web/443-TCP")
	c.cloud.have[byHand] = "by hand"
	edit := annotated(intent.KeyScheme, "internal")
	for range 2 {
		c.sync(t, edit)
		if got := c.listener(); got != "" || c.cloud.have[byHand] != "by hand" {
			t.Errorf("listeners %q and %q", got, c.cloud.have[byHand])
		}
		c.restart()
	}
	if got := c.cloud.have[ref("load balancer", "lb-web")]; got != "internal" {
		t.Errorf("the edit is not applied: %q", got)
	}
	if held := c.heldNow(t, edit); len(held) != 2 {
		t.Errorf("held %v", held)
	}
}

// Of two edits, one of which fails again and again, both stay causes: a restart, and a further edit, lose neither.
func TestTwoEditsOfWhichOneFails(t *testing.T) {
	for when, restart := range map[string]bool{"in one process": false, "with restarts": true} {
		t.Run(when, func(t *testing.T) {
			c := newCluster(t)
			c.cloud.declare = func(change *plan.Change) {
				if change.Kind == "listener" && change.Action != plan.Create ||
					change.Kind == KindLoadBalancer && change.Action == plan.Update {
					change.Disrupts = plan.DisruptsTraffic
				}
			}
			c.sync(t)
			failing := true
			c.cloud.doing = func(_ context.Context, r plan.Ref) error {
				if failing && r.Kind == "listener" {
					return errors.New("refused")
				}
				return nil
			}
			edits := []func(*v1.Service){ranges("10.0.0.0/8"), annotated(intent.KeyScheme, "internal")}
			fail := func() {
				t.Helper()
				if _, err := c.EnsureLoadBalancer(t.Context(), "prod", c.service(edits...), []*v1.Node{node("a")}); err == nil {
					t.Fatal("the change did not fail")
				}
				if restart {
					clear(c.cloud.records) // which would prove drift
					c.restart()
				}
			}
			fail()
			fail()
			edits = append(edits, annotated(intent.KeyIdleTimeout, "60s"))
			fail()
			failing = false
			c.sync(t, edits...)
			if got, scheme := c.listener(), c.cloud.have[ref("load balancer", "lb-web")]; got != "10.0.0.0/8" || scheme != "internal" {
				t.Errorf("listener %q, scheme %q", got, scheme)
			}
			if h, _ := storedHistory(c.service()); len(h.Caused) > 0 || h.Unfinished {
				t.Errorf("the history is not finished: %+v", h)
			}
		})
	}
}
