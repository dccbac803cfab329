package aws

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"golang.org/x/time/rate"
)

// The flags of the tagging controller. They are those of the manager that clusters on AWS come
// from, so they have no prefix and can never change.
const (
	flagTags            = "tags"
	flagTagResources    = "resources"
	flagTagRate         = "tagging-controller-rate-limit"
	flagTagBurst        = "tagging-controller-burst-limit"
	flagTagWorkers      = "tagging-controller-concurrent-node-syncs"
	flagTagBatching     = "tagging-controller-enable-batching"
	resourceInstance    = "instance"
	defaultTagWorkers   = 1
	reservedTagKeys     = "aws:"
	maxTagValue         = 256
	maxConfiguredTags   = 50
	taggingFlagsSection = "--controllers=*," + taggingController
)

// inheritedFlags are the flags without the provider's prefix.
func inheritedFlags() []string {
	return []string{flagTags, flagTagResources, flagTagRate, flagTagBurst, flagTagWorkers, flagTagBatching}
}

// taggingOptions are the flags of the tagging controller.
type taggingOptions struct {
	Tags      map[string]string
	Resources []string
	// Rate is in nodes a second; 0 is no limit.
	Rate    float64
	Burst   int
	Workers int
	// Batching is accepted for the command lines that have it: nodes that wait are always tagged together.
	Batching bool
}

// addFlags adds the flags.
func (o *taggingOptions) addFlags(fs *pflag.FlagSet) {
	if o.Workers == 0 {
		o.Workers = defaultTagWorkers
	}
	fs.StringToStringVar(&o.Tags, flagTags, o.Tags,
		"Tags to keep on the instances of nodes, as key=value,key=value. Used with "+taggingFlagsSection+". Removing one here does not remove it from instances.")
	fs.StringArrayVar(&o.Resources, flagTagResources, o.Resources,
		"What gets the tags of --"+flagTags+": only "+resourceInstance+" is possible. Used with "+taggingFlagsSection+".")
	fs.Float64Var(&o.Rate, flagTagRate, o.Rate,
		"The most nodes a second that are begun to be tagged. Used with --"+flagTagBurst+"; 0 for either is no limit.")
	fs.IntVar(&o.Burst, flagTagBurst, o.Burst,
		"How many nodes may be begun at once before --"+flagTagRate+" holds.")
	fs.IntVar(&o.Workers, flagTagWorkers, o.Workers,
		"How many calls that tag instances may run side by side. One is enough: nodes that wait share a call.")
	fs.BoolVar(&o.Batching, flagTagBatching, o.Batching,
		"Has no effect: nodes that wait are always tagged together, and a lone one at once.")
}

// validate says everything that is wrong with the flags, for a controller that is to run.
func (o *taggingOptions) validate() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(o.Tags) == 0 {
		add("--%s is not set: give the tags of instances, such as --%s=team=blue, or take %s out of --controllers", flagTags, flagTags, taggingController)
	}
	if len(o.Tags) > maxConfiguredTags {
		add("--%s has %d tags: EC2 takes at most %d on an instance", flagTags, len(o.Tags), maxConfiguredTags)
	}
	for key, value := range o.Tags {
		switch {
		case key == "" || len([]rune(key)) > maxTagKey:
			add("--%s: the key %q must have 1 to %d characters", flagTags, key, maxTagKey)
		case len([]rune(value)) > maxTagValue:
			add("--%s: the value of %q is longer than %d characters", flagTags, key, maxTagValue)
		case len(key) >= len(reservedTagKeys) && key[:len(reservedTagKeys)] == reservedTagKeys:
			add("--%s: the key %q begins with %s, which AWS keeps for itself", flagTags, key, reservedTagKeys)
		}
	}
	if len(o.Resources) == 0 {
		add("--%s is not set: use --%s=%s", flagTagResources, flagTagResources, resourceInstance)
	}
	for _, r := range o.Resources {
		if r != resourceInstance {
			add("--%s=%s: only %s can be tagged", flagTagResources, r, resourceInstance)
		}
	}
	if o.Rate < 0 || o.Burst < 0 {
		add("--%s=%v and --%s=%d must not be negative; 0 is no limit", flagTagRate, o.Rate, flagTagBurst, o.Burst)
	}
	if o.Workers < 1 {
		add("--%s=%d: without a worker nothing would be tagged; use at least 1", flagTagWorkers, o.Workers)
	}
	return errors.Join(errs...)
}

// limiter is the limit of the flags; nil where there is none.
func (o *taggingOptions) limiter() *rate.Limiter {
	if o.Rate <= 0 || o.Burst <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(o.Rate), o.Burst)
}
