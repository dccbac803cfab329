// Package observe reads the existing objects of load balancers. All Services share one snapshot of the
// project's objects: lists fill it, and package apply records its changes there.
package observe

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

const (
	// ListAge is the max age of a list of the whole project. It spans a burst, such as a restart that reads
	// every Service within seconds, and the creation of a load balancer, which takes about a minute and after
	// which the framework reads the Service again. It is also the time for which a reconcile may miss a change
	// made by hand.
	ListAge = 2 * time.Minute
	// objectAge is the max age of details of each pool. An audit reads them at this interval.
	objectAge = 30 * time.Minute
	// confirmAge is the max age for a read to count as fresh: the resulting decision takes longer to reach the
	// cloud.
	confirmAge = time.Second
)

// API has the read calls to OpenStack.
type API interface {
	api.LoadBalancingAPI
	api.NetworkAPI
}

// Keys of the indexes.
const (
	indexName    = "name "
	indexTag     = "tag "
	indexPort    = "port "
	indexService = "Service "
)

// Store is the snapshot. It is a cache: callers confirm with an authoritative read before they create or
// delete anything. It is safe for concurrent use.
type Store struct {
	api   API
	clock clock.PassiveClock
	// state orders reads and writes. Its owners are Services, by name, and load balancers, by ID, with uncertain
	// listeners and pools.
	state *snapshot.Store

	LoadBalancers *snapshot.Table[api.LoadBalancer]
	Listeners     *snapshot.Table[api.Listener]
	Pools         *snapshot.Table[api.Pool]
	Monitors      *snapshot.Table[api.HealthMonitor]
	FloatingIPs   *snapshot.Table[api.FloatingIP]
	Ports         *snapshot.Table[api.Port]
	Groups        *snapshot.Table[api.SecurityGroup]
	// Members are keyed by the ID of their pool.
	Members *snapshot.Table[[]api.Member]

	mu sync.Mutex
	// denied are load balancers that we may not read; deleted ones do not exist. The failover of unrecoverable ones was
	// refused, the deletion of abandoned ones requested, and unbuilt ones have never worked. Users write IDs into
	// annotations, so that these sets have a limit: an ID that was dropped is read again.
	denied, deleted, unrecoverable, abandoned, unbuilt idSet
	// refusedMethods are the algorithms that Octavia refused, by the ID of the pool.
	refusedMethods map[string]string
	// untagged are load balancers that this process has created, and that Octavia gives no tags.
	untagged idSet
	// reads are the last reads of each Service, and writtenAt the times of our last writes, after which all of its
	// objects are known. Both forget Services after a while, because Services are deleted.
	reads     map[string]lastRead
	writtenAt map[string]time.Time
}

type lastRead struct {
	at              time.Time
	members, groups bool
}

