package plan

import (
	"context"
	"slices"
	"sync"
	"testing"
)

// TestOrderIsKept verifies that a change waits for those of its Order that the plan has, and does not need the others.
func TestOrderIsKept(t *testing.T) {
	first, missing := Ref{Kind: "listener", Name: "a", Action: Update}, Ref{Kind: "listener", Name: "held", Action: Update}
	last := Ref{Kind: "tags", Name: "a", Action: Update}
	for _, list := range [][]Ref{{first, last}, {last, first}, {last}} {
		var mu sync.Mutex
		var done []Ref
		var p Plan
		for _, ref := range list {
			change := Change{Ref: ref, Do: func(context.Context, *Handles) error {
				mu.Lock()
				defer mu.Unlock()
				done = append(done, ref)
				return nil
			}}
			if ref == last {
				change.Order = []Ref{first, missing}
			}
			p.Add(change)
		}
		if _, err := p.Apply(t.Context(), ApplyOptions{Parallel: 4}); err != nil {
			t.Fatal(err)
		}
		if len(done) != len(list) || slices.Index(done, last) != len(list)-1 {
			t.Errorf("done %v of %v", done, list)
		}
		if len(p.Changes[0].After) > 0 {
			t.Error("the plan was changed")
		}
	}
}
