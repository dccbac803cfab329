package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

func create(name string) Ref { return Ref{Kind: "pool", Name: name, Action: Create} }

// diary notes what ran, in order.
type diary struct {
	mu      sync.Mutex
	entries []string
}

func (d *diary) note(s string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, s)
}

func (d *diary) index(s string) int { return slices.Index(d.entries, s) }

// does notes the name and returns err.
func (d *diary) does(name string, err error) func(context.Context, *Handles) error {
	return func(context.Context, *Handles) error { d.note(name); return err }
}

// change is one that succeeds, and waits for others.
func (d *diary) change(name string, after ...string) Change {
	c := Change{Ref: create(name), Do: d.does(name, nil)}
	for _, a := range after {
		c.After = append(c.After, create(a))
	}
	return c
}

func denied(what string) error {
	return &cloudapi.Error{Class: cloudapi.Denied, Operation: what, Err: errors.New("not allowed")}
}

func statuses(r Result) string {
	var b strings.Builder
	for _, o := range r.Outcomes {
		fmt.Fprintf(&b, "%s=%s ", o.Name, o.Status)
	}
	return strings.TrimSpace(b.String())
}

func TestApplyRunsDependantsAfterWhatTheyNeed(t *testing.T) {
	var d diary
	lb := d.change("lb")
	lb.Ready = d.does("lb ready", nil)
	p := Plan{Changes: []Change{d.change("listener", "pool"), d.change("pool", "lb"), lb}}
	result, err := p.Apply(t.Context(), ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"lb", "lb ready", "pool", "listener"}, d.entries); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if got := statuses(result); got != "listener=done pool=done lb=done" {
		t.Error(got)
	}
}

