package sim

import (
	"context"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
)

// FrontOptions configure a front. Only Handler is required.
type FrontOptions struct {
	// Handler is the simulator: it executes requests at once and without faults.
	Handler http.Handler
	// Describe names operations. Nil names them by method and path.
	Describe Describe
	// Dialect writes the errors of the front.
	Dialect Dialect
	// Clock is the clock of latency, buckets and the log. Nil is the real one.
	Clock clock.Clock
	// Latency is the delay of each call.
	Latency time.Duration
	// Limits are token buckets by ClassRead and ClassWrite, or by the more specific keys described there.
	Limits map[string]Bucket
	// Seed initializes the random numbers of rates.
	Seed int64
	// ErrorRate is the probability of FaultError for a call without another fault.
	ErrorRate float64
	// LogLimit is the number of calls that the log keeps; counts are kept separately. 0 keeps all calls, which
	// is not suitable for a simulator that runs for days.
	LogLimit int
}

// Front wraps a simulator. Safe for concurrent use.
type Front struct {
	handler  http.Handler
	describe Describe
	dialect  Dialect
	clock    clock.Clock
	latency  time.Duration
	seed     int64
	rate     float64
	buckets  buckets
	log      *Log

	mu     sync.Mutex
	script *script
	onKill func()
	after  func()
	gen    *generation
}

// generation lasts from one Revive to the next. dead is closed when its client is killed.
type generation struct {
	dead chan struct{}
}

func newGeneration() *generation { return &generation{dead: make(chan struct{})} }

func (g *generation) isDead() bool {
	select {
	case <-g.dead:
		return true
	default:
		return false
	}
}

var _ http.Handler = (*Front)(nil)

// NewFront returns a front without faults.
func NewFront(o FrontOptions) *Front {
	if o.Describe == nil {
		o.Describe = describeByPath
	}
	f := &Front{
		handler:  o.Handler,
		describe: o.Describe,
		dialect:  o.Dialect.withDefaults(),
		clock:    clocks.OrReal(o.Clock),
		latency:  o.Latency,
		seed:     o.Seed,
		rate:     o.ErrorRate,
		buckets:  newBuckets(o.Limits),
		log:      newLog(o.LogLimit),
		gen:      newGeneration(),
	}
	f.SetFaults()
	return f
}

// SetFaults replaces the fault script; none ends all faults but ErrorRate. It restarts the numbering of
// calls, Injected, and the random numbers, so that the same script has the same effect on the same calls. It
// panics on a fault that cannot happen.
func (f *Front) SetFaults(faults ...Fault) {
	s := newScript(faults, f.rate, rand.New(rand.NewPCG(uint64(f.seed), 0)))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = s
}

// OnKill sets the function that kill faults call, once for each generation and before the client sees
// anything. It runs in the killed call and must not wait for that call's client.
func (f *Front) OnKill(kill func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onKill = kill
}

// AfterMutations sets the function that is called after each executed mutating call, before its client sees the reply:
// what it reads are the states between the changes of a plan. Nil ends it.
func (f *Front) AfterMutations(observe func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.after = observe
}

// Revive starts a new generation after a kill: calls that start from now on are executed again. Calls that
// started before stay broken. Without a kill it has no effect.
func (f *Front) Revive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gen.isDead() {
		f.gen = newGeneration()
	}
}

// Injected returns the number of faults injected since the last SetFaults, those of ErrorRate included.
func (f *Front) Injected() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.script.injected
}

// Log returns the call log.
func (f *Front) Log() *Log { return f.log }

// ServeHTTP implements http.Handler. A broken connection is a panic with http.ErrAbortHandler,
// which net/http turns into a closed connection.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resp, err := f.handle(r) //nolint:contextcheck // the request carries its context
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	resp.sendTo(w)
}

// handle processes a request in the steps of the package documentation. An error means that the client gets
// no response.
func (f *Front) handle(r *http.Request) (*response, error) {
	start, gen := f.clock.Now(), f.generation()
	if gen.isDead() {
		return nil, brokenError()
	}
	r, rewind, err := readRequest(r)
	op := f.describe(r)
	if err == nil {
		err = f.wait(r.Context(), gen)
	}
	if gen.isDead() {
		return nil, brokenError()
	}
	if err != nil {
		f.record(op, start, nil, "")
		return nil, err
	}
	rewind()
	return f.arrive(r, op, start, gen)
}

