package controllers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/pflag"
	"golang.org/x/time/rate"

	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// The flags of the tagging controller. They are those of cloud-provider-aws, so they have no prefix and can never
// change.
const (
	flagTags          = "tags"
	flagTagResources  = "resources"
	flagTagRate       = "tagging-controller-rate-limit"
	flagTagBurst      = "tagging-controller-burst-limit"
	flagTagWorkers    = "tagging-controller-concurrent-node-syncs"
	flagTagBatching   = "tagging-controller-enable-batching"
	resourceInstance  = "instance"
	defaultTagWorkers = 1
	reservedTagPrefix = "aws:"
	maxConfiguredTags = 50
	enableTagging     = "--controllers=*," + taggingController
)

const (
	// taggingController is the name of the controller in --controllers.
	taggingController = "tagging"
	// taggingBatch is the number of instances of a call. EC2 allows 1,000 and recommends fewer.
	taggingBatch = 100
	// maxTaggingCalls bounds the search for the instance for which EC2 rejects a call: 15 calls find one of 100, and a
	// policy that denies all of them does not cause a call for each.
	maxTaggingCalls = 20
	// taggingRetries and taggingBackoff retry a task for about five minutes.
	taggingRetries = 18
	taggingBackoff = time.Minute
	// visibleAfter is the age of a Node from which EC2 finds its instance if it exists: EC2 is eventually consistent.
	visibleAfter = 5 * time.Minute
	// labelWriters is the number of Nodes that are labeled concurrently.
	labelWriters = 16
)

// InheritedFlags returns the names of the flags without the provider's prefix.
func InheritedFlags() []string {
	return []string{flagTags, flagTagResources, flagTagRate, flagTagBurst, flagTagWorkers, flagTagBatching}
}

// Flags are the provider's flags. All of them configure the tagging controller.
type Flags struct {
	tags      map[string]string
	resources []string
	// rate is in nodes per second; 0 is no limit.
	rate    float64
	burst   int
	workers int
	// batching is accepted for existing command lines and ignored: queued nodes are always tagged in batches.
	batching bool
}

// Add adds the flags to a flag set.
func (f *Flags) Add(fs *pflag.FlagSet) {
	if f.workers == 0 {
		f.workers = defaultTagWorkers
	}
	fs.StringToStringVar(&f.tags, flagTags, f.tags,
		"Tags of the instances of nodes, as key=value,key=value. Used with "+enableTagging+
			". Removing a tag here does not remove it from instances.")
	fs.StringArrayVar(&f.resources, flagTagResources, f.resources,
		"Resource types to tag with --"+flagTags+"; only "+resourceInstance+" is supported. Used with "+
			enableTagging+".")
	fs.Float64Var(&f.rate, flagTagRate, f.rate,
		"Rate limit of the tagging controller in nodes per second. Used with --"+flagTagBurst+"; 0 for either is no limit.")
	fs.IntVar(&f.burst, flagTagBurst, f.burst,
		"Burst size of the rate limiter --"+flagTagRate+".")
	fs.IntVar(&f.workers, flagTagWorkers, f.workers,
		"Number of concurrent calls that tag instances. One is enough: queued nodes share a call.")
	fs.BoolVar(&f.batching, flagTagBatching, f.batching,
		"No effect: queued nodes are always tagged in batches.")
}

// validate returns all errors of the flags, for a controller that starts.
func (f *Flags) validate() error {
	var errs []error
	add := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(f.tags) == 0 {
		add("--%s is not set: set the tags of instances, such as --%s=team=blue, or remove %s from --controllers",
			flagTags, flagTags, taggingController)
	}
	if len(f.tags) > maxConfiguredTags {
		add("--%s has %d tags: EC2 allows %d on an instance", flagTags, len(f.tags), maxConfiguredTags)
	}
	for _, key := range slices.Sorted(maps.Keys(f.tags)) {
		switch {
		case key == "" || utf8.RuneCountInString(key) > names.MaxTagKey:
			add("--%s: the key %q must have 1 to %d characters", flagTags, key, names.MaxTagKey)
		case utf8.RuneCountInString(f.tags[key]) > names.MaxTagValue:
			add("--%s: the value of %q is longer than %d characters", flagTags, key, names.MaxTagValue)
		case strings.HasPrefix(key, reservedTagPrefix):
			add("--%s: the key %q begins with %s, which is reserved for AWS", flagTags, key, reservedTagPrefix)
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
		add("--%s=%d: must be at least 1", flagTagWorkers, f.workers)
	}
	return errors.Join(errs...)
}

// limiter returns the configured rate limiter, or nil.
func (f *Flags) limiter() *rate.Limiter {
	if f.rate <= 0 || f.burst <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(f.rate), f.burst)
}
