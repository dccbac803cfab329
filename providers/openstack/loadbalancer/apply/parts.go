package apply

import (
	"context"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// CreateListener creates a listener. The container of its certificate must be readable, and its allowed clients are
// those of the families of the load balancer.
func (w Writer) CreateListener(ctx context.Context, spec listeners.CreateOpts) error {
	if err := w.CheckContainer(ctx, spec.DefaultTlsContainerRef); err != nil {
		return err
	}
	families := []v1.IPFamily{}
	if lb, ok := w.store.LoadBalancer(spec.LoadbalancerID); ok {
		families = model.VIPFamilies(lb)
	}
	spec.AllowedCIDRs = model.FilterFamilies(spec.AllowedCIDRs, families)
	var created api.Listener
	return w.mutate(ctx, spec.LoadbalancerID, func(ctx context.Context) (err error) {
		created, err = w.API.CreateListener(ctx, spec)
		return err
	}, func() { w.store.Listeners.Put(created.ID, created) })
}

// UpdateListener changes settings of a listener. The container of a new certificate must be readable.
func (w Writer) UpdateListener(ctx context.Context, lb, id string, patch listeners.UpdateOpts) error {
	if ref := patch.DefaultTlsContainerRef; ref != nil {
		if err := w.CheckContainer(ctx, *ref); err != nil {
			return err
		}
	}
	var updated api.Listener
	return w.mutate(ctx, lb, func(ctx context.Context) (err error) {
		updated, err = w.API.UpdateListener(ctx, id, patch)
		return err
	}, func() { w.store.Listeners.Put(updated.ID, updated) })
}

// DeleteListener deletes a listener.
func (w Writer) DeleteListener(ctx context.Context, lb, id string) error {
	return w.mutate(ctx, lb, func(ctx context.Context) error {
		return cloudapi.IgnoreNotFound(w.API.DeleteListener(ctx, id))
	}, func() { w.store.Listeners.Delete(id) })
}

// CreatePool creates a pool without members, and returns its ID.
func (w Writer) CreatePool(ctx context.Context, spec pools.CreateOpts) (string, error) {
	var created api.Pool
	err := w.mutate(ctx, spec.LoadbalancerID, func(ctx context.Context) (err error) {
		created, err = w.API.CreatePool(ctx, spec)
		return err
	}, func() {
		w.store.Pools.Put(created.ID, created)
		w.store.Members.Put(created.ID, []api.Member{})
	})
	return created.ID, err
}

// UpdatePool changes settings of a pool. An algorithm that Octavia refuses is recorded, and the others are changed.
func (w Writer) UpdatePool(ctx context.Context, lb, id string, patch pools.UpdateOpts) error {
	var updated api.Pool
	err := w.mutate(ctx, lb, func(ctx context.Context) (err error) {
		updated, err = w.API.UpdatePool(ctx, id, patch)
		return err
	}, func() { w.store.Pools.Put(updated.ID, updated) })
	if patch.LBMethod == "" || !cloudapi.Is(err, cloudapi.Invalid) {
		return err
	}
	refused := string(patch.LBMethod)
	if patch.LBMethod = ""; patch.Persistence != nil || patch.Tags != nil {
		if err := w.UpdatePool(ctx, lb, id, patch); err != nil {
			return err // the algorithm is not the cause
		}
	}
	w.store.RefuseMethod(id, refused)
	return nil
}

// DeletePool deletes a pool with its members and health monitor.
func (w Writer) DeletePool(ctx context.Context, lb string, have observe.Pool) error {
	return w.mutate(ctx, lb, func(ctx context.Context) error {
		return cloudapi.IgnoreNotFound(w.API.DeletePool(ctx, have.ID))
	}, func() { w.store.DeletePool(have.ID, have.MonitorID) })
}

// CreateMonitor creates the health monitor of a pool.
func (w Writer) CreateMonitor(ctx context.Context, lb string, spec monitors.CreateOpts) error {
	var created api.HealthMonitor
	return w.mutate(ctx, lb, func(ctx context.Context) (err error) {
		created, err = w.API.CreateHealthMonitor(ctx, spec)
		return err
	}, func() {
		w.store.Monitors.Put(created.ID, created)
		w.store.SetMonitor(spec.PoolID, created.ID)
	})
}

// UpdateMonitor changes settings of a health monitor.
func (w Writer) UpdateMonitor(ctx context.Context, lb, id string, patch monitors.UpdateOpts) error {
	var updated api.HealthMonitor
	return w.mutate(ctx, lb, func(ctx context.Context) (err error) {
		updated, err = w.API.UpdateHealthMonitor(ctx, id, patch)
		return err
	}, func() { w.store.Monitors.Put(updated.ID, updated) })
}

// DeleteMonitor deletes the health monitor of a pool.
func (w Writer) DeleteMonitor(ctx context.Context, lb, pool, id string) error {
	return w.mutate(ctx, lb, func(ctx context.Context) error {
		return cloudapi.IgnoreNotFound(w.API.DeleteHealthMonitor(ctx, id))
	}, func() {
		w.store.Monitors.Delete(id)
		w.store.SetMonitor(pool, "")
	})
}
