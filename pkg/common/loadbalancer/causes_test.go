package loadbalancer

import (
	"fmt"
	"slices"
	"testing"
	"time"

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
