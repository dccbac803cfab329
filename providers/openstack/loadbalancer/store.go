package loadbalancer

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

const (
	// listAge is how old a list of the whole project may be. It has to span a burst, a restart that looks
	// at every Service within seconds, and the making of a load balancer, which takes about a minute and
	// after which the framework looks at the Service again. Beyond that it is how long a change made by
	// hand may stay unnoticed by a reconcile that happens anyway.
	listAge = 2 * time.Minute
	// objectAge is how old may be what is read for each pool alone. An audit reads it this often.
	objectAge = 30 * time.Minute
	// readNow is how old a read may be that counts as one made now: the decision that follows from it
	// takes longer to reach the cloud than this.
	readNow = time.Second
)

// kind names a list of the project.
type kind string

const (
	listBalancers   kind = "load balancers"
	listListeners   kind = "listeners"
	listPools       kind = "pools"
	listMonitors    kind = "health monitors"
	listFloatingIPs kind = "floating IPs"
	listGroups      kind = "security groups"
	listPorts       kind = "ports"
)

// memberList is what is known of one pool's members.
type memberList struct {
	list      []api.Member
	readAt    time.Time
	writtenAt uint64
}

// store is the snapshot that all Services share: one list serves everybody until it is too old, and
// our own writes keep it true in the meantime. It is never the truth: the caller confirms with an
// authoritative read before it creates or deletes anything.
type store struct {
	api   API
	clock clock.PassiveClock

	mu        sync.Mutex
	writes    uint64
	lists     map[kind]*lister
	balancers table[api.LoadBalancer]
	listeners table[api.Listener]
	pools     table[api.Pool]
	monitors  table[api.HealthMonitor]
	fips      table[api.FloatingIP]
	ports     table[api.Port]
	groups    table[api.SecurityGroup]
	members   map[string]memberList
	// promised are the health monitors that creations asked for, by the IDs of pools that were not read since.
	promised map[string]api.HealthMonitor
	// doubts are Services of which a write failed in a way that leaves open what was done, and load
	// balancers whose children are not known.
	doubts map[string]bool
	// refused are load balancers that we may not look at; gone ones do not exist.
	refused, gone map[string]bool
	// looked is when each Service was read.
	looked map[string]lookedAt
	// wrote is when each Service was last changed by us, which is only done when all of it is known.
	wrote map[string]time.Time
}

// lookedAt is when a Service was read, and with the count of writes then.
type lookedAt struct {
	at      time.Time
	members bool
	groups  bool
}

func newStore(client API, c clock.PassiveClock) *store {
	return &store{
		api: client, clock: c,
		lists: map[kind]*lister{}, members: map[string]memberList{}, promised: map[string]api.HealthMonitor{},
		doubts: map[string]bool{}, refused: map[string]bool{}, gone: map[string]bool{}, looked: map[string]lookedAt{}, wrote: map[string]time.Time{},
	}
}

func subject(key serviceKey) string { return key.Namespace + "/" + key.Name }

// mark is the count of writes now.
func (s *store) mark() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// write changes what is known, after a write of ours.
func (s *store) write(change func(write uint64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	change(s.writes)
}

// saw takes a load balancer that was read.
func (s *store) saw(lb api.LoadBalancer, before uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.balancers.saw(lb.ID, lb, before)
}

// doubt makes the next look at a Service a read: a write failed, and nobody knows how far it got.
func (s *store) doubt(key serviceKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubts[subject(key)] = true
}

func (s *store) doubtful(key serviceKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doubts[subject(key)]
}

// known says whether a Service was changed by us lately, so that no list can tell more of it.
func (s *store) known(key serviceKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.wrote[subject(key)]
	return ok && s.clock.Now().Sub(at) < listAge && !s.doubts[subject(key)]
}

// touched notes a change of ours that succeeded.
func (s *store) touched(key serviceKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote[subject(key)] = s.clock.Now()
}

func (s *store) knows(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.balancers.get(id)
	return ok || s.refused[id] || s.gone[id]
}

// justRead says whether the project's lists, or a read of this Service, were made just now.
func (s *store) justRead(key serviceKey, d depth) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if s.doubts[subject(key)] {
		return false
	}
	if l, ok := s.looked[subject(key)]; ok && now.Sub(l.at) < readNow && (l.members || !d.members) && (l.groups || !d.groups) {
		return true
	}
	return s.listed(now, d) && s.nothingOf(key)
}

// listed says whether the lists that a Service needs were read just now. The lock is held.
func (s *store) listed(now time.Time, d depth) bool {
	return s.balancers.fresh(now, readNow) && s.fips.fresh(now, readNow) && (!d.groups || s.groups.fresh(now, readNow))
}

// nothingOf says whether a Service has no load balancer: lists say that for certain, while how one is
// set is read in full. The lock is held.
func (s *store) nothingOf(key serviceKey) bool {
	if key.named != "" {
		return false
	}
	name := names.LoadBalancer(key.ClusterName, serviceOf(key.Key))
	mine := s.balancers.all(func(lb api.LoadBalancer) bool {
		return lb.Name == name || lb.Name == names.LegacyLoadBalancer(key.UID) || slices.Contains(lb.Tags, name)
	})
	return len(mine) == 0
}