// NewStore returns an empty snapshot.
func NewStore(client API, c clock.PassiveClock) *Store {
	state := snapshot.NewStore(c)
	s := &Store{
		api: client, clock: c, state: state,
		denied: newIDSet(), deleted: newIDSet(), unrecoverable: newIDSet(), abandoned: newIDSet(), unbuilt: newIDSet(),
		untagged: newIDSet(),
		reads:    map[string]lastRead{}, writtenAt: map[string]time.Time{}, refusedMethods: map[string]string{},
		Monitors: snapshot.NewTable(state, snapshot.Kind[api.HealthMonitor]{
			ID: func(m api.HealthMonitor) string { return m.ID }, List: client.ListHealthMonitors, Read: client.GetHealthMonitor,
			MaxAge: ListAge,
		}),
		Groups: snapshot.NewTable(state, snapshot.Kind[api.SecurityGroup]{
			ID:     func(g api.SecurityGroup) string { return g.ID },
			List:   func(ctx context.Context) ([]api.SecurityGroup, error) { return client.ListSecurityGroups(ctx, "") },
			MaxAge: ListAge, Index: func(g api.SecurityGroup) []string { return []string{indexName + g.Name} },
		}),
		Ports: snapshot.NewTable(state, snapshot.Kind[api.Port]{
			ID:     func(p api.Port) string { return p.ID },
			List:   func(ctx context.Context) ([]api.Port, error) { return client.ListPorts(ctx, api.PortFilter{}) },
			MaxAge: ListAge, Index: func(p api.Port) []string { return p.SecurityGroups },
		}),
		Members: snapshot.NewTable(state, snapshot.Kind[[]api.Member]{Read: client.ListMembers, MaxAge: objectAge}),
	}
	s.LoadBalancers = snapshot.NewTable(state, snapshot.Kind[api.LoadBalancer]{
		ID: func(lb api.LoadBalancer) string { return lb.ID }, List: s.listLoadBalancers, Read: s.readLoadBalancer,
		MaxAge: ListAge, Index: indexLoadBalancer,
	})
	s.Listeners = snapshot.NewTable(state, snapshot.Kind[api.Listener]{
		ID:     func(l api.Listener) string { return l.ID },
		List:   func(ctx context.Context) ([]api.Listener, error) { return client.ListListeners(ctx, "") },
		MaxAge: ListAge, Index: func(l api.Listener) []string { return []string{parentOfListener(l)} },
	})
	s.Pools = snapshot.NewTable(state, snapshot.Kind[api.Pool]{
		ID:     func(p api.Pool) string { return p.ID },
		List:   func(ctx context.Context) ([]api.Pool, error) { return client.ListPools(ctx, "") },
		MaxAge: ListAge, Index: func(p api.Pool) []string { return []string{parentOfPool(p)} },
	})
	s.Pools.AddDetails(s.Members)
	s.FloatingIPs = snapshot.NewTable(state, snapshot.Kind[api.FloatingIP]{
		ID:     func(f api.FloatingIP) string { return f.ID },
		List:   func(ctx context.Context) ([]api.FloatingIP, error) { return client.ListFloatingIPs(ctx, "") },
		MaxAge: ListAge, Index: indexFloatingIP,
	})
	return s
}

func (s *Store) listLoadBalancers(ctx context.Context) ([]api.LoadBalancer, error) {
	list, err := s.api.ListLoadBalancers(ctx)
	kept := list[:0]
	for _, lb := range list {
		if lb.ProvisioningStatus != api.Deleted {
			kept = append(kept, WithoutParts(lb))
		}
	}
	return kept, err
}

func (s *Store) readLoadBalancer(ctx context.Context, id string) (api.LoadBalancer, error) {
	lb, err := s.api.GetLoadBalancer(ctx, id)
	if err == nil && lb.ProvisioningStatus == api.Deleted {
		err = &cloudapi.Error{Class: cloudapi.NotFound, Operation: "ShowLoadBalancer", Err: errors.New("it is deleted")}
	}
	return WithoutParts(lb), err
}

// WithoutParts returns a load balancer without the listeners and pools in it, which have tables of their own.
func WithoutParts(lb api.LoadBalancer) api.LoadBalancer {
	lb.Listeners, lb.Pools = nil, nil
	return lb
}

func indexLoadBalancer(lb api.LoadBalancer) []string {
	keys := []string{indexName + lb.Name}
	for _, tag := range names.Services(lb.Tags) {
		keys = append(keys, indexTag+tag)
	}
	return keys
}

func indexFloatingIP(f api.FloatingIP) []string {
	keys := []string{indexPort + f.PortID}
	if service, _, ok := names.ParseFloatingIPDescription(f.Description); ok {
		keys = append(keys, indexService+service)
	}
	return keys
}

// parentOfListener returns the ID of the load balancer that a listener is in.
func parentOfListener(l api.Listener) string {
	if len(l.Loadbalancers) == 0 {
		return ""
	}
	return l.Loadbalancers[0].ID
}

// parentOfPool returns the ID of the load balancer that a pool is in.
func parentOfPool(p api.Pool) string {
	if len(p.Loadbalancers) == 0 {
		return ""
	}
	return p.Loadbalancers[0].ID
}

// refresher is a table of any kind.
type refresher interface {
	Refresh(ctx context.Context) error
	Reread(ctx context.Context) error
}

// refresh reads the stale lists, in parallel.
func refresh(ctx context.Context, tables ...refresher) error {
	return runParallel(tables, func(t refresher) error { return t.Refresh(ctx) })
}

// reread reads lists again, in parallel: their results are as fresh as separate reads by the caller.
func reread(ctx context.Context, tables ...refresher) error {
	return runParallel(tables, func(t refresher) error { return t.Reread(ctx) })
}