// Three changes that each wait until all three run can only finish side by side.
func TestApplyRunsIndependentChangesSideBySide(t *testing.T) {
	var together sync.WaitGroup
	together.Add(3)
	meet := func(ctx context.Context, _ *Handles) error {
		together.Done()
		met := make(chan struct{})
		go func() { together.Wait(); close(met) }()
		select {
		case <-met:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	p := Plan{Changes: []Change{{Ref: create("a"), Do: meet}, {Ref: create("b"), Do: meet}, {Ref: create("c"), Do: meet}}}
	if _, err := p.Apply(ctx, ApplyOptions{Parallel: 3}); err != nil {
		t.Fatal(err)
	}
}

func TestApplyBoundsMutationsButNotWaits(t *testing.T) {
	running, most := 0, 0
	observer := func(_ Change, status Status, _ error) {
		switch status {
		case Started:
			running++
		case Applied:
			running--
		}
		most = max(most, running)
	}
	var waiting sync.WaitGroup // passed only when all four wait at once
	waiting.Add(4)
	var p Plan
	for i := range 4 {
		p.Changes = append(p.Changes, Change{
			Ref:   create(fmt.Sprint(i)),
			Do:    func(context.Context, *Handles) error { return nil },
			Ready: func(context.Context, *Handles) error { waiting.Done(); waiting.Wait(); return nil },
		})
	}
	if _, err := p.Apply(t.Context(), ApplyOptions{Parallel: 1, Observer: observer}); err != nil {
		t.Fatal(err)
	}
	if most != 1 {
		t.Errorf("%d mutations ran at once, want 1", most)
	}
}

func TestApplyStopsAtTheFirstErrorAndFinishesWhatRuns(t *testing.T) {
	var d diary
	failing := make(chan struct{})
	slow := Change{Ref: create("slow"), Do: func(context.Context, *Handles) error {
		<-failing
		d.note("slow finished")
		return nil
	}}
	bad := Change{Ref: create("bad"), Do: d.does("bad", denied("CreatePool"))}
	observer := func(_ Change, _ Status, err error) {
		if err != nil {
			close(failing)
		}
	}
	p := Plan{Subject: "Service a/b", Changes: []Change{slow, bad, d.change("after bad", "bad"), d.change("queued"),
		d.change("after slow", "slow")}}
	result, err := p.Apply(t.Context(), ApplyOptions{Parallel: 2, Observer: observer})
	if want := "create pool bad: CreatePool: not allowed (denied)"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if !cloudapi.Is(err, cloudapi.Denied) {
		t.Errorf("class %s", cloudapi.ClassOf(err))
	}
	if d.index("slow finished") < 0 || d.index("after bad") >= 0 || d.index("after slow") >= 0 {
		t.Errorf("ran %v", d.entries)
	}
	if s := result.Outcomes[0].Status; s != Done {
		t.Errorf("slow is %s", s)
	}
	if diff := cmp.Diff([]string{"slow"}, names(result.AppliedChanges(p))); diff != "" {
		t.Errorf("made (-want +got):\n%s", diff)
	}
}

func names(p Plan) []string {
	var names []string
	for _, c := range p.Changes {
		names = append(names, c.Name)
	}
	return names
}

func TestApplyJoinsErrorsWithTheFirstClassInFront(t *testing.T) {
	first := make(chan struct{})
	observed := func(c Change, _ Status, err error) {
		if c.Name == "one" && err != nil {
			close(first)
		}
	}
	p := Plan{Changes: []Change{
		{Ref: create("one"), Do: func(context.Context, *Handles) error { return denied("One") }},
		{Ref: create("two"), Do: func(context.Context, *Handles) error {
			<-first
			return &cloudapi.Error{Class: cloudapi.Quota, Operation: "Two", Err: errors.New("full")}
		}},
	}}
	_, err := p.Apply(t.Context(), ApplyOptions{Parallel: 2, Observer: observed})
	if cloudapi.ClassOf(err) != cloudapi.Denied || !strings.Contains(fmt.Sprint(err), "Two: full (quota)") {
		t.Errorf("error %v", err)
	}
}

func TestApplyCancelsWaitsWhenAnotherChangeFails(t *testing.T) {
	waiting := make(chan struct{})
	p := Plan{Changes: []Change{
		{
			Ref: create("lb"), Do: func(context.Context, *Handles) error { return nil },
			Ready: func(ctx context.Context, _ *Handles) error { close(waiting); <-ctx.Done(); return ctx.Err() },
		},
		{Ref: create("bad"), Do: func(context.Context, *Handles) error { <-waiting; return denied("Create") }},
	}}
	result, err := p.Apply(t.Context(), ApplyOptions{Parallel: 2})
	if want := "create pool bad: Create: not allowed (denied)"; err == nil || err.Error() != want {
		t.Errorf("error %v, want only %s", err, want)
	}
	if got := statuses(result); got != "lb=applied bad=started" {
		t.Error(got)
	}
	if len(result.AppliedChanges(p).Changes) != 1 {
		t.Errorf("made %v, want lb", names(result.AppliedChanges(p)))
	}
}

func TestApplyHonoursCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var d diary
	p := Plan{Subject: "Service a/b", Changes: []Change{
		d.change("first"),
		{Ref: create("second"), After: []Ref{create("first")}, Do: func(ctx context.Context, _ *Handles) error {
			cancel()
			<-ctx.Done()
			return ctx.Err()
		}},
		d.change("third", "second"),
	}}
	result, err := p.Apply(ctx, ApplyOptions{})
	want := "create pool second: context canceled\nplan of Service a/b stopped after 1 of 3 changes: context canceled"
	if err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if !cloudapi.Is(err, cloudapi.Canceled) {
		t.Errorf("class %s", cloudapi.ClassOf(err))
	}
	if got := statuses(result); got != "first=done second=started third=pending" {
		t.Error(got)
	}
}

// The manager stops while one change is in flight and another waits for its object: the first finishes with its
// context intact, the wait ends, and the dependants do not start.
func TestApplyFinishesChangesInFlightOnStop(t *testing.T) {
	stop, end := context.WithCancel(t.Context())
	defer end()
	waiting := make(chan struct{})
	var d diary
	lb := d.change("lb")
	lb.Ready = func(ctx context.Context, _ *Handles) error {
		close(waiting)
		<-ctx.Done()
		return ctx.Err()
	}
	slow := Change{Ref: create("slow"), Do: func(ctx context.Context, _ *Handles) error {
		<-waiting
		end()
		d.note("slow")
		return ctx.Err()
	}}
	p := Plan{Subject: "Service a/b", Changes: []Change{lb, slow, d.change("after slow", "slow"), d.change("pool", "lb")}}
	result, err := p.Apply(WithStop(t.Context(), stop), ApplyOptions{})
	if got := statuses(result); got != "lb=applied slow=done after slow=pending pool=pending" {
		t.Error(got)
	}
	if !cloudapi.Is(err, cloudapi.Canceled) || !strings.Contains(err.Error(), "plan of Service a/b stopped after 1 of 4 changes") {
		t.Errorf("error %v", err)
	}
	if _, err := p.Apply(WithStop(t.Context(), stop), ApplyOptions{}); err == nil || len(d.entries) != 2 {
		t.Errorf("a plan after the stop: error %v, ran %v", err, d.entries)
	}
}

func TestApplyStartsNothingWithAnEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var d diary
	p := Plan{Subject: "Service a/b", Changes: []Change{d.change("a")}}
	if _, err := p.Apply(ctx, ApplyOptions{}); !errors.Is(err, context.Canceled) || len(d.entries) > 0 {
		t.Errorf("error %v, ran %v", err, d.entries)
	}
	if _, err := (Plan{}).Apply(ctx, ApplyOptions{}); err != nil {
		t.Errorf("an empty plan: %v", err)
	}
}

