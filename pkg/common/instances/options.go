package instances

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/batch"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
)

// Options configure New. Only Provider is required.
type Options struct {
	// Provider is the provider's name, as metric label and in messages.
	Provider string
	// Clock is the real clock when nil.
	Clock clock.Clock
	// SnapshotAge is how old a positive answer to the periodic loops may be; 0 means DefaultSnapshotAge.
	SnapshotAge time.Duration
	// JoinAge is how old a positive answer about a node that is being initialised may be; 0 means DefaultJoinAge.
	JoinAge time.Duration
	// CallTimeout bounds one bulk call; 0 means batch.DefaultTimeout.
	CallTimeout time.Duration
	// MaxBatch is the most instances that one Get or Find is asked for; 0 means DefaultMaxBatch.
	MaxBatch int
	// Nodes are the cluster's Nodes. With them, a node name is resolved by the Node's provider ID, which also
	// works for nodes whose name the cloud does not know; nil makes the cloud resolve names.
	Nodes *nodes.LazyLister
	// IDOfName, where set, returns the ID of the instance behind a node that has no provider ID,
	// where the node's name holds it. Such nodes are looked up by ID.
	IDOfName func(nodeName string) (id string, ok bool)
}

const (
	// DefaultSnapshotAge is a fraction of the five minutes between two status passes, so that each
	// pass sees the cloud anew and reads it once, and a multiple of the five seconds between two
	// lifecycle passes, so that a NotReady node does not cost a call every time.
	DefaultSnapshotAge = 30 * time.Second
	// DefaultJoinAge is about how long a thousand joining nodes keep sixteen workers busy, so that
	// they share a list or two, while a machine that boots keeps the addresses it is first seen
	// with for seconds only.
	DefaultJoinAge = 10 * time.Second
	// DefaultMaxBatch keeps the request of one bulk read within what cloud APIs and proxies take
	// (a thousand UUIDs are about 40 kB).
	DefaultMaxBatch = 1000

	// listAfter is how many instances are read one by one before a list is the cheaper way to
	// read the next: two rounds of the sixteen workers that run by default.
	listAfter = 32
)

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.SnapshotAge <= 0 {
		o.SnapshotAge = DefaultSnapshotAge
	}
	if o.JoinAge <= 0 {
		o.JoinAge = DefaultJoinAge
	}
	if o.CallTimeout <= 0 {
		o.CallTimeout = batch.DefaultTimeout
	}
	if o.MaxBatch <= 0 {
		o.MaxBatch = DefaultMaxBatch
	}
	return o
}