// lister reads one list for everybody.
type lister struct {
	locks.Mutex
	// begun counts the readings; last is the number of the latest that succeeded.
	begun, last uint64
}

// refresh reads the lists that are too old, side by side. Callers that come while one is reading wait for it.
func (s *store) refresh(ctx context.Context, kinds ...kind) error {
	return forEachKind(kinds, func(k kind) error {
		return s.share(ctx, k, func(*lister) bool {
			readAt := s.readAt(k)
			return !readAt.IsZero() && readAt.Add(listAge).After(s.clock.Now())
		})
	})
}

// join reads lists anew, each together with everybody else who asks for it before it is asked for: what
// they say is as true as if the caller had read them alone.
func (s *store) join(ctx context.Context, kinds ...kind) error {
	s.mu.Lock()
	before := map[kind]uint64{}
	for _, k := range kinds {
		before[k] = s.lister(k).begun
	}
	s.mu.Unlock()
	return forEachKind(kinds, func(k kind) error {
		return s.share(ctx, k, func(l *lister) bool { return l.last > before[k] })
	})
}

// forEachKind calls do for all kinds at once and returns the first error.
func forEachKind(kinds []kind, do func(kind) error) error {
	var reads errgroup.Group
	for _, k := range kinds {
		reads.Go(func() error { return do(k) })
	}
	return reads.Wait()
}

// share reads a list when it is the caller's turn, unless it will do by then.
func (s *store) share(ctx context.Context, k kind, does func(*lister) bool) error {
	s.mu.Lock()
	l := s.lister(k)
	s.mu.Unlock()
	done, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	defer done()
	s.mu.Lock()
	if does(l) {
		s.mu.Unlock()
		return nil
	}
	l.begun++
	number, now := l.begun, reading{before: s.writes, at: s.clock.Now()}
	s.mu.Unlock()
	if err := s.list(ctx, k, now); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l.last = number
	return nil
}

// lister returns the one of a list. The lock is held.
func (s *store) lister(k kind) *lister {
	l, ok := s.lists[k]
	if !ok {
		l = &lister{}
		s.lists[k] = l
	}
	return l
}

// readAt is when a list was read. The lock is held.
func (s *store) readAt(k kind) time.Time {
	switch k {
	case listBalancers:
		return s.balancers.readAt
	case listListeners:
		return s.listeners.readAt
	case listPools:
		return s.pools.readAt
	case listMonitors:
		return s.monitors.readAt
	case listFloatingIPs:
		return s.fips.readAt
	case listGroups:
		return s.groups.readAt
	default:
		return s.ports.readAt
	}
}

// reading is when a list was asked for, and the count of writes then.
type reading struct {
	before uint64
	at     time.Time
}

// list reads a list of the whole project.
func (s *store) list(ctx context.Context, k kind, r reading) error {
	switch k {
	case listBalancers:
		list, err := s.api.ListLoadBalancers(ctx)
		list = slices.DeleteFunc(list, func(lb api.LoadBalancer) bool { return lb.ProvisioningStatus == api.Deleted })
		return fill(s, &s.balancers, list, err, balancerID, r)
	case listListeners:
		list, err := s.api.ListListeners(ctx, "")
		return fill(s, &s.listeners, list, err, listenerID, r)
	case listPools:
		list, err := s.api.ListPools(ctx, "")
		return fill(s, &s.pools, list, err, poolID, r)
	case listMonitors:
		list, err := s.api.ListHealthMonitors(ctx)
		return fill(s, &s.monitors, list, err, monitorID, r)
	case listFloatingIPs:
		list, err := s.api.ListFloatingIPs(ctx, "")
		return fill(s, &s.fips, list, err, floatingIPID, r)
	case listGroups:
		list, err := s.api.ListSecurityGroups(ctx, "")
		return fill(s, &s.groups, list, err, groupID, r)
	default:
		list, err := s.api.ListPorts(ctx, api.PortFilter{})
		return fill(s, &s.ports, list, err, portID, r)
	}
}

func fill[T any](s *store, t *table[T], list []T, err error, id func(T) string, r reading) error {
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.fill(list, id, r.before, r.at)
	return nil
}

func balancerID(lb api.LoadBalancer) string { return lb.ID }
func listenerID(l api.Listener) string      { return l.ID }
func poolID(p api.Pool) string              { return p.ID }
func monitorID(m api.HealthMonitor) string  { return m.ID }
func floatingIPID(f api.FloatingIP) string  { return f.ID }
func groupID(g api.SecurityGroup) string    { return g.ID }
func portID(p api.Port) string              { return p.ID }

// readNamed reads a load balancer that a Service names and that is in no list.
func (s *store) readNamed(ctx context.Context, id string) error {
	before := s.mark()
	lb, err := s.api.GetLoadBalancer(ctx, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.refused, id)
	delete(s.gone, id)
	switch {
	case cloudapi.Is(err, cloudapi.NotFound), err == nil && lb.ProvisioningStatus == api.Deleted:
		s.gone[id] = true
		if r, ok := s.balancers.rows[id]; ok && r.writtenAt <= before {
			delete(s.balancers.rows, id)
		}
		return nil
	case cloudapi.Is(err, cloudapi.Denied):
		s.refused[id] = true
		return nil
	case err != nil:
		return err
	}
	s.balancers.saw(id, lb, before)
	return nil
}
