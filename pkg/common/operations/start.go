package operations

import (
	"context"
	"errors"
	"maps"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
)

// Call makes the request that starts an operation. The cloud executes requests with one ID once, so Call may repeat it.
// An operation that has ended with the response is Done.
type Call func(ctx context.Context, requestID string) (Operation, error)

// Do starts an operation and waits for its end. See Start and Wait.
func (w *Waiter) Do(ctx context.Context, r Request, call Call) error {
	op, err := w.Start(ctx, r, call)
	if err != nil {
		return err
	}
	return w.Wait(ctx, op)
}

// Start starts an operation, or returns the one that runs for an equal request. When ctx ends, only this call ends: the
// request is never canceled once it may have been sent. After a lost reply, the next equal request has the same ID,
// unless another request for the target was accepted meanwhile.
//
// If the cloud refuses the call because of another operation on the target (BusyError), Start waits for that one and
// repeats the call once.
//
// Errors: that of the call, or of an operation that has failed at once; the context's, unwrapped.
func (w *Waiter) Start(ctx context.Context, r Request, call Call) (Operation, error) {
	op, err := w.startShared(ctx, r, call)
	var busy *BusyError
	if !errors.As(err, &busy) {
		return op, err
	}
	running := busy.Operations
	if len(running) == 0 {
		if running, err = w.source.Running(ctx, r.Target); err != nil {
			return op, errors.Join(busy, err)
		}
	}
	if len(running) == 0 {
		return op, busy
	}
	for _, other := range running {
		_ = w.Wait(ctx, other) // its failure is not ours
	}
	if err := ctx.Err(); err != nil {
		return op, err
	}
	return w.startShared(ctx, r, call)
}

// startShared makes the call, or waits for that of an equal request.
func (w *Waiter) startShared(ctx context.Context, r Request, call Call) (Operation, error) {
	if err := ctx.Err(); err != nil {
		return Operation{}, err
	}
	s := w.joinStart(ctx, r, call)
	select {
	case <-s.done:
		return s.op, s.err
	case <-ctx.Done():
		return Operation{}, ctx.Err()
	}
}

func (w *Waiter) joinStart(ctx context.Context, r Request, call Call) *start {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pruneLocked()
	if s := w.starting[r]; s != nil {
		return s
	}
	s := &start{done: make(chan struct{})}
	for _, p := range w.pending {
		if p.request == r {
			s.op = p.op
			close(s.done)
			return s
		}
	}
	id := w.uncertain[r].id
	if id == "" {
		id = w.options.NewRequestID()
	}
	w.starting[r] = s
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.options.StartTimeout)
	go func() {
		defer cancel()
		op, err := panics.Value(func() (Operation, error) { return call(detached, id) })
		w.finishStart(r, s, op.with(Operation{Name: r.Name, Target: r.Target, RequestID: id}), err)
	}()
	return s
}

// finishStart remembers what the call started, or its ID if that is unknown.
func (w *Waiter) finishStart(r Request, s *start, op Operation, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer close(s.done)
	delete(w.starting, r)
	s.op, s.err = op, err
	if cloudapi.Is(err, cloudapi.Unavailable, cloudapi.Canceled, cloudapi.Unknown) {
		w.uncertain[r] = uncertainRequest{id: op.RequestID, since: w.options.Clock.Now()}
		return
	}
	delete(w.uncertain, r)
	if err != nil {
		return
	}
	maps.DeleteFunc(w.uncertain, func(other Request, _ uncertainRequest) bool { return other.Target == r.Target })
	if op.Done {
		w.observe(op, w.options.Clock.Now())
		s.err = op.failure()
		return
	}
	if w.pending[op.ID] == nil {
		w.addLocked(r, op)
	}
	w.pending[op.ID].request = r
}
