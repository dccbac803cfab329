package guard

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/kube"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Options configure Wrap. The zero value of a field means its default; a negative value disables the rule if
// the field's comment allows it.
type Options struct {
	// DryRun computes and reports changes and applies none, neither in the cloud nor to Nodes.
	DryRun bool
	// NotFoundGrace is how long a node without a provider ID is kept after it was first not found in the cloud.
	// A negative value keeps such nodes forever.
	NotFoundGrace time.Duration
	// Confirmation is the minimum time between the two negative answers before an instance counts as deleted. A
	// negative value accepts the first answer.
	Confirmation time.Duration
	// MaxDeletions is the maximum number of node deletions within DeletionInterval. Negative means no limit.
	MaxDeletions int
	// DeletionInterval is the time window of MaxDeletions.
	DeletionInterval time.Duration
	// NodeFilterRequirements is a label selector; see NodeSelector.
	NodeFilterRequirements string
	// Disruption decides about disruptive changes of load balancers.
	Disruption provider.DisruptionPolicy
	// Started is called at the beginning of Initialize, which the framework calls on the leader only. It returns the
	// LeadingSince of the Runtime. May be nil.
	Started func() (leadingSince string)
	// Initialized is called with the Runtime before the provider's own Initialize. May be nil.
	Initialized func(provider.Runtime)
	// Budget counts the deletions of several clouds together; nil for one cloud.
	Budget *Budget
	// Approvals is the source of approvals of held changes: see kube.ValidateApprovals.
	Approvals string
	// Clock is the real clock when nil.
	Clock clock.Clock
}

const (
	// DefaultNotFoundGrace is the time that cluster autoscalers give a machine to join before they replace it; a
	// node without a provider ID after that time is no longer being set up.
	DefaultNotFoundGrace = 15 * time.Minute
	// DefaultConfirmation is longer than clouds take to show a machine in all of their replicas, and half of the
	// forty seconds after which a silent kubelet makes a node NotReady, so that the node of a deleted machine is
	// deleted in about a minute.
	DefaultConfirmation = 20 * time.Second
	// DefaultMaxDeletions is the number of machines that the cluster autoscaler removes at once, so that
	// scale-down is not slowed. If a cloud suddenly reports no machine (wrong project, wrong region), a hundred
	// nodes take ten minutes, which leaves time to react.
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
	flagApprovals        = "load-balancer-approvals"
)

// AddFlags adds the flags of this package. Their defaults are the fields' values, or the defaults of this
// package for zero fields. DryRun has no flag here: it applies to the whole command.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	*o = o.withDefaults()
	fs.DurationVar(&o.NotFoundGrace, flagNotFoundGrace, o.NotFoundGrace,
		"How long a node without a provider ID is kept after no instance of its name was first found. "+
			"It gives a machine time to appear in the cloud, and you time to notice a node that never was one of its machines. "+
			"A negative value keeps such nodes forever.")
	fs.DurationVar(&o.Confirmation, flagConfirmation, o.Confirmation,
		"Minimum time between the two answers of the cloud that an instance does not exist, before its node is "+
			"deleted. "+
			"One answer is not enough, because a cloud's replicas can lag behind each other. "+
			"Errors (denied, throttled, timed out) never count as such an answer. A negative value accepts the first answer.")
	fs.IntVar(&o.MaxDeletions, flagMaxDeletions, o.MaxDeletions,
		"Maximum number of nodes that are deleted within --"+flagDeletionInterval+". "+
			"It limits the damage when a cloud suddenly reports none of the machines (wrong project or region). "+
			"The default is the number that the cluster autoscaler removes at once; raise it if yours "+
			"removes more. A negative value "+
			"means no limit.")
	fs.DurationVar(&o.DeletionInterval, flagDeletionInterval, o.DeletionInterval,
		"The time window of --"+flagMaxDeletions+".")
	AddDisruptionFlags(fs, &o.Disruption, &o.Approvals)
	fs.StringVar(&o.NodeFilterRequirements, flagNodeFilter, o.NodeFilterRequirements,
		"Label selector for the nodes that this manager sees, as in kubectl get nodes -l; empty for all. "+
			"Use it if another manager handles the other nodes. Services are not affected by it.")
}

