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

// flags are the provider's own: all of them are the tagging controller's.
type flags struct {
	tags      map[string]string
	resources []string
	// rate is in nodes a second; 0 is no limit.
	rate    float64
	burst   int
	workers int
	// batching is accepted for the command lines that have it: nodes that wait are always tagged together.
	batching bool
}

// add adds the flags.
func (f *flags) add(fs *pflag.FlagSet) {
	if f.workers == 0 {
		f.workers = defaultTagWorkers
	}
	fs.StringToStringVar(&f.tags, flagTags, f.tags,
		"Tags to keep on the instances of nodes, as key=value,key=value. Used with "+taggingFlagsSection+". Removing one here does not remove it from instances.")
	fs.StringArrayVar(&f.resources, flagTagResources, f.resources,
		"What gets the tags of --"+flagTags+": only "+resourceInstance+" is possible. Used with "+taggingFlagsSection+".")
	fs.Float64Var(&f.rate, flagTagRate, f.rate,
		"The most nodes a second that are begun to be tagged. Used with --"+flagTagBurst+"; 0 for either is no limit.")
	fs.IntVar(&f.burst, flagTagBurst, f.burst,
		"How many nodes may be begun at once before --"+flagTagRate+" holds.")
	fs.IntVar(&f.workers, flagTagWorkers, f.workers,
		"How many calls that tag instances may run side by side. One is enough: nodes that wait share a call.")
	fs.BoolVar(&f.batching, flagTagBatching, f.batching,
		"Has no effect: nodes that wait are always tagged together, and a lone one at once.")
}

// validate says everything that is wrong with the flags, for a controller that is to run.
func (f *flags) validate() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(f.tags) == 0 {
		add("--%s is not set: give the tags of instances, such as --%s=team=blue, or take %s out of --controllers", flagTags, flagTags, taggingController)
	}
	if len(f.tags) > maxConfiguredTags {
		add("--%s has %d tags: EC2 takes at most %d on an instance", flagTags, len(f.tags), maxConfiguredTags)
	}
	for key, value := range f.tags {
		switch {
		case key == "" || len([]rune(key)) > maxTagKey:
			add("--%s: the key %q must have 1 to %d characters", flagTags, key, maxTagKey)
		case len([]rune(value)) > maxTagValue:
			add("--%s: the value of %q is longer than %d characters", flagTags, key, maxTagValue)
		case len(key) >= len(reservedTagKeys) && key[:len(reservedTagKeys)] == reservedTagKeys:
			add("--%s: the key %q begins with %s, which AWS keeps for itself", flagTags, key, reservedTagKeys)
		}
	}
	if len(f.resources) == 0 {
		add("--%s is not set: use --%s=%s", flagTagResources, flagTagResources, resourceInstance)
	}
	for _, r := range f.resources {
		if r != resourceInstance {
			add("--%s=%s: only %s can be tagged", flagTagResources, r, resourceInstance)
		}
	}
	if f.rate < 0 || f.burst < 0 {
		add("--%s=%v and --%s=%d must not be negative; 0 is no limit", flagTagRate, f.rate, flagTagBurst, f.burst)
	}
	if f.workers < 1 {
		add("--%s=%d: without a worker nothing would be tagged; use at least 1", flagTagWorkers, f.workers)
	}
	return errors.Join(errs...)
}

// limiter is the limit that the flags set; nil where there is none.
func (f *flags) limiter() *rate.Limiter {
	if f.rate <= 0 || f.burst <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(f.rate), f.burst)
}
