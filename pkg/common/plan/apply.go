package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/tracing"
)

// DefaultParallel is the number of concurrent changes of one plan. The rate limiter of the cloud's client
// bounds calls across all plans; this limit only prevents one Service with a hundred ports from starving the
// others in its queue.
const DefaultParallel = 8

// Status is the progress of a change.
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

// ApplyOptions configure Apply. The zero value is usable.
type ApplyOptions struct {
	// Parallel bounds the number of concurrent Do functions; 0 means DefaultParallel. Waiting for Ready costs
	// only a goroutine and is not bounded.
	Parallel int
	// Observer receives every step of every change, from one goroutine, in the order in which the steps
	// happened. A non-nil err means that the change failed in that status. May be nil.
	Observer func(change Change, status Status, err error)
	// Clock measures durations; nil is the real one.
	Clock clock.PassiveClock
}

// Result is the outcome of an Apply, successful or not.
type Result struct {
	// Outcomes are in the order of the plan's changes.
	Outcomes []Outcome
	// IDs are the objects created so far. Never nil after an Apply.
	IDs *Handles
}

// Outcome is the progress of one change.
type Outcome struct {
	Ref
	Status Status
	// Err is the reason for the failure; nil for a change that was not tried, or that stopped waiting because
	// another change failed.
	Err error
	// Took is the duration of Do and Ready in this Apply.
	Took time.Duration
}

// AppliedChanges returns the changes that were certainly made, for reports about a partial Apply.
func (r Result) AppliedChanges(p Plan) Plan {
	applied := Plan{Subject: p.Subject}
	for i, o := range r.Outcomes {
		if o.Status == Applied || o.Status == Done {
			applied.Changes = append(applied.Changes, p.Changes[i])
		}
	}
	return applied
}

// Apply runs the plan: independent changes concurrently, dependants once the changes they wait for are Done.
// It validates the plan before the first change.
//
// After the first error it starts no more changes. It lets mutations in flight finish, since their outcome would be
// unknown otherwise, and cancels waits, which mutate nothing. The same happens when ctx ends or the channel of
// WithStop is closed; every Do gets ctx, so that it can end itself. Apply returns when all workers have finished; the
// errors are joined, the first one to happen in front, each with its cloudapi class.
//
// Deleting an object that authoritatively does not exist counts as done.
func (p Plan) Apply(ctx context.Context, o ApplyOptions) (Result, error) {
	p = p.withOrder()
	if err := p.Validate(); err != nil {
		return Result{IDs: &Handles{}}, err
	}
	for _, c := range p.Changes {
		if c.Do == nil {
			return Result{IDs: &Handles{}}, fmt.Errorf("plan of %s is invalid: no calls of the cloud make %q, of step %T",
				p.Subject, c.Ref, c.Step)
		}
	}
	r := newRun(p, o)
	r.execute(ctx)
	return r.result, r.err(ctx)
}

// withOrder returns the plan with the changes of Order that it has in After.
func (p Plan) withOrder() Plan {
	has := make(map[Ref]bool, len(p.Changes))
	for _, c := range p.Changes {
		has[c.Ref] = true
	}
	p.Changes = slices.Clone(p.Changes)
	for i, c := range p.Changes {
		present := slices.DeleteFunc(slices.Clone(c.Order), func(r Ref) bool { return !has[r] })
		p.Changes[i].After = slices.Concat(c.After, present)
	}
	return p
}

// run is the state of one Apply. Only the goroutine of Apply uses it; workers report through events.
type run struct {
	plan    Plan
	options ApplyOptions
	result  Result
	status  map[Ref]Status
	events  chan event
	// doing and waiting count workers inside Do and Ready; awaited are the changes with a running or finished
	// Ready.
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
	o.Parallel = cmp.Or(o.Parallel, DefaultParallel)
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

// execute runs the plan to its end.
func (r *run) execute(ctx context.Context) {
	waits, stop := context.WithCancel(ctx)
	defer stop()
	ending := stopContext(ctx)
	forget := context.AfterFunc(ending, stop)
	defer forget()
	for {
		if len(r.errs) == 0 && ctx.Err() == nil && ending.Err() == nil {
			r.start(ctx, waits)
		} else {
			stop()
		}
		if r.doing+r.waiting == 0 {
			return
		}
		r.handle(<-r.events)
	}
}

// start launches every worker that is ready to run.
func (r *run) start(ctx, waits context.Context) {
	for i := range r.plan.Changes {
		c := &r.plan.Changes[i]
		switch status := r.status[c.Ref]; {
		case status == Pending && r.doing < r.options.Parallel && r.isUnblocked(c):
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

func (r *run) isUnblocked(c *Change) bool {
	for _, need := range c.After {
		if r.status[need] != Done {
			return false
		}
	}
	return true
}

// startSpan starts the span of a change, or of the wait until its object is ready.
func startSpan(ctx context.Context, c Change, wait bool) (context.Context, trace.Span) {
	name := string(c.Action) + " " + c.Kind
	if wait {
		name = "wait for " + c.Kind
	}
	return tracing.Start(ctx, name, tracing.Action.String(string(c.Action)), tracing.Kind.String(c.Kind),
		tracing.Name.String(c.Name))
}

func (r *run) work(ctx context.Context, index int, wait bool, f func(context.Context, *Handles) error) {
	start := r.options.Clock.Now()
	ctx, span := startSpan(ctx, r.plan.Changes[index], wait)
	err := panics.Do(func() error { return f(ctx, r.result.IDs) })
	tracing.End(span, err)
	r.events <- event{index: index, wait: wait, err: err, took: r.options.Clock.Since(start)}
}

// handle processes a worker's report.
func (r *run) handle(e event) {
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
			return // canceled by execute, because of an error that is already in the list
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

// err joins the errors, and adds the progress of the plan if ctx or the channel of WithStop ended it.
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
	if err := cmp.Or(ctx.Err(), stopContext(ctx).Err()); err != nil {
		r.errs = append(r.errs, fmt.Errorf("plan of %s stopped after %d of %d changes: %w", r.plan.Subject, done,
			len(r.result.Outcomes), err))
	}
	return errors.Join(r.errs...)
}
