package merge

import (
	"context"
	"errors"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// patch is a change of an object that a caller waits for.
type patch[D any] struct {
	owner string
	// ctx is that of the caller.
	ctx   context.Context
	apply func(D) (D, error)
	done  chan struct{}
	// object and err are set when done is closed.
	object D
	err    error
}

func (p *patch[D]) end(object D, err error) {
	p.object, p.err = object, err
	close(p.done)
}

// document is what is known of one object. Only its writer uses it.
type document[D any] struct {
	name    string
	options *Options[D]
	// have is the object as it was read or written last; known is unset if it may have changed unseen. It is fresh if that
	// was after the present patches arrived.
	have         D
	known, fresh bool
}

// attempt writes the patches as one change, and returns the object with them. A patch that cannot be applied to the
// object gets its error, and is not in the result. Transient errors are retried.
func (d *document[D]) attempt(ctx context.Context, patches []*patch[D]) (D, []*patch[D], error) {
	var err error
	for n := range d.options.Attempts {
		if err = d.waitAfter(ctx, err, n); err != nil {
			return d.have, patches, err
		}
		if err = d.read(ctx); isTransient(err) {
			continue
		} else if err != nil {
			return d.have, patches, err
		}
		var want D
		want, patches = apply(d.have, patches)
		if equal := d.options.Equal(d.have, want); equal && d.fresh || len(patches) == 0 {
			return d.have, patches, nil
		} else if equal {
			d.known = false // The patches may be from a newer observation.
			continue
		}
		written, writeErr := d.options.Write(ctx, d.name, d.have, want)
		count(d.options.Provider, d.options.Kind, len(patches), writeErr)
		switch err = writeErr; {
		case err == nil && d.options.Versioned:
			d.have, d.fresh = written, true
			return written, patches, nil
		case err == nil, d.options.IsStale(err), cloudapi.Is(err, cloudapi.Unavailable, cloudapi.Unknown):
			// The next round compares what the cloud has.
			d.known = false
		case cloudapi.Is(err, cloudapi.Throttled): // The cloud did nothing.
		default:
			return d.have, patches, err
		}
	}
	if err == nil {
		err = d.verify(ctx, patches)
	}
	return d.have, patches, err
}

// read reads an object that may have changed unseen.
func (d *document[D]) read(ctx context.Context) (err error) {
	if d.known {
		return nil
	}
	if d.have, err = d.options.Read(ctx, d.name); err == nil {
		d.known, d.fresh = true, true
	}
	return err
}

// verify reads an object whose last write succeeded, and returns an error if it lacks patches.
func (d *document[D]) verify(ctx context.Context, patches []*patch[D]) (err error) {
	if d.have, err = d.options.Read(ctx, d.name); err != nil {
		return err
	}
	if want, _ := apply(d.have, patches); d.options.Equal(d.have, want) {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "write of " + d.options.Kind + " " + d.name,
		Err: errors.New("another client undoes each write: find the other manager of this object")}
}

// waitAfter waits after a failed attempt, as long as the cloud requested; a stale object is read at once.
func (d *document[D]) waitAfter(ctx context.Context, err error, attempts int) error {
	if err == nil || d.options.IsStale(err) {
		return ctx.Err()
	}
	wait := DefaultWait << (attempts - 1)
	var e *cloudapi.Error
	if errors.As(err, &e) && e.RetryAfter > 0 {
		wait = e.RetryAfter
	}
	if deadline, ok := ctx.Deadline(); ok && d.options.Clock.Now().Add(wait).After(deadline) {
		return err
	}
	return clocks.Sleep(ctx, d.options.Clock, min(wait, cloudapi.LongestRetryAfter))
}

func isTransient(err error) bool {
	return cloudapi.Is(err, cloudapi.Unavailable, cloudapi.Throttled, cloudapi.Unknown)
}

// apply applies patches in order. Those that fail get their errors; it returns the others.
func apply[D any](object D, patches []*patch[D]) (D, []*patch[D]) {
	applied := make([]*patch[D], 0, len(patches))
	for _, p := range patches {
		next, err := p.apply(object)
		if err != nil {
			p.end(object, err)
			continue
		}
		object = next
		applied = append(applied, p)
	}
	return object, applied
}
