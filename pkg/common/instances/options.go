package instances

import (
	"cmp"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
)

// Options configure New. Only Provider is required.
type Options struct {
	// Provider is the provider's name, as metric label and in messages.
	Provider string
	// Clock is the real clock when nil.
	Clock clock.Clock
	// MaxBatch limits the instances of one Get or Find; 0 means DefaultMaxBatch.
	MaxBatch int
	// Nodes are the cluster's Nodes. With them, a node name is resolved by the Node's provider ID, which also
	// works for node names that the cloud does not know; nil makes the cloud resolve names.
	Nodes *nodes.LazyLister
	// IDOfName, if set, returns the ID of the instance of a node without a provider ID, if the node's name
	// contains it. Such nodes are looked up by ID.
	IDOfName func(nodeName string) (id string, ok bool)
}

const (
	// SnapshotMaxAge is the max age of an instance to answer the periodic loops. It is a fraction of the five
	// minutes between two status updates, so that each reads the cloud once, and a multiple of the five
	// seconds between two lifecycle checks, so that not each check of a NotReady node costs a call.
	SnapshotMaxAge = 30 * time.Second
	// JoinMaxAge is the max age of the instance of a node that is being initialized. Sixteen workers initialize a
	// thousand nodes in about this time, so that these share a list or two. A booting machine changes its
	// addresses for seconds only.
	JoinMaxAge = 10 * time.Second
	// DefaultMaxBatch keeps one bulk read within the request size of cloud APIs and proxies (a thousand
	// UUIDs are about 40 kB).
	DefaultMaxBatch = 1000

	// listAfter is the number of single reads after which a list is cheaper: two rounds of the sixteen
	// workers that run by default.
	listAfter = 32
	// listTimeout bounds one list, which other callers wait for.
	listTimeout = time.Minute
)

func (o Options) withDefaults() Options {
	o.Clock = clocks.OrReal(o.Clock)
	o.MaxBatch = cmp.Or(o.MaxBatch, DefaultMaxBatch)
	return o
}