// arrive executes a call that has reached the cloud.
func (f *Front) arrive(r *http.Request, op Operation, start time.Time, gen *generation) (*response, error) {
	fault, alive := f.next(op, gen)
	if !alive {
		return nil, brokenError()
	}
	if fault.Kind == FaultKillBefore {
		f.kill(gen, func() { f.record(op, start, nil, fault.Kind) })
		return nil, brokenError()
	}
	if fault.Kind == FaultHang {
		err := hang(r.Context(), gen)
		f.record(op, start, nil, fault.Kind)
		return nil, err
	}
	resp, err := f.do(r, op, fault)
	if fault.Kind == FaultKillAfter {
		f.kill(gen, func() { f.record(op, start, nil, fault.Kind) })
		return nil, brokenError()
	}
	switch {
	case fault.Kind == FaultLostReply, gen.isDead():
		err = brokenError()
	case err == nil:
		err = r.Context().Err()
	}
	if err != nil {
		resp = nil
	}
	f.record(op, start, resp, fault.Kind)
	return resp, err
}

// do returns the response of the fault, the token bucket or the simulator.
func (f *Front) do(r *http.Request, op Operation, fault Fault) (*response, error) {
	resp := newResponse()
	switch fault.Kind {
	case FaultError:
		f.dialect.Error(resp, r)
		resp.WriteHeader(http.StatusInternalServerError)
		return resp, nil
	case FaultThrottle:
		f.throttle(resp, r, fault.RetryAfter)
		return resp, nil
	case FaultDenied:
		f.dialect.Denied(resp, r)
		resp.WriteHeader(http.StatusForbidden)
		return resp, nil
	}
	if wait, ok := f.buckets.reserve(op, f.clock.Now()); !ok {
		f.throttle(resp, r, wait)
		return resp, nil
	}
	aborted := runHandler(func() { f.handler.ServeHTTP(resp, r) })
	if op.Mutating {
		f.mu.Lock()
		observe := f.after
		f.mu.Unlock()
		if observe != nil {
			observe()
		}
	}
	if aborted {
		return nil, brokenError()
	}
	resp.WriteHeader(http.StatusOK)
	return resp, nil
}

func (f *Front) throttle(resp *response, r *http.Request, wait time.Duration) {
	setRetryAfter(resp.header, wait)
	f.dialect.Throttled(resp, r)
	resp.WriteHeader(http.StatusTooManyRequests)
}

// next numbers a call of gen and returns its fault, unless gen is dead.
func (f *Front) next(op Operation, gen *generation) (fault Fault, alive bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if gen.isDead() {
		return Fault{}, false
	}
	return f.script.next(op), true
}

// kill ends gen, logs the call with record, and then calls the function set by OnKill, so that it finds the
// call in the log. Two kills of one generation call the function once.
func (f *Front) kill(gen *generation, record func()) {
	f.mu.Lock()
	first, hook := !gen.isDead(), f.onKill
	if first {
		close(gen.dead)
	}
	f.mu.Unlock()
	record()
	if first && hook != nil {
		hook()
	}
}

func (f *Front) generation() *generation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.gen
}

// record logs a call; a nil response means none.
func (f *Front) record(op Operation, start time.Time, resp *response, fault FaultKind) {
	c := Call{Operation: op, At: start, Duration: f.clock.Since(start), Fault: fault}
	if resp != nil {
		c.Status = resp.status
	}
	f.log.add(c)
}

// hang returns when the client's context or the generation ends, with the reason.
func hang(ctx context.Context, gen *generation) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-gen.dead:
		return brokenError()
	}
}

// wait sleeps for the latency. It ends early with the client's context or with the generation.
func (f *Front) wait(ctx context.Context, gen *generation) error {
	if f.latency <= 0 {
		return ctx.Err()
	}
	timer := f.clock.NewTimer(f.latency)
	defer timer.Stop()
	select {
	case <-timer.C():
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	case <-gen.dead:
		return brokenError()
	}
}
