package guard

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Options configure Wrap. The zero value of a field means its default, a negative value switches
// the rule off where its comment says so.
type Options struct {
	// DryRun computes and reports what would be done, and does none of it: neither in the cloud nor to Nodes.
	DryRun bool
	// NotFoundGrace is how long a node without a provider ID is kept after it was first not found
	// in the cloud. Negative keeps such nodes for ever.
	NotFoundGrace time.Duration
	// Confirmation is the time between the two answers that it takes to believe that an instance
	// does not exist. Negative believes the first.
	Confirmation time.Duration
	// MaxDeletions is how many nodes may be deleted within DeletionInterval. Negative means no limit.
	MaxDeletions int
	// DeletionInterval is the span over which MaxDeletions counts.
	DeletionInterval time.Duration
	// NodeFilterRequirements is a label selector; see NodeSelector.
	NodeFilterRequirements string
	// Disruption decides about disruptive changes of load balancers.
	Disruption provider.DisruptionPolicy
	// Clock is the real clock when nil.
	Clock clock.PassiveClock
}

const (
	// DefaultNotFoundGrace is the time that cluster autoscalers give a machine to join before they
	// replace it; whatever has no provider ID by then is not being set up any more.
	DefaultNotFoundGrace = 15 * time.Minute
	// DefaultConfirmation is longer than clouds take to show a machine in all of their replicas,
	// and half of the forty seconds after which a silent kubelet makes a node NotReady, so that a
	// deleted machine is removed from the cluster in about a minute.
	DefaultConfirmation = 20 * time.Second
	// DefaultMaxDeletions is the number of machines that the cluster autoscaler removes at once, so
	// that scaling down is not slowed, while a cloud that suddenly knows no machine (wrong project,
	// wrong region) leaves time to notice: a hundred nodes take ten minutes.
	DefaultMaxDeletions = 10
	// DefaultDeletionInterval goes with DefaultMaxDeletions.
	DefaultDeletionInterval = time.Minute
)

// The flags.
const (
	flagNotFoundGrace    = "node-not-found-grace"
	flagConfirmation     = "node-deletion-confirmation"
	flagMaxDeletions     = "max-node-deletions"
	flagDeletionInterval = "node-deletion-interval"
	flagNodeFilter       = "node-filter-requirements"
	flagDisruption       = "load-balancer-disruption"
)

// AddFlags adds the flags of this package. Their defaults are the fields' values, or the defaults
// of this package where a field is zero. DryRun has no flag here: it concerns the whole command.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	*o = o.withDefaults()
	fs.DurationVar(&o.NotFoundGrace, flagNotFoundGrace, o.NotFoundGrace,
		"How long a node without a provider ID is kept after no instance of its name was first found. "+
			"It gives a machine time to appear in the cloud, and you time to see that a node was never one of its machines. "+
			"A negative value keeps such nodes for ever.")
	fs.DurationVar(&o.Confirmation, flagConfirmation, o.Confirmation,
		"How far apart the two answers must be by which the cloud says that an instance does not exist, before its node is "+
			"deleted. "+
			"One answer is not believed, because a cloud's replicas can lag behind each other. "+
			"Errors (denied, throttled, timed out) are never such an answer. A negative value believes the first answer.")
	fs.IntVar(&o.MaxDeletions, flagMaxDeletions, o.MaxDeletions,
		"How many nodes may be deleted within --"+flagDeletionInterval+". "+
			"It limits the damage when a cloud suddenly knows none of the machines (wrong project or region). "+
			"The default is what the cluster autoscaler removes at once; raise it if yours removes more. A negative value "+
			"means no limit.")
	fs.DurationVar(&o.DeletionInterval, flagDeletionInterval, o.DeletionInterval,
		"The span of time over which --"+flagMaxDeletions+" counts.")
	fs.StringVar((*string)(&o.Disruption), flagDisruption, string(o.Disruption),
		"What happens to changes that disrupt traffic, an address or a whole load balancer. hold applies them only if the "+
			"Service has changed, and holds what follows from other causes (discovery, configuration, defaults) until the "+
			"annotation load-balancer.unified-ccm.io/approve of the Service has the ID of the held changes. "+
			"allow applies all changes. hold-all holds all of them.")
	fs.StringVar(&o.NodeFilterRequirements, flagNodeFilter, o.NodeFilterRequirements,
		"Label selector for the nodes that this manager sees, as in kubectl get nodes -l; empty for all. "+
			"Use it where another manager looks after the other nodes. Services are not affected by it.")
}

// Validate checks values that were given by flags, all at once. It is for after parsing; before, zero means default.
func (o *Options) Validate() error {
	var errs []error
	if o.NotFoundGrace == 0 {
		errs = append(errs, fmt.Errorf("--%s=0: use a duration like %s, or -1s to keep nodes without a provider ID for ever",
			flagNotFoundGrace, DefaultNotFoundGrace))
	}
	if o.Confirmation == 0 {
		errs = append(errs, fmt.Errorf("--%s=0: use a duration like %s, or -1s to believe the first answer", flagConfirmation,
			DefaultConfirmation))
	}
	if o.MaxDeletions == 0 {
		errs = append(errs, fmt.Errorf("--%s=0: use a number like %d, or -1 for no limit", flagMaxDeletions,
			DefaultMaxDeletions))
	}
	if o.DeletionInterval <= 0 {
		errs = append(errs, fmt.Errorf("--%s=%s: use a duration like %s; to lift the limit use --%s=-1", flagDeletionInterval,
			o.DeletionInterval, DefaultDeletionInterval, flagMaxDeletions))
	}
	switch o.Disruption {
	case provider.HoldDisruption, provider.AllowDisruption, provider.HoldAllDisruption:
	default:
		errs = append(errs, fmt.Errorf("--%s=%q: use hold, allow or hold-all", flagDisruption, o.Disruption))
	}
	if _, err := o.NodeSelector(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// NodeSelector parses NodeFilterRequirements. It is meant for the informer of Nodes alone.
func (o *Options) NodeSelector() (labels.Selector, error) {
	selector, err := labels.Parse(o.NodeFilterRequirements)
	if err != nil {
		return nil, fmt.Errorf("--%s=%q is not a label selector (example: topology.kubernetes.io/region=eu,!edge): %w",
			flagNodeFilter, o.NodeFilterRequirements, err)
	}
	return selector, nil
}

func (o Options) withDefaults() Options {
	if o.NotFoundGrace == 0 {
		o.NotFoundGrace = DefaultNotFoundGrace
	}
	if o.Confirmation == 0 {
		o.Confirmation = DefaultConfirmation
	}
	if o.MaxDeletions == 0 {
		o.MaxDeletions = DefaultMaxDeletions
	}
	if o.DeletionInterval == 0 {
		o.DeletionInterval = DefaultDeletionInterval
	}
	if o.Disruption == "" {
		o.Disruption = provider.HoldDisruption
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}
