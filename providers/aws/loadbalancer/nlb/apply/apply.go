// Package apply makes the calls that change network load balancers, waits for their effects, and records the changes in
// the snapshot of package observe. Its files are in layers, and refer only to earlier ones: apply.go, writer.go and
// request.go, then one file for each kind of object.
package apply

import (
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// Options of an Applier. All are required but Instances.
type Options struct {
	API   api.ELBV2
	Store *observe.Store
	Clock clock.Clock
	// Instances reads which instances run, when AWS rejects targets. It may be nil.
	Instances vpc.InstanceSource
}

// Applier has what the changes of all Services share. It is safe for concurrent use.
type Applier struct{ options Options }

// New returns an Applier. It makes no calls.
func New(o Options) *Applier { return &Applier{options: o} }
