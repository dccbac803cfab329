package loadbalancer

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

const (
	// snapshotAge is how old a shared observation may be. It only has to span a burst: a restart
	// that looks at every Service within seconds reads the cloud once. Beyond that it is how long
	// a change made by hand may stay unnoticed by a reconcile that happens anyway.
	snapshotAge = 30 * time.Second
	// zonesAge: a region gets a new zone about once in its life.
	zonesAge = 10 * time.Minute
)

// Observed is what exists of one Service's load balancer. It is shared between readers: nobody
// changes what it points to.
type Observed struct {
	// LoadBalancer is nil if there is none.
	LoadBalancer *api.LoadBalancer
	// Addresses are those that carry the load balancer's name, whether it uses them, somebody
	// else does, or nobody.
	Addresses []api.Address
}

// forget removes the load balancer and frees its addresses, as the cloud does when it is deleted.
func (o *Observed) forget() {
	if o.LoadBalancer == nil {
		return
	}
	o.Addresses = slices.Clone(o.Addresses)
	for i := range o.Addresses {
		if o.Addresses[i].LoadBalancer == o.LoadBalancer.ID {
			o.Addresses[i].LoadBalancer = ""
		}
	}
	o.LoadBalancer = nil
}

// store is the snapshot that all Services share: one bulk read serves everybody until it is too
// old, and our own writes keep it true in the meantime. It is never the truth: the caller confirms
// with read before it creates or deletes anything.
type store struct {
	api   API
	clock clock.PassiveClock

	mu       sync.Mutex
	clusters map[string]*clusterStore
}

// clusterStore is the snapshot of one cluster name. There is one in a manager's life.
type clusterStore struct {
	// refreshing is held by the one caller that reads; the others wait for it and find its result.
	refreshing chan struct{}
	readAt     time.Time
	entries    map[string]entry
	// writes counts our own writes, so that a read knows which of them it may have missed.
	writes uint64
}

// entry is what is known of one load balancer.
type entry struct {
	Observed
	// writtenAt is the count of writes when this entry was last written; 0 for never.
	writtenAt uint64
	// stale says that a write failed in a way that leaves open what was done.
	stale bool
}

func newStore(client API, c clock.PassiveClock) *store {
	return &store{api: client, clock: c, clusters: map[string]*clusterStore{}}
}

// cached returns an observation that is at most snapshotAge old.
func (s *store) cached(ctx context.Context, cluster, name string) (Observed, error) {
	if have, ok := s.lookup(cluster, name); ok {
		return have, nil
	}
	if err := s.refresh(ctx, cluster); err != nil {
		return Observed{}, err
	}
	if have, ok := s.lookup(cluster, name); ok {
		return have, nil
	}
	return s.read(ctx, cluster, name)
}

// read asks the cloud about this name alone, in all clusters: a load balancer of our name that is
// another cluster's must be seen to be refused.
func (s *store) read(ctx context.Context, cluster, name string) (Observed, error) {
	before := s.countWrites(cluster)
	lbs, err := s.api.ListLoadBalancers(ctx, "", name)
	if err != nil {
		return Observed{}, err
	}
	addresses, err := s.api.ListAddresses(ctx, "", name+"-")
	if err != nil {
		return Observed{}, err
	}
	have := group(lbs, addresses)[name]
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cluster(cluster)
	if c.entries[name].writtenAt <= before {
		c.entries[name] = entry{Observed: have, writtenAt: c.entries[name].writtenAt}
	}
	return have, nil
}

// refresh reads everything of a cluster. Callers that come while one is reading wait for it.
func (s *store) refresh(ctx context.Context, cluster string) error {
	s.mu.Lock()
	refreshing := s.cluster(cluster).refreshing
	s.mu.Unlock()
	select {
	case refreshing <- struct{}{}:
		defer func() { <-refreshing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if s.isFresh(cluster) {
		return nil
	}
	before, started := s.countWrites(cluster), s.clock.Now()
	lbs, err := s.api.ListLoadBalancers(ctx, cluster, "")
	if err != nil {
		return err
	}
	addresses, err := s.api.ListAddresses(ctx, cluster, "")
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cluster(cluster)
	entries := map[string]entry{}
	for name, have := range group(lbs, addresses) {
		entries[name] = entry{Observed: have}
	}
	// What was written while we were reading is newer than what we read.
	for name, e := range c.entries {
		if e.writtenAt > before {
			entries[name] = e
		}
	}
	c.entries, c.readAt = entries, started
	return nil
}

// wrote changes what is known of a load balancer after a write of ours.
func (s *store) wrote(cluster, name string, change func(*Observed)) {
	s.update(cluster, name, func(e *entry) { change(&e.Observed) })
}

// doubt makes the next look at a load balancer a read: a write failed, and nobody knows how far it got.
func (s *store) doubt(cluster, name string) {
	s.update(cluster, name, func(e *entry) { e.stale = true })
}

func (s *store) update(cluster, name string, change func(*entry)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cluster(cluster)
	c.writes++
	e := c.entries[name]
	e.writtenAt = c.writes
	change(&e)
	c.entries[name] = e
}

// lookup answers from memory. That a name is not in a fresh snapshot is an answer too.
func (s *store) lookup(cluster, name string) (Observed, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cluster(cluster)
	e := c.entries[name]
	return e.Observed, s.fresh(c) && !e.stale
}

func (s *store) isFresh(cluster string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fresh(s.cluster(cluster))
}

func (s *store) fresh(c *clusterStore) bool {
	return !c.readAt.IsZero() && s.clock.Since(c.readAt) < snapshotAge
}

func (s *store) countWrites(cluster string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster(cluster).writes
}

// cluster returns the snapshot of a cluster, empty at first. The lock is held.
func (s *store) cluster(name string) *clusterStore {
	c, ok := s.clusters[name]
	if !ok {
		c = &clusterStore{refreshing: make(chan struct{}, 1), entries: map[string]entry{}}
		s.clusters[name] = c
	}
	return c
}

// group sorts what was read by the name of the load balancer.
func group(lbs []api.LoadBalancer, addresses []api.Address) map[string]Observed {
	all := make(map[string]Observed, len(lbs))
	for i := range lbs {
		all[lbs[i].Name] = Observed{LoadBalancer: &lbs[i]}
	}
	for _, address := range addresses {
		name, ok := addressOwner(address.Name)
		if !ok {
			continue
		}
		have := all[name]
		have.Addresses = append(have.Addresses, address)
		all[name] = have
	}
	return all
}

// newZones returns the names of the region's zones, sorted.
func newZones(client API, c clock.PassiveClock) *snapshot.Value[[]string] {
	return snapshot.NewValue(snapshot.ValueOptions[[]string]{Clock: c, Age: zonesAge, Read: func(ctx context.Context) ([]string, error) {
		zones, err := client.ListZones(ctx)
		if err != nil {
			return nil, err
		}
		names := make([]string, 0, len(zones))
		for _, zone := range zones {
			names = append(names, zone.Name)
		}
		slices.Sort(names)
		return slices.Compact(names), nil
	}})
}
