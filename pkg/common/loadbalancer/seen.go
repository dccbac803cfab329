package loadbalancer

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/internal/digests"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// seenOnly decides which differences of a load balancer that was taken over this manager has only seen, and never
// applied. They need a cause even if they disrupt nothing: the values may be those of a user. What is missing is
// created in any case, and members follow.
type seenOnly struct {
	// all is set until the first change of a load balancer that was taken over, which gives it a record.
	all bool
	// places are the digests of differences that were seen and not applied since.
	places []string
}

// has reports whether a difference that disrupts nothing was only seen.
func (s seenOnly) has(d plan.Difference) bool {
	if s.all {
		return true
	}
	place, _ := digests.Of(d)
	return slices.Contains(s.places, place) || slices.Contains(s.places, everyPlace)
}

// isEmpty reports whether this manager has applied all that exists.
func (s seenOnly) isEmpty() bool { return !s.all && len(s.places) == 0 }

// everyPlace stands for all places, if there are too many to be stored.
const everyPlace = "*"

// withSeen returns the history with those differences of held changes that disrupt nothing and were only seen. Others
// are held because they wait for a held change, or are part of one.
func (h history) withSeen(held []plan.HeldChange, seen seenOnly) history {
	var places []string
	for _, change := range held {
		for _, d := range change.Harmless() {
			if place, _ := digests.Of(d); seen.has(d) {
				places = append(places, place)
			}
		}
	}
	slices.Sort(places)
	if h.SeenOnly = slices.Compact(places); len(h.SeenOnly) > maxHeld {
		h.SeenOnly = []string{everyPlace}
	}
	return h
}

// mayBeHeld reports whether a change may be held, or is a mark that may stay out.
func (s seenOnly) mayBeHeld(c plan.Change) bool {
	return c.Mark || c.Disrupts.Severe() || !s.isEmpty() && len(c.Harmless()) > 0
}

// differences returns the differences of changes that need a cause.
func (s seenOnly) differences(changes ...plan.Change) []plan.Difference {
	differences := plan.Plan{Changes: changes}.Differences()
	for _, c := range changes {
		for _, d := range c.Harmless() {
			if s.has(d) {
				differences = append(differences, d)
			}
		}
	}
	return differences
}

// seenOnly returns what this manager has only seen of a target's load balancer.
func (c *Controller) seenOnly(t target, have any) seenOnly {
	if r := c.runtime.Load(); r != nil && r.Disruption == provider.AllowDisruption || c.records == nil || t.want == nil {
		return seenOnly{}
	}
	h, _ := c.historyOf(t)
	stored, exists := c.records.StoredRecord(t.key, have)
	if !exists { // The history shows what was applied if the cloud stores no records.
		exists = h.Wanted == "" && !h.Created && c.cloud.Status(t.in, have).LoadBalancer != nil
	}
	return seenOnly{all: exists && stored.IsZero() && !h.Unfinished, places: h.SeenOnly}
}