func runParallel(tables []refresher, do func(refresher) error) error {
	var group panics.Group
	for _, t := range tables {
		group.Go(func() error { return do(t) })
	}
	return group.Wait()
}

// LoadBalancer returns the cached load balancer.
func (s *Store) LoadBalancer(id string) (api.LoadBalancer, bool) { return s.LoadBalancers.Get(id) }

// FloatingIPsAt returns the IDs of the floating IPs of a port.
func (s *Store) FloatingIPsAt(port string) []string {
	var ids []string
	for _, f := range s.FloatingIPs.Lookup(indexPort + port) {
		ids = append(ids, f.ID)
	}
	return ids
}

// AddressAt returns the address of the load balancer with a port; "" if it is not known, or not an IPv4 address.
func (s *Store) AddressAt(port string) string {
	for _, lb := range s.LoadBalancers.All() {
		if lb.VipPortID == port && model.FamilyOf(lb.VipAddress) == v1.IPv4Protocol {
			return lb.VipAddress
		}
	}
	return ""
}

// Begin starts a read of load balancers that MergeLoadBalancer ends.
func (s *Store) Begin() snapshot.Reading { return s.state.Begin() }

// MergeLoadBalancer stores a load balancer that was read.
func (s *Store) MergeLoadBalancer(r snapshot.Reading, lb api.LoadBalancer) {
	s.LoadBalancers.Merge(r, lb.ID, WithoutParts(lb))
}

// MarkUncertain makes the next observation of a Service a read: a write failed, and its outcome is unknown.
func (s *Store) MarkUncertain(key Key) { s.state.MarkUncertain(key.subject()) }

// MarkWritten records a successful change by this manager.
func (s *Store) MarkWritten(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	maps.DeleteFunc(s.writtenAt, func(_ string, at time.Time) bool { return now.Sub(at) >= ListAge })
	s.writtenAt[key.subject()] = now
}

// isComplete reports whether this manager changed a Service recently: then no list can show more of it.
func (s *Store) isComplete(key Key) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.writtenAt[key.subject()]
	return ok && s.clock.Since(at) < ListAge && !s.state.IsUncertain(key.subject())
}

// isResolved reports whether the load balancer of an ID is known.
func (s *Store) isResolved(id string) bool {
	_, ok := s.LoadBalancers.Get(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	return ok || s.denied.has(id) || s.deleted.has(id)
}

// justRead reports whether this Service, or the lists of the project, were read just now.
func (s *Store) justRead(key Key, d Depth) bool {
	if s.state.IsUncertain(key.subject()) {
		return false
	}
	s.mu.Lock()
	last, ok := s.reads[key.subject()]
	s.mu.Unlock()
	if ok && s.clock.Since(last.at) < confirmAge && (last.members || !d.Members) && (last.groups || !d.Groups) {
		return true
	}
	return isFresh(s, s.LoadBalancers) && isFresh(s, s.FloatingIPs) && (!d.Groups || isFresh(s, s.Groups)) &&
		s.isAbsent(key)
}

func isFresh[T any](s *Store, t *snapshot.Table[T]) bool {
	last, usable := t.Listed()
	return usable && s.clock.Since(last.At()) < confirmAge
}

// isAbsent reports whether a Service has no load balancer: lists prove that, while the settings of an
// existing one are read in full.
func (s *Store) isAbsent(key Key) bool {
	return key.Named == "" && len(s.lookupNames(key)) == 0 && len(s.LoadBalancers.Lookup(indexTag+key.LoadBalancer())) == 0
}

// lookupNames returns the load balancers with the current or earlier name of a Service's.
func (s *Store) lookupNames(key Key) []api.LoadBalancer {
	found := s.LoadBalancers.Lookup(indexName + key.LoadBalancer())
	if key.UID != "" {
		found = append(found, s.LoadBalancers.Lookup(indexName+names.LegacyLoadBalancer(key.UID))...)
	}
	return found
}

// readNamed reads a load balancer that a Service names and that is in no list.
func (s *Store) readNamed(ctx context.Context, id string) error {
	_, exists, err := s.LoadBalancers.Read(ctx, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied.remove(id)
	s.deleted.remove(id)
	switch {
	case cloudapi.Is(err, cloudapi.Denied):
		s.denied.add(id)
		return nil
	case err == nil && !exists:
		s.deleted.add(id)
	}
	return err
}
