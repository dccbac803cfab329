// Package merge merges the patches of many Services to one object of a cloud, such as an instance group, a firewall
// rule of all nodes or a document with all load balancers, into few writes.
//
//   - One writer works on an object at a time. Patches that arrive while it writes are merged into the next write.
//   - A write is never canceled once it may have been sent; the contexts of its callers end only their waits.
//   - A patch that the cloud rejects is found and taken out, and its caller gets the error, while the others are
//     written: with one write if the error names it, and with log2(N)+1 writes if not. From then on it is written
//     alone, until it succeeds.
//   - If the object has changed meanwhile, it is read again and the patches are applied again. Where the cloud does not
//     detect that, the object is read before and after each write.
package merge

import (
	"cmp"
	"context"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// Defaults of Options.
const (
	// DefaultAttempts is enough for a few other clients that write the same object at the same time.
	DefaultAttempts = 5
	// DefaultTimeout is the time that a sync of a Service may take.
	DefaultTimeout = 15 * time.Minute
	// DefaultWait is the wait after a throttled or failed write without Retry-After. It doubles with each attempt.
	DefaultWait = time.Second
)

// Options configure Writers of objects of type D. An object that does not exist is a D, too, such as a nil pointer.
type Options[D any] struct {
	// Provider and Kind are the labels of the metrics. Kind is the cloud's kind of the objects.
	Provider, Kind string
	// Read reads an object from the cloud.
	Read func(ctx context.Context, name string) (D, error)
	// Write changes an object from have to want, waits for the end of the operation, and returns the object as it is
	// after that. It is called only if the two differ.
	Write func(ctx context.Context, name string, have, want D) (D, error)
	// Equal reports whether two objects are equal, but for what the cloud sets.
	Equal func(a, b D) bool
	// Versioned is set if the cloud rejects a write of an object that has changed since it was read, as it does by a
	// fingerprint or an ETag in D.
	Versioned bool
	// IsStale reports whether Write failed because the object has changed. Nil is the class Conflict.
	IsStale func(error) bool
	// IsRejection reports whether Write failed because of what a patch wants. Nil are the classes Invalid and Quota.
	IsRejection func(error) bool
	// Guilty returns those of the owners whose patches a rejection names; none if it names none. Nil never finds any.
	Guilty func(err error, owners []string) []string
	// Attempts bound the writes of the same patches, and Timeout their duration.
	Attempts int
	Timeout  time.Duration
	// Clock is the real one if nil.
	Clock clock.Clock
}

func (o Options[D]) withDefaults() Options[D] {
	o.Attempts = cmp.Or(o.Attempts, DefaultAttempts)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.Clock = clocks.OrReal(o.Clock)
	if o.IsStale == nil {
		o.IsStale = func(err error) bool { return cloudapi.Is(err, cloudapi.Conflict) }
	}
	if o.IsRejection == nil {
		o.IsRejection = func(err error) bool { return cloudapi.Is(err, cloudapi.Invalid, cloudapi.Quota) }
	}
	if o.Guilty == nil {
		o.Guilty = func(error, []string) []string { return nil }
	}
	return o
}
