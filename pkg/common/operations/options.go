package operations

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// Defaults of Options.
const (
	// DefaultInterval is that of most SDKs; most operations on networks take 2 to 10 seconds.
	DefaultInterval    = 2 * time.Second
	DefaultMaxInterval = 30 * time.Second
	// DefaultPollTimeout is longer than a verb that waits in the cloud, which returns within 2 minutes.
	DefaultPollTimeout = 150 * time.Second
	// DefaultBudget is more than 15 minutes of polls at the default intervals, which is the longest time that a sync of a
	// Service takes.
	DefaultBudget = 40
	// DefaultStartTimeout covers the retries of a client.
	DefaultStartTimeout = time.Minute
	// DefaultMaxAge is the time for which clouds remember the IDs of requests.
	DefaultMaxAge = time.Hour
)

// Options configure a Waiter. Only Provider is required.
type Options struct {
	// Provider is the label of the metrics.
	Provider string
	// First is the time until the first poll. 0, for a verb that waits in the cloud, polls at once.
	First time.Duration
	// Interval is the least time between the starts of two polls of one operation. It grows by half with each poll, up
	// to MaxInterval. An operation's RetryAfter takes its place.
	Interval, MaxInterval time.Duration
	// PollTimeout bounds one poll.
	PollTimeout time.Duration
	// Limit bounds the polls of all operations; the zero value does not.
	Limit cloudapi.Limit
	// Budget is the number of polls after which a wait fails. The operation continues, and so does another wait.
	Budget int
	// StartTimeout bounds the call that starts an operation, because it outlives its callers.
	StartTimeout time.Duration
	// MaxAge is the time after which an operation that never ends, and the ID of a request without a reply, are
	// forgotten: an equal request is then a new one.
	MaxAge time.Duration
	// NewRequestID returns the ID of a new request; nil returns random UUIDs. IDs must not follow from the request: the
	// second creation of an object that was deleted is not a repetition of the first.
	NewRequestID func() string
	// Clock is the real one if nil.
	Clock clock.Clock
}

func (o Options) withDefaults() Options {
	o.Interval = cmp.Or(o.Interval, DefaultInterval)
	o.MaxInterval = max(cmp.Or(o.MaxInterval, DefaultMaxInterval), o.Interval)
	o.PollTimeout = cmp.Or(o.PollTimeout, DefaultPollTimeout)
	o.Budget = cmp.Or(o.Budget, DefaultBudget)
	o.StartTimeout = cmp.Or(o.StartTimeout, DefaultStartTimeout)
	o.MaxAge = cmp.Or(o.MaxAge, DefaultMaxAge)
	o.Clock = clocks.OrReal(o.Clock)
	if o.NewRequestID == nil {
		o.NewRequestID = func() string { return string(uuid.NewUUID()) }
	}
	return o
}
