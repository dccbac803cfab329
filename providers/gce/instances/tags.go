package instances

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// tagsAge is the max age of the tags of an instance. The periodic reads of nodes renew them every 5 minutes; an
// instance that is created again under its name may have others.
const tagsAge = 10 * time.Minute

// tags are the network tags of instances, as they were read last. It is safe for concurrent use.
type tags struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	byID map[string]tagged
}

type tagged struct {
	tags []string
	at   time.Time
}

func newTags(c clock.PassiveClock) *tags { return &tags{clock: c, byID: map[string]tagged{}} }

func (t *tags) record(found []api.Instance) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now()
	for _, i := range found {
		t.byID[names.InstanceID(api.Last(i.Zone), i.Name)] = tagged{i.Tags.Items, now}
	}
	for id, entry := range t.byID {
		if now.Sub(entry.at) >= 2*tagsAge {
			delete(t.byID, id)
		}
	}
}

// of returns the tags of an instance, and whether they are known.
func (t *tags) of(id string) ([]string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry, ok := t.byID[id]
	return entry.tags, ok && t.clock.Since(entry.at) < tagsAge
}

// NodeTags returns the network tags that select the nodes with these instances, sorted: those of the configuration, or
// of each instance the longest one with which its name begins. An instance that does not exist selects nothing.
func (s *Source) NodeTags(ctx context.Context, ids []string) ([]string, error) {
	if configured := s.options.Config.NodeTags; len(configured) > 0 {
		return slices.Sorted(slices.Values(configured)), nil
	}
	unknown := func(id string) bool { _, ok := s.tags.of(id); return !ok }
	if slices.ContainsFunc(ids, unknown) {
		found, _, err := s.list(ctx, "")
		if err != nil {
			return nil, err
		}
		s.tags.record(found)
	}
	var all []string
	for _, id := range ids {
		list, ok := s.tags.of(id)
		if !ok {
			continue
		}
		_, name := names.SplitInstanceID(id)
		tag := longestPrefix(name, list)
		if tag == "" {
			return nil, &cloudapi.Error{Class: cloudapi.Invalid, Operation: "instance " + name,
				Err: fmt.Errorf("the firewalls of load balancers cannot select it: %w", errNoTag)}
		}
		all = append(all, tag)
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// longestPrefix returns the longest tag with which a name begins.
func longestPrefix(name string, tags []string) string {
	longest := ""
	for _, tag := range tags {
		if strings.HasPrefix(name, tag) && len(tag) > len(longest) {
			longest = tag
		}
	}
	return longest
}
