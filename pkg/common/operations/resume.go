package operations

import (
	"context"
	"errors"
)

// Adopt remembers operations that run, as a list of the cloud returns them. An operation with the ID of a request
// without a reply is the answer to it: an equal request waits for it instead of calling again.
func (w *Waiter) Adopt(running ...Operation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, op := range running {
		if op.Done || w.pending[op.ID] != nil {
			continue
		}
		p := w.addLocked(Request{}, op)
		for r, u := range w.uncertain {
			if u.id == op.RequestID {
				p.request = r
				delete(w.uncertain, r)
			}
		}
	}
}

// Resume asks the cloud for the operations on a target, and waits for their ends and for those that are known. It is
// for objects whose state the cloud reports as not final, as after a restart.
//
// Errors: those of the operations that have failed, joined; that of the question; the context's.
func (w *Waiter) Resume(ctx context.Context, target string) error {
	running, err := w.source.Running(ctx, target)
	if err != nil {
		return err
	}
	w.Adopt(running...)
	var failures []error
	for _, op := range w.Pending(target) {
		failures = append(failures, w.Wait(ctx, op))
	}
	return errors.Join(failures...)
}
