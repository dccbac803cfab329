package instances

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
)

const (
	// tagsMaxAge is the max age of the tags of an object. Labels of zones are set once, when a node joins.
	tagsMaxAge = 10 * time.Minute
	// missingMaxAge is that of objects without the needed tags, so that a node joins soon after these were attached.
	missingMaxAge = 20 * time.Second
	// namesMaxAge is the max age of the names of tags and categories.
	namesMaxAge = time.Hour
	// objectsPerCall bounds the objects of one call.
	objectsPerCall = 1000
)

// zones reads the regions and zones of machines from the tags of the objects above them.
type zones struct {
	api          api.VCenter
	region, zone string
	clock        clock.PassiveClock

	mu       sync.Mutex
	attached map[api.Ref]attachment
	tags     map[string]tag
	names    map[string]string
	// unreadable are the errors of tags that cannot be read, by ID.
	unreadable map[string]error
	namesAt    time.Time
}

// attachment has the tags of an object.
type attachment struct {
	at   time.Time
	tags []string
}

// tag is the name of a tag and of its category.
type tag struct{ category, name string }

func newZones(a api.VCenter, region, zone string, c clock.PassiveClock) *zones {
	return &zones{api: a, region: region, zone: zone, clock: c, attached: map[api.Ref]attachment{}}
}

// enabled reports whether nodes have regions and zones.
func (z *zones) enabled() bool { return z.region != "" && z.zone != "" }

// place is the region and the zone of a machine. err is the reason why they may be others: a tag that cannot be read.
type place struct {
	region, zone string
	err          error
}

func (p place) isComplete() bool { return p.region != "" && p.zone != "" }

// places has the places of all machines, or the reason why they are unknown.
type places struct {
	zones *zones
	byRef map[api.Ref]place
	err   error
}

// find returns the place of a machine. It returns an error if the region or zone is missing.
func (p places) find(m api.Machine) (place, error) {
	if p.zones == nil {
		return place{}, nil
	}
	if p.err != nil {
		return place{}, p.err
	}
	found := p.byRef[m.Ref]
	if found.isComplete() {
		return found, nil
	}
	if found.err != nil {
		return place{}, found.err
	}
	missing := p.zones.region
	if found.region != "" {
		missing = p.zones.zone
	}
	return place{}, fmt.Errorf("no tag of category %s on its host, its resource pool, itself or the objects above one of "+
		"them: attach one, for example to the cluster or the datacenter", missing)
}

