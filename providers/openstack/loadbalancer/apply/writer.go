package apply

import (
	"context"

	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/diff"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// Writer makes the changes of one Service, and records them in the snapshot as its writes. Each method that makes a
// change records a failure too: the outcome of the write is then uncertain.
type Writer struct {
	*Applier
	Key observe.Key
}

var _ diff.Writer = Writer{}

// Writer returns a Writer for a Service.
func (a *Applier) Writer(key observe.Key) Writer { return Writer{Applier: a, Key: key} }

// finish records a write, or, if it failed, that its outcome is uncertain. It returns err.
func (w Writer) finish(err error, record func()) error {
	if err != nil {
		w.store.MarkUncertain(w.Key)
		return err
	}
	if record != nil {
		record()
	}
	w.store.MarkWritten(w.Key)
	return nil
}

// mutate makes one change in a load balancer: see Applier.mutate.
func (w Writer) mutate(ctx context.Context, id string, do func(context.Context) error, record func()) error {
	return w.finish(w.Applier.mutate(ctx, id, do, record), nil)
}
