package apply

import lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"

// Writer makes the changes of one Service, and records them in the snapshot as its writes. Each method that makes a
// change records a failure too: the outcome of the write is then uncertain. Errors are classified with the classes of
// package cloudapi.
type Writer struct {
	*Applier
	Key lbcommon.Key
}

// Writer returns a Writer for a Service.
func (a *Applier) Writer(key lbcommon.Key) Writer { return Writer{Applier: a, Key: key} }

// finish records a write, or, if it failed, that its outcome is uncertain. It returns err.
func (w Writer) finish(err error, record func()) error {
	if err != nil {
		w.options.Store.MarkUncertain(w.Key)
		return err
	}
	record()
	return nil
}
