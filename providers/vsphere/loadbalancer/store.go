package loadbalancer

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// snapshotAge is the max age for a list to count as fresh.
const snapshotAge = 30 * time.Second

// collection is the snapshot of the objects of one collection. All Services and clusters share it, because the API
// lists all objects of a manager at once.
type collection[T any, P api.NSXObject[T]] struct {
	api   api.NSXT
	path  string
	table *snapshot.Table[T]
	// deleted has the paths of deleted objects of all collections.
	deleted *deletions
	// writing serializes the writes of each object: each needs the revision of the one before.
	writing locks.KeyedMutex
}

func newCollection[T any, P api.NSXObject[T]](s *store, path string) *collection[T, P] {
	c := &collection[T, P]{api: s.api, path: path, deleted: s.deleted}
	c.table = snapshot.NewTable(s.state, snapshot.Kind[T]{
		ID: func(object T) string { return resourceOf(object).Path }, MaxAge: snapshotAge, List: c.list,
		Index: func(object T) []string { return []string{resourceOf(object).Tag(names.TagService)} },
	})
	return c
}

// resourceOf returns the fields that all objects have.
func resourceOf[T any](object T) api.Resource {
	return any(object).(interface{ Common() api.Resource }).Common()
}

func (c *collection[T, P]) list(ctx context.Context) ([]T, error) {
	return listAll[T, P](ctx, c.api, c.path)
}

// listAll reads the objects at a path, without keeping them.
func listAll[T any, P api.NSXObject[T]](ctx context.Context, client api.NSXT, path string) ([]T, error) {
	documents, err := client.List(ctx, path)
	if err != nil {
		return nil, err
	}
	out := make([]T, 0, len(documents))
	for _, document := range documents {
		object, err := api.ParseObject[T, P](document)
		if err != nil {
			return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: "List", Err: err}
		}
		out = append(out, object)
	}
	return out, nil
}

// refresh reads the list unless it is fresh; with reread set, in any case.
func (c *collection[T, P]) refresh(ctx context.Context, reread bool) error {
	if reread {
		return c.table.Reread(ctx)
	}
	return c.table.Refresh(ctx)
}

// lookup returns the objects with the tag of a Service, sorted by path.
func (c *collection[T, P]) lookup(service string) []T { return c.table.Lookup(service) }

// store is the snapshot of all objects of load balancers.
type store struct {
	api      api.NSXT
	state    *snapshot.Store
	deleted  *deletions
	services *collection[api.LBService, *api.LBService]
	servers  *collection[api.LBVirtualServer, *api.LBVirtualServer]
	pools    *collection[api.LBPool, *api.LBPool]
	monitors *collection[api.LBMonitor, *api.LBMonitor]
	groups   *collection[api.Group, *api.Group]

	// serviceLock is held while the load balancer service is created or deleted. serviceHolds counts the virtual servers
	// that are being created on it.
	serviceLock  locks.Mutex
	serviceHolds atomic.Int32

	mu sync.Mutex
	// byPool has the allocations of each pool that was read, by its ID.
	byPool map[string]*collection[api.IPAllocation, *api.IPAllocation]
	// addresses has the addresses of allocations, by path. They never change.
	addresses map[string]string
}

func newStore(client api.NSXT, c clock.PassiveClock) *store {
	s := &store{
		api: client, state: snapshot.NewStore(c), deleted: newDeletions(c),
		byPool: map[string]*collection[api.IPAllocation, *api.IPAllocation]{}, addresses: map[string]string{},
	}
	s.services = newCollection[api.LBService](s, api.LBServices)
	s.servers = newCollection[api.LBVirtualServer](s, api.LBVirtualServers)
	s.pools = newCollection[api.LBPool](s, api.LBPools)
	s.monitors = newCollection[api.LBMonitor](s, api.LBMonitors)
	s.groups = newCollection[api.Group](s, api.Groups)
	return s
}

// refresh reads all collections that are not fresh; with reread set, all.
func (s *store) refresh(ctx context.Context, reread bool) error {
	for _, refresh := range []func(context.Context, bool) error{
		s.services.refresh, s.servers.refresh, s.pools.refresh, s.monitors.refresh, s.groups.refresh,
	} {
		if err := refresh(ctx, reread); err != nil {
			return err
		}
	}
	return nil
}

// allocations returns the allocations of a pool.
func (s *store) allocations(pool string) *collection[api.IPAllocation, *api.IPAllocation] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byPool[pool] == nil {
		s.byPool[pool] = newCollection[api.IPAllocation](s, api.Allocations(pool))
	}
	return s.byPool[pool]
}

// allocationsOf returns the allocations of a Service in these pools, and in those that were read before.
func (s *store) allocationsOf(
	ctx context.Context, service string, pools []string, reread bool,
) ([]api.IPAllocation, error) {
	s.mu.Lock()
	for pool := range s.byPool {
		pools = append(pools, pool)
	}
	s.mu.Unlock()
	slices.Sort(pools)
	var out []api.IPAllocation
	for _, pool := range slices.Compact(pools) {
		c := s.allocations(pool)
		err := c.refresh(ctx, reread)
		if cloudapi.Is(err, cloudapi.NotFound) {
			continue // The pool was deleted.
		}
		if err != nil {
			return nil, err
		}
		for _, a := range c.lookup(service) {
			a.Pool = pool
			out = append(out, a)
		}
	}
	return out, nil
}

// addressOf returns the address of an allocation, "" while it has none. A chosen address counts only once it is
// realized: NSX-T accepts requests for addresses that another allocation has.
func (s *store) addressOf(ctx context.Context, a api.IPAllocation) (string, error) {
	s.mu.Lock()
	address := s.addresses[a.Path]
	s.mu.Unlock()
	if address != "" {
		return address, nil
	}
	address, err := s.api.AllocatedAddress(ctx, a.Path, a.AllocationIP)
	if err == nil && address != "" {
		s.recordAddress(a.Path, address)
	}
	return address, err
}

// usesService reports whether a virtual server uses a load balancer service.
func (s *store) usesService(path string) bool {
	for _, server := range s.servers.table.All() {
		if server.LBServicePath == path {
			return true
		}
	}
	return false
}

// recordAddress stores the address of an allocation; "" for a deleted one.
func (s *store) recordAddress(path, address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if address == "" {
		delete(s.addresses, path)
		return
	}
	s.addresses[path] = address
}
