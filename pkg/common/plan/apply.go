package plan

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// DefaultParallel is how many changes of one plan run side by side. The rate limit of the
// cloud's client bounds calls across all plans; this only keeps one Service with a hundred ports
// from queueing everyone else out of it.
const DefaultParallel = 8

// Status says how far a change has come.
type Status string

// The closed set of statuses, in the order in which a change passes them.
const (
	// Pending: not started.
	Pending Status = "pending"
	// Started: Do is running, or has failed.
	Started Status = "started"
	// Applied: Do has returned without an error; Ready has not. Do is never called again.
	Applied Status = "applied"
	// Done: the change is made and its object is ready for dependants.
	Done Status = "done"
)

// ApplyOptions say how a plan is run. The zero value is usable.
type ApplyOptions struct {
	// Parallel bounds how many Do functions run at once; 0 means DefaultParallel. Waiting for
	// Ready costs nothing but a goroutine and is not bounded.
	Parallel int
	// Observer hears of every step of every change, from one goroutine, in the order in which
	// the steps happened. A non-nil err means that the change failed in that status. May be nil.
	Observer func(change Change, status Status, err error)
	// Clock measures durations; nil is the real one.
	Clock clock.PassiveClock
}

// Result says what an Apply did, whether or not it succeeded.
type Result struct {
	// Outcomes are in the order of the plan's changes.
	Outcomes []Outcome
	// IDs are the objects created so far. Never nil after an Apply.
	IDs *Handles
}

// Outcome is how far one change has come.
type Outcome struct {
	Ref
	Status Status
	// Err is the reason for the failure; nil for a change that was not tried, or whose wait was cut
	// short because another change failed.
	Err error
	// Took is how long Do and Ready ran in this Apply.
	Took time.Duration
}

// Made returns the changes that certainly were made, for reports about an Apply that failed half-way.
func (r Result) Made(p Plan) Plan {
	made := Plan{Subject: p.Subject}
	for i, o := range r.Outcomes {
		if o.Status == Applied || o.Status == Done {
			made.Changes = append(made.Changes, p.Changes[i])
		}
	}
	return made
}

// Apply runs the plan: changes that are independent side by side, dependants once what they
// wait for is Done. It validates the plan before the first change.
//
// After the first error nothing new is started. Mutations under way are left to finish, since
// what they did would be unknown otherwise; waits, which mutate nothing, are cut short. The same
// happens when ctx ends, and every Do gets ctx, so that it can end itself. Apply returns when
// nothing runs any more; the errors are joined, the first one to happen in front, each with its
// cloudapi class.
//
// Deleting something that the cloud authoritatively says is gone counts as done.
func (p Plan) Apply(ctx context.Context, o ApplyOptions) (Result, error) {
	if err := p.Validate(); err != nil {
		return Result{IDs: &Handles{}}, err
	}
	for _, c := range p.Changes {
		if c.Do == nil {
			return Result{IDs: &Handles{}}, fmt.Errorf("plan of %s is invalid: %q does nothing", p.Subject, c.Ref)
		}
	}
	r := newRun(p, o)
	r.all(ctx)
	return r.result, r.err(ctx)
}

// run is one Apply. Only the goroutine of Apply touches it; workers report through events.
type run struct {
	plan    Plan
	options ApplyOptions
	result  Result
	status  map[Ref]Status
	events  chan event
	// doing and waiting count workers inside Do and Ready; awaited are the changes whose Ready
	// has been called.
	doing, waiting int
	awaited        []bool
	errs           []error
}

// event is the one report of a worker.
type event struct {
	index int
	// wait distinguishes Ready from Do.
	wait bool
	err  error
	took time.Duration
}

func newRun(p Plan, o ApplyOptions) *run {
	if o.Parallel <= 0 {
		o.Parallel = DefaultParallel
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	r := &run{
		plan: p, options: o,
		result: Result{Outcomes: make([]Outcome, len(p.Changes)), IDs: &Handles{}},
		status: make(map[Ref]Status, len(p.Changes)),
		events: make(chan event), awaited: make([]bool, len(p.Changes)),
	}
	for i, c := range p.Changes {
		r.status[c.Ref] = Pending
		r.result.Outcomes[i] = Outcome{Ref: c.Ref, Status: Pending}
	}
	return r
}

// all runs the plan to its end.
func (r *run) all(ctx context.Context) {
	waits, stop := context.WithCancel(ctx)
	defer stop()
	for {
		if len(r.errs) == 0 && ctx.Err() == nil {
			r.start(ctx, waits)
		} else {
			stop()
		}
		if r.doing+r.waiting == 0 {
			return
		}
		r.take(<-r.events)
	}
}

// start launches every worker that may run now.
func (r *run) start(ctx, waits context.Context) {
	for i := range r.plan.Changes {
		c := &r.plan.Changes[i]
		switch status := r.status[c.Ref]; {
		case status == Pending && r.doing < r.options.Parallel && r.unblocked(c):
			r.doing++
			r.set(i, Started, nil)
			go r.work(ctx, i, false, c.Do)
		case status == Applied && !r.awaited[i]:
			r.waiting++
			r.awaited[i] = true
			go r.work(waits, i, true, c.Ready)
		}
	}
}

func (r *run) unblocked(c *Change) bool {
	for _, need := range c.After {
		if r.status[need] != Done {
			return false
		}
	}
	return true
}

func (r *run) work(ctx context.Context, index int, wait bool, f func(context.Context, *Handles) error) {
	began := r.options.Clock.Now()
	err := f(ctx, r.result.IDs)
	r.events <- event{index: index, wait: wait, err: err, took: r.options.Clock.Since(began)}
}

// take books a worker's report.
func (r *run) take(e event) {
	c, outcome := &r.plan.Changes[e.index], &r.result.Outcomes[e.index]
	outcome.Took += e.took
	if e.wait {
		r.waiting--
	} else {
		r.doing--
	}
	switch {
	case e.wait && e.err != nil:
		if len(r.errs) > 0 && cloudapi.Is(e.err, cloudapi.Canceled) {
			return // cut short by us, because of an error that is in the list already
		}
		r.fail(e.index, Applied, fmt.Errorf("%s: waiting until it is ready: %w", c.Ref, e.err))
	case e.err != nil && (c.Action != Delete || !cloudapi.Is(e.err, cloudapi.NotFound)):
		r.fail(e.index, Started, fmt.Errorf("%s: %w", c.Ref, e.err))
	case e.wait || c.Ready == nil:
		r.set(e.index, Done, nil)
	default:
		r.set(e.index, Applied, nil)
	}
}

func (r *run) fail(index int, status Status, err error) {
	r.errs = append(r.errs, err)
	r.result.Outcomes[index].Err = err
	r.set(index, status, err)
}

func (r *run) set(index int, status Status, err error) {
	c := r.plan.Changes[index]
	r.status[c.Ref] = status
	r.result.Outcomes[index].Status = status
	if r.options.Observer != nil {
		r.options.Observer(c, status, err)
	}
}

// err joins what went wrong, and says how far the plan came where ctx ended it.
func (r *run) err(ctx context.Context) error {
	done := 0
	for _, o := range r.result.Outcomes {
		if o.Status == Done {
			done++
		}
	}
	if done == len(r.result.Outcomes) {
		return nil
	}
	if ctx.Err() != nil {
		r.errs = append(r.errs, fmt.Errorf("plan of %s stopped after %d of %d changes: %w", r.plan.Subject, done,
			len(r.result.Outcomes), ctx.Err()))
	}
	return errors.Join(r.errs...)
}
