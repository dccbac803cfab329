package plan

import (
	"context"
	"strings"
	"testing"
)

// noteStep notes its name in a diary; waiting ones note a wait too.
type noteStep string

func (s noteStep) Do(_ context.Context, d *diary, _ *Handles) error {
	d.note("do " + string(s))
	return nil
}

type waitingNote struct{ noteStep }

func (s waitingNote) Ready(_ context.Context, d *diary, _ *Handles) error {
	d.note("await " + string(s.noteStep))
	return nil
}

func TestBind(t *testing.T) {
	t.Parallel()
	var d diary
	p := Plan{Changes: []Change{
		{Ref: create("a"), Step: waitingNote{"a"}},
		{Ref: create("b"), Step: noteStep("b"), After: []Ref{create("a")}},
		{Ref: create("c"), Do: d.does("own c", nil), After: []Ref{create("b")}},
	}}
	bound := Bind(p, &d)
	if p.Changes[0].Do != nil {
		t.Error("the plan has been changed")
	}
	if _, err := bound.Apply(t.Context(), ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(d.entries, ", "), "do a, await a, do b, own c"; got != want {
		t.Errorf("made %s, not %s", got, want)
	}
}

func TestBindRefusesStepsOfOtherWriters(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]any{"another writer": noteStep("a"), "none": nil} {
		p := Bind(Plan{Changes: []Change{{Ref: create("a"), Step: step}}}, "writer of another type")
		if _, err := p.Apply(t.Context(), ApplyOptions{}); err == nil || !strings.Contains(err.Error(), "no calls of the cloud") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