// AddDisruptionFlags adds the flags of the policy for disruptive changes, and of the source of approvals.
func AddDisruptionFlags(fs *pflag.FlagSet, policy *provider.DisruptionPolicy, approvals *string) {
	*policy = cmp.Or(*policy, provider.HoldDisruption)
	fs.StringVar((*string)(policy), flagDisruption, string(*policy),
		"What happens to changes that disrupt traffic, an address or a whole load balancer. hold applies them only if the "+
			"Service has changed, and holds what follows from other causes (discovery, configuration, defaults) until an "+
			"approval has the ID of the held changes (--"+flagApprovals+"). "+
			"allow applies all changes. hold-all holds all of them.")
	*approvals = cmp.Or(*approvals, kube.ApprovalsOfServices)
	fs.StringVar(approvals, flagApprovals, *approvals,
		"Where held changes are approved. services: by the annotation load-balancer.unified-ccm.io/approve of the Service, "+
			"so that whoever may edit a Service may approve. NAMESPACE/NAME: only by the ConfigMap of that name, with the "+
			"key NAMESPACE.NAME of the Service and the ID as the value, so that only who may edit the ConfigMap may approve. "+
			"An approval is removed once its changes are applied.")
}

// ValidateDisruption checks the values of the flags of AddDisruptionFlags.
func ValidateDisruption(policy provider.DisruptionPolicy, approvals string) error {
	switch policy {
	case provider.HoldDisruption, provider.AllowDisruption, provider.HoldAllDisruption:
	default:
		return fmt.Errorf("--%s=%q: use hold, allow or hold-all", flagDisruption, policy)
	}
	if err := kube.ValidateApprovals(approvals); err != nil {
		return fmt.Errorf("--%s=%q: %w", flagApprovals, approvals, err)
	}
	return nil
}

// Validate checks values that were given by flags, all at once. It is for after parsing; before, zero means
// default.
func (o *Options) Validate() error {
	var errs []error
	if o.NotFoundGrace == 0 {
		errs = append(errs, fmt.Errorf("--%s=0: use a duration like %s, or -1s to keep nodes without a provider ID forever",
			flagNotFoundGrace, DefaultNotFoundGrace))
	}
	if o.Confirmation == 0 {
		errs = append(errs, fmt.Errorf("--%s=0: use a duration like %s, or -1s to accept the first answer", flagConfirmation,
			DefaultConfirmation))
	}
	if o.MaxDeletions == 0 {
		errs = append(errs, fmt.Errorf("--%s=0: use a number like %d, or -1 for no limit", flagMaxDeletions,
			DefaultMaxDeletions))
	}
	if o.DeletionInterval <= 0 {
		errs = append(errs, fmt.Errorf("--%s=%s: use a duration like %s; to remove the limit use --%s=-1",
			flagDeletionInterval,
			o.DeletionInterval, DefaultDeletionInterval, flagMaxDeletions))
	}
	if err := ValidateDisruption(o.Disruption, o.Approvals); err != nil {
		errs = append(errs, err)
	}
	if _, err := o.NodeSelector(); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// NodeSelector parses NodeFilterRequirements. Use it for the informer of Nodes only.
func (o *Options) NodeSelector() (labels.Selector, error) {
	selector, err := labels.Parse(o.NodeFilterRequirements)
	if err != nil {
		return nil, fmt.Errorf("--%s=%q is not a label selector (example: topology.kubernetes.io/region=eu,!edge): %w",
			flagNodeFilter, o.NodeFilterRequirements, err)
	}
	return selector, nil
}

func (o Options) withDefaults() Options {
	o.NotFoundGrace = cmp.Or(o.NotFoundGrace, DefaultNotFoundGrace)
	o.Confirmation = cmp.Or(o.Confirmation, DefaultConfirmation)
	o.MaxDeletions = cmp.Or(o.MaxDeletions, DefaultMaxDeletions)
	o.DeletionInterval = cmp.Or(o.DeletionInterval, DefaultDeletionInterval)
	o.Disruption = cmp.Or(o.Disruption, provider.HoldDisruption)
	o.Approvals = cmp.Or(o.Approvals, kube.ApprovalsOfServices)
	o.Clock = clocks.OrReal(o.Clock)
	if o.Budget == nil {
		o.Budget = NewBudget()
	}
	return o
}
