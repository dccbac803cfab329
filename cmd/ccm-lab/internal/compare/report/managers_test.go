package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddColumnsKeepsOnlyOtherManagers(t *testing.T) {
	own := Column{Name: "aws-network", Provider: "aws", Kind: "network", Program: "ccm"}
	other := Column{Name: "theirs-network", Title: "theirs v1, network load balancer", Provider: "aws", Kind: "network",
		Program: "their-ccm"}
	earlier := Report{Date: "2026-11-25", Columns: []Column{own, other},
		Capabilities: []Capability{
			{ID: "service.tcp", Cells: map[string]Cell{own.Name: {Verdict: Failed}, other.Name: {Verdict: Ignored, Leaked: []string{"x"}}}},
			{ID: "service.removed", Cells: map[string]Cell{other.Name: {Verdict: Works}}},
		},
		Operations: []Operation{{ID: "join", Costs: map[string]Cost{own.Name: {Calls: 1}, other.Name: {Calls: 50}}}},
	}
	r := Report{Columns: []Column{own},
		Capabilities: []Capability{{ID: "service.tcp", Cells: map[string]Cell{own.Name: {Verdict: Works}}}},
		Operations:   []Operation{{ID: "join", Costs: map[string]Cost{own.Name: {Calls: 9}}}},
	}
	r.AddColumns(earlier)
	r.AddColumns(earlier) // A second time adds nothing.

	added := other
	added.Observed = "2026-11-25"
	want := Report{Columns: []Column{own, added},
		Capabilities: []Capability{{ID: "service.tcp", Cells: map[string]Cell{
			own.Name: {Verdict: Works}, other.Name: {Verdict: Ignored, Leaked: []string{"x"}}}}},
		Operations: []Operation{{ID: "join", Costs: map[string]Cost{own.Name: {Calls: 9}, other.Name: {Calls: 50}}}},
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if problems := r.Problems(); len(problems) > 0 {
		t.Errorf("what another manager left in an earlier run is a problem of this one: %v", problems)
	}
	if diff := cmp.Diff([]Pair{{own, added}}, r.Pairs()); diff != "" {
		t.Errorf("pairs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Column{own}, r.Clouds()); diff != "" {
		t.Errorf("clouds (-want +got):\n%s", diff)
	}
	if got := added.Manager(); got != "theirs v1" {
		t.Errorf("the manager is %q", got)
	}
}
