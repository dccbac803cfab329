// Package apply makes the calls that change network load balancers, waits for their effects, and records the changes in
// the snapshot of package observe. Its files are in layers, and refer only to earlier ones: apply.go and request.go,
// then one file for each kind of object.
package apply

import (
	"k8s.io/utils/clock"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// Options of an Applier. All are required but Instances.
type Options struct {
	API   api.ELBV2
	Store *observe.Store
	// Groups has the rules that load balancers share.
	Groups *vpc.GroupStore
	Clock  clock.Clock
	// Instances reads which instances run, when AWS rejects targets.
	Instances vpc.InstanceSource
}

// Applier has what the changes of all Services share. It is safe for concurrent use.
type Applier struct {
	api       api.ELBV2
	store     *observe.Store
	groups    *vpc.GroupStore
	clock     clock.Clock
	instances vpc.InstanceSource
}

// New returns an Applier. It makes no calls.
func New(o Options) *Applier {
	return &Applier{api: o.API, store: o.Store, groups: o.Groups, clock: o.Clock, instances: o.Instances}
}

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
		w.store.MarkUncertain(w.Key)
		return err
	}
	record()
	return nil
}