func TestApplyNamesTheWaitThatTimedOut(t *testing.T) {
	p := Plan{Subject: "Service a/b", Changes: []Change{{
		Ref: create("lb"), Do: func(context.Context, *Handles) error { return nil },
		Ready: func(context.Context, *Handles) error {
			return fmt.Errorf("still PENDING: %w", context.DeadlineExceeded)
		},
	}}}
	_, err := p.Apply(t.Context(), ApplyOptions{})
	if want := "create pool lb: waiting until it is ready: still PENDING: context deadline exceeded"; err == nil ||
		err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if !cloudapi.Is(err, cloudapi.Unavailable) {
		t.Errorf("class %s", cloudapi.ClassOf(err))
	}
}

func TestApplyAcceptsDeletionOfMissingObject(t *testing.T) {
	gone := func(context.Context, *Handles) error {
		return &cloudapi.Error{Class: cloudapi.NotFound, Operation: "Delete", Err: errors.New("no such pool")}
	}
	for _, tc := range []struct {
		action Action
		fails  bool
	}{{Delete, false}, {Update, true}, {Create, true}} {
		t.Run(string(tc.action), func(t *testing.T) {
			p := Plan{Changes: []Change{{Ref: Ref{"pool", "a", tc.action}, Do: gone}}}
			if _, err := p.Apply(t.Context(), ApplyOptions{}); (err != nil) != tc.fails {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestApplyReportsEveryStepToObserver(t *testing.T) {
	clock := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	var steps []string
	p := Plan{Changes: []Change{
		{
			Ref:   create("lb"),
			Do:    func(context.Context, *Handles) error { clock.SetTime(clock.Now().Add(time.Second)); return nil },
			Ready: func(context.Context, *Handles) error { clock.SetTime(clock.Now().Add(time.Minute)); return nil },
		},
		{Ref: create("pool"), After: []Ref{create("lb")}, Do: func(context.Context, *Handles) error { return denied("Create") }},
	}}
	result, _ := p.Apply(t.Context(), ApplyOptions{Clock: clock, Observer: func(c Change, s Status, err error) {
		steps = append(steps, fmt.Sprint(c.Name, " ", s, " ", err))
	}})
	want := []string{
		"lb started <nil>", "lb applied <nil>", "lb done <nil>",
		"pool started <nil>", "pool started create pool pool: Create: not allowed (denied)",
	}
	if diff := cmp.Diff(want, steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if took := result.Outcomes[0].Took; took != 61*time.Second {
		t.Errorf("lb took %s", took)
	}
}

func TestApplyRefusesInvalidPlansBeforeTheFirstChange(t *testing.T) {
	var d diary
	for _, tc := range []struct {
		name    string
		changes []Change
		want    string
	}{
		{"twice the same", []Change{d.change("a"), d.change("a")}, `two changes have the reference "create pool a"`},
		{"a need that is not there", []Change{d.change("a", "b")}, `"create pool a" waits for "create pool b", which is not in the plan`},
		{"itself", []Change{d.change("a", "a")}, "changes wait for each other: create pool a → create pool a"},
		{
			"a cycle behind a tail", []Change{d.change("tail", "a"), d.change("a", "b"), d.change("b", "c"), d.change("c", "a"),
				d.change("free")},
			"changes wait for each other: create pool a → create pool b → create pool c → create pool a",
		},
		{"no name", []Change{{Ref: Ref{Kind: "pool", Action: Create}, Do: d.does("x", nil)}}, "change 0 (create pool ) lacks a kind or a name"},
		{"no action", []Change{{Ref: Ref{Kind: "pool", Name: "a", Action: "replace"}, Do: d.does("x", nil)}}, `change 0: "replace" is not an action`},
		{"nothing to do", []Change{{Ref: create("a")}}, `no calls of the cloud make "create pool a", of step <nil>`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Plan{Subject: "Service a/b", Changes: tc.changes}.Apply(t.Context(), ApplyOptions{})
			if want := "plan of Service a/b is invalid: " + tc.want; err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		})
	}
	if len(d.entries) > 0 {
		t.Errorf("ran %v", d.entries)
	}
}