// read reads the tags of all machines with few calls: one for all objects above them, one for the machines that these
// leave without a place, and one for each tag and category that is not known yet.
func (z *zones) read(ctx context.Context, inventory api.Inventory, machines []api.Machine) places {
	if !z.enabled() {
		return places{}
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	z.forget()
	out := places{zones: z, byRef: map[api.Ref]place{}}
	ancestors := map[api.Ref]bool{}
	for _, m := range machines {
		for _, chain := range chains(inventory, m) {
			for _, ref := range chain {
				ancestors[ref] = ancestors[ref] || ref.Type != api.TypeMachine
			}
		}
	}
	if out.err = z.readTags(ctx, ancestors, tagsMaxAge); out.err != nil {
		return out
	}
	incomplete := z.placeAll(inventory, machines, out.byRef)
	if len(incomplete) == 0 {
		return out
	}
	rereads := map[api.Ref]bool{}
	for _, m := range incomplete {
		for _, chain := range chains(inventory, m) {
			for _, ref := range chain {
				rereads[ref] = true
			}
		}
	}
	if out.err = z.readTags(ctx, rereads, missingMaxAge); out.err == nil {
		z.placeAll(inventory, incomplete, out.byRef)
	}
	return out
}

// forget drops the tags of objects that were not read for a while.
func (z *zones) forget() {
	now := z.clock.Now()
	maps.DeleteFunc(z.attached, func(_ api.Ref, a attachment) bool { return now.Sub(a.at) >= tagsMaxAge })
}

// chains returns the objects with the tags of a machine, in the order in which they are tried: its host, its resource
// pool and the machine, each with the objects above it.
func chains(inventory api.Inventory, m api.Machine) [][]api.Ref {
	return [][]api.Ref{
		inventory.Chain(m.Host), inventory.Chain(m.Pool), append([]api.Ref{m.Ref}, inventory.Chain(container(m))...),
	}
}

// container returns the folder or vApp of a machine.
func container(m api.Machine) api.Ref {
	if m.Parent != (api.Ref{}) {
		return m.Parent
	}
	return m.ParentVApp
}

// placeAll sets the places of machines, and returns those without one.
func (z *zones) placeAll(inventory api.Inventory, machines []api.Machine, places map[api.Ref]place) []api.Machine {
	var incomplete []api.Machine
	for _, m := range machines {
		places[m.Ref] = z.placeOf(chains(inventory, m))
		if !places[m.Ref].isComplete() {
			incomplete = append(incomplete, m)
		}
	}
	return incomplete
}

// placeOf returns the place from the first chain that has both a region and a zone, or else that of the last
// chain. In a chain, the tag of the nearest object decides, for each category by itself. A chain ends at a tag that
// cannot be read: it may be nearer than those above it.
func (z *zones) placeOf(chains [][]api.Ref) place {
	var p place
	var unreadable error
	for _, chain := range chains {
		p = place{}
		for _, ref := range chain {
			if p.isComplete() {
				break
			}
			var err error
			if p, err = z.addTags(p, ref); err != nil {
				unreadable, p = err, place{}
				break
			}
		}
		if p.isComplete() {
			return p
		}
	}
	p.err = unreadable
	return p
}

// addTags adds what is missing to a place from the tags of an object.
func (z *zones) addTags(p place, ref api.Ref) (place, error) {
	for _, id := range z.attached[ref].tags {
		if err := z.unreadable[id]; err != nil {
			return p, fmt.Errorf("tag %s of %s %s cannot be read; give the account the permission System.Read for it: %w", id,
				ref.Type, ref.Value, err)
		}
		switch t := z.tags[id]; {
		case t.category == z.region && p.region == "":
			p.region = t.name
		case t.category == z.zone && p.zone == "":
			p.zone = t.name
		}
	}
	return p, nil
}

// readTags reads the tags of objects that are not known or older than maxAge.
func (z *zones) readTags(ctx context.Context, objects map[api.Ref]bool, maxAge time.Duration) error {
	now := z.clock.Now()
	var refs []api.Ref
	for ref, wanted := range objects {
		if a, known := z.attached[ref]; wanted && (!known || now.Sub(a.at) >= maxAge) {
			refs = append(refs, ref)
		}
	}
	sorting.Func(refs, api.Ref.Compare)
	for chunk := range slices.Chunk(refs, objectsPerCall) {
		attached, err := z.api.AttachedTags(ctx, chunk)
		if err != nil {
			return fmt.Errorf("read the tags of zones: %w", err)
		}
		for _, ref := range chunk {
			tags := attached[ref]
			slices.Sort(tags)
			if err := z.readTagNames(ctx, tags); err != nil {
				return fmt.Errorf("read the tags of zones: %w", err)
			}
			z.attached[ref] = attachment{at: now, tags: tags}
		}
	}
	return nil
}

// readTagNames reads the names of tags and of their categories, each once in a while. A tag that was deleted in the
// meantime does not count, and one that cannot be read affects only the machines below its object. Other errors are
// those of the vCenter.
func (z *zones) readTagNames(ctx context.Context, ids []string) error {
	if now := z.clock.Now(); z.tags == nil || now.Sub(z.namesAt) >= namesMaxAge {
		z.tags, z.names, z.unreadable, z.namesAt = map[string]tag{}, map[string]string{}, map[string]error{}, now
	}
	for _, id := range ids {
		if _, known := z.tags[id]; known {
			continue
		}
		t, err := z.readTag(ctx, id)
		delete(z.unreadable, id)
		switch {
		case err == nil:
			z.tags[id] = t
		case cloudapi.Is(err, cloudapi.NotFound):
		case cloudapi.Is(err, cloudapi.Unavailable, cloudapi.Throttled, cloudapi.Canceled):
			return err
		default:
			z.unreadable[id] = err
		}
	}
	return nil
}

// readTag reads a tag and its category.
func (z *zones) readTag(ctx context.Context, id string) (tag, error) {
	t, err := z.api.Tag(ctx, id)
	if err != nil {
		return tag{}, err
	}
	category, known := z.names[t.CategoryID]
	if !known {
		c, err := z.api.Category(ctx, t.CategoryID)
		if err != nil {
			return tag{}, err
		}
		category = c.Name
		z.names[t.CategoryID] = category
	}
	return tag{category: category, name: t.Name}, nil
}
