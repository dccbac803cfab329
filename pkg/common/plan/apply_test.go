package plan

import (
	"context"
	"testing"
)

func TestApplyRunsInDependencyOrder(t *testing.T) {
	var ran []string
	step := func(name string) func(context.Context, *Handles) error {
		return func(context.Context, *Handles) error { ran = append(ran, name); return nil }
	}
	lb, pool := Ref{"load balancer", "a", Create}, Ref{"pool", "a/80", Create}
	p := Plan{Subject: "Service default/web", Changes: []Change{
		{Ref: Ref{"listener", "a/80", Create}, After: []Ref{pool}, Do: step("listener")},
		{Ref: pool, After: []Ref{lb}, Do: step("pool")},
		{Ref: lb, Do: step("lb"), Ready: step("lb ready")},
	}}
	if _, err := p.Apply(t.Context(), ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := len(ran); got != 4 || ran[0] != "lb" || ran[1] != "lb ready" || ran[2] != "pool" {
		t.Errorf("ran %v", ran)
	}
}
