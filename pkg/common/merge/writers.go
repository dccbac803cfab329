package merge

import (
	"context"
	"slices"
	"sync"

	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
)

// Writers write the objects of one kind, one write of each object at a time. They are safe for concurrent use.
type Writers[D any] struct {
	options Options[D]

	mu      sync.Mutex
	writers map[string]*writer[D]
}

// writer writes one object.
type writer[D any] struct {
	document document[D]
	queue    []*patch[D]
	// suspects are the owners of patches that the cloud rejected last: theirs are written alone.
	suspects map[string]bool
	running  bool
}

// New returns Writers.
func New[D any](o Options[D]) *Writers[D] {
	shared().set.Register()
	return &Writers[D]{options: o.withDefaults(), writers: map[string]*writer[D]{}}
}

// Apply changes an object and returns it with the change. Owner names the Service of the patch, and is unique for it.
// The patch is pure, leaves its argument unchanged, and may be applied several times, to an object that has it already
// too; its error is returned. When ctx ends, only this call ends: a patch is not written if its turn has not come, and
// is not taken back otherwise.
//
// Errors: that of the patch, or of the cloud with its class: a rejection only of this patch, or one of the whole write.
func (w *Writers[D]) Apply(ctx context.Context, name, owner string, change func(D) (D, error)) (object D, err error) {
	if err := ctx.Err(); err != nil {
		return object, err
	}
	p := &patch[D]{owner: owner, ctx: ctx, apply: change, done: make(chan struct{})}
	w.enqueue(ctx, name, p)
	select {
	case <-p.done:
		return p.object, p.err
	case <-ctx.Done():
		return object, ctx.Err()
	}
}

func (w *Writers[D]) enqueue(ctx context.Context, name string, p *patch[D]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.writers[name]
	if o == nil {
		o = &writer[D]{document: document[D]{name: name, options: &w.options}, suspects: map[string]bool{}}
		w.writers[name] = o
	}
	o.queue = append(o.queue, p)
	if !o.running {
		o.running = true
		go w.run(context.WithoutCancel(ctx), o)
	}
}

// run writes the patches of an object until none is left.
func (w *Writers[D]) run(ctx context.Context, o *writer[D]) {
	for {
		patches := w.take(o)
		if len(patches) == 0 {
			return
		}
		if !w.options.Versioned {
			o.document.known = false
		}
		rejected := w.settle(ctx, o, patches)
		w.mu.Lock()
		for _, p := range patches {
			delete(o.suspects, p.owner)
		}
		for _, owner := range rejected {
			o.suspects[owner] = true
		}
		w.mu.Unlock()
	}
}

func (w *Writers[D]) settle(ctx context.Context, o *writer[D], patches []*patch[D]) []string {
	ctx, cancel := context.WithTimeout(ctx, w.options.Timeout)
	defer cancel()
	rejected, err := panics.Value(func() ([]string, error) { return o.document.settle(ctx, patches), nil })
	if err == nil {
		return rejected
	}
	o.document.known = false
	for _, p := range patches {
		select {
		case <-p.done:
		default:
			p.end(o.document.have, err)
		}
	}
	return nil
}

// take returns the next patches to write: all of those without a suspect, and else one. A patch whose caller has left
// is dropped.
func (w *Writers[D]) take(o *writer[D]) []*patch[D] {
	w.mu.Lock()
	defer w.mu.Unlock()
	o.queue = slices.DeleteFunc(o.queue, func(p *patch[D]) bool { return p.ctx.Err() != nil })
	var next, rest []*patch[D]
	for _, p := range o.queue {
		if o.suspects[p.owner] {
			rest = append(rest, p)
		} else {
			next = append(next, p)
		}
	}
	if len(next) == 0 && len(rest) > 0 {
		next, rest = rest[:1], rest[1:]
	}
	o.queue = rest
	o.running = len(next) > 0
	return next
}
