package loadbalancer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

const (
	// allocationPoll is the interval of polls for the address of an allocation, which takes a few seconds.
	allocationPoll = time.Second
	// allocationTimeout bounds them.
	allocationTimeout = 30 * time.Second
	// serviceAttempts bounds the IDs that are tried for a load balancer service.
	serviceAttempts = 10
)

var errDeleted = errors.New("the object was deleted in the meantime")

// put creates or replaces an object, and returns it as it is then.
func (c *collection[T, P]) put(ctx context.Context, path string, object T) (T, error) {
	document, err := api.EncodeObject[T, P](object)
	if err != nil {
		return object, err
	}
	reply, err := c.api.Put(ctx, path, document)
	if err == nil {
		object, err = api.ParseObject[T, P](reply)
	}
	if err != nil {
		if errors.Is(err, api.ErrMarkedForDeletion) {
			c.deleted.record(path) // The next plan has another path.
		}
		// The outcome may be unknown, or the revision was stale.
		c.table.Invalidate()
		return object, err
	}
	c.table.Put(path, object)
	return object, nil
}

// update changes an object as it is now.
func (c *collection[T, P]) update(ctx context.Context, path string, change func(*T)) error {
	unlock, err := c.writing.Lock(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()
	object, exists := c.table.Get(path)
	if !exists {
		c.table.Invalidate()
		return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "PUT " + path, Err: errDeleted}
	}
	change(&object)
	_, err = c.put(ctx, path, object)
	return err
}

// remove deletes an object.
func (c *collection[T, P]) remove(ctx context.Context, path string) error {
	if err := cloudapi.IgnoreNotFound(c.api.Delete(ctx, path)); err != nil {
		c.table.Invalidate()
		return err
	}
	c.table.Delete(path)
	c.deleted.record(path)
	return nil
}

// writer makes the changes of one Service, and records them in the snapshot.
type writer struct {
	*reader
	clock clock.Clock
	owner owner
}

// createService creates the load balancer service of the cluster.
func (w writer) createService(ctx context.Context) (api.LBService, error) {
	cluster := cmp.Or(w.owner.key.ClusterUID, w.owner.key.ClusterName)
	var err error
	for range serviceAttempts {
		path := freePath(w.store.deleted.paths(), api.LBServices, cluster, partService, w.config.Tier1Path)
		var created api.LBService
		created, err = w.store.services.put(ctx, path, newService(w.config, w.owner))
		if !errors.Is(err, api.ErrMarkedForDeletion) {
			return created, err
		}
	}
	return api.LBService{}, err
}

// newService returns the load balancer service of the cluster, as it is created.
func newService(cfg config.LoadBalancing, o owner) api.LBService {
	want := api.LBService{Size: cfg.Size, Enabled: true, ConnectivityPath: cfg.Tier1Path}
	want.DisplayName = names.ClusterDisplay(o.key.ClusterName)
	tags := o.tags(nil)
	delete(tags, names.TagService)
	want.Tags = setTags(nil, tags)
	return want
}

// holdService returns the path of the load balancer service, which is not deleted before release is called. It creates
// the service if there is none: the deletion of another Service may have deleted it since the plan.
func (w writer) holdService(ctx context.Context) (path string, release func(), err error) {
	unlock, err := w.store.serviceLock.Lock(ctx)
	if err != nil {
		return "", nil, err
	}
	defer unlock()
	service, err := w.service()
	if err != nil {
		return "", nil, err
	}
	if service == nil {
		created, err := w.createService(ctx)
		if err != nil {
			return "", nil, err
		}
		service = &created
	}
	w.store.serviceHolds.Add(1)
	return service.Path, func() { w.store.serviceHolds.Add(-1) }, nil
}

// deleteService deletes the load balancer service. It stays if another Service uses it now, or is about to.
func (w writer) deleteService(ctx context.Context, path string) error {
	unlock, err := w.store.serviceLock.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if w.store.serviceHolds.Load() > 0 || w.store.usesService(path) {
		return nil
	}
	err = w.store.services.remove(ctx, path)
	if !cloudapi.Is(err, cloudapi.Conflict) {
		return err
	}
	// Another cluster or a user may have created a virtual server since the list.
	if listErr := w.store.servers.refresh(ctx, true); listErr != nil {
		return listErr
	}
	if w.store.usesService(path) {
		return nil
	}
	return err
}

// awaitAddress polls until an allocation of a pool has an address. ip is the address that the Service chooses; "" for
// none.
func (w writer) awaitAddress(ctx context.Context, pool, ip, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, allocationTimeout)
	defer cancel()
	for {
		address, err := w.store.addressOf(ctx, api.IPAllocation{Resource: api.Resource{Path: path}, AllocationIP: ip})
		if err != nil {
			return "", err
		}
		if address != "" {
			return address, nil
		}
		if err := clocks.Sleep(ctx, w.clock, allocationPoll); err != nil {
			return "", fmt.Errorf("the pool %s has not allocated an address yet: %w", pool, err)
		}
	}
}

// checkChoice returns an error if the Service chooses an address that a virtual server of others on the load balancer
// service has. It may have no allocation, so that the pool does not know that the address is in use.
func (w writer) checkChoice(address string) error {
	service, err := w.service()
	if err != nil || service == nil || address == "" {
		return err
	}
	for _, v := range w.store.servers.table.All() {
		if v.IPAddress == address && v.LBServicePath == service.Path && !w.owner.mayOwn(v.Resource) {
			return &cloudapi.Error{Class: cloudapi.Quota, Operation: "PUT ip-allocations", Err: fmt.Errorf("%w: the Service "+
				"chooses %s, which virtual server %s has; choose another one in spec.loadBalancerIP or %s", api.ErrNotAllocated,
				address, v.DisplayName, intent.KeyStaticAddresses)}
		}
	}
	return nil
}

// deleteAllocation returns an address to its pool.
func (w writer) deleteAllocation(ctx context.Context, pool, path string) error {
	err := w.store.allocations(pool).remove(ctx, path)
	if err == nil {
		w.store.recordAddress(path, "")
	}
	return err
}
