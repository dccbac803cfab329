package loadbalancer

import (
	"context"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// neededFinalizers returns the finalizers of a Service with these objects.
func (c *Controller) neededFinalizers(t target, have any) []string {
	if c.finalizers == nil {
		return nil
	}
	return c.finalizers.Finalizers(t.want, have)
}

// addFinalizers adds the finalizers that a Service needs, before its first change. Those of existing objects are added,
// too: a Service that was taken over may lack them.
func (c *Controller) addFinalizers(ctx context.Context, t target, have any) error {
	if t.service.DeletionTimestamp != nil {
		return nil // The API server accepts no more of them.
	}
	written := c.states.of(t.service.UID).finalizers
	var missing []string
	for _, name := range c.neededFinalizers(t, have) {
		has, known := written[name]
		if !slices.Contains(t.service.Finalizers, name) || known && !has {
			missing = append(missing, name)
		}
	}
	return c.setFinalizers(ctx, t.service, missing, nil)
}

// dropFinalizers removes the cloud's finalizers that a Service does not need anymore, after its last change.
func (c *Controller) dropFinalizers(ctx context.Context, service *v1.Service, needed []string) error {
	if c.finalizers == nil {
		return nil
	}
	var unneeded []string
	for _, name := range c.ownFinalizers(service) {
		if !slices.Contains(needed, name) {
			unneeded = append(unneeded, name)
		}
	}
	return c.setFinalizers(ctx, service, nil, unneeded)
}

// hasFinalizers reports whether a Service has finalizers of the cloud, which a deletion has to remove.
func (c *Controller) hasFinalizers(service *v1.Service) bool {
	return c.finalizers != nil && c.canSetFinalizers() && len(c.ownFinalizers(service)) > 0
}

// ownFinalizers returns the cloud's finalizers that a Service has, or that this process has given it: the Service may
// be older than that. They are sorted.
func (c *Controller) ownFinalizers(service *v1.Service) []string {
	all := slices.DeleteFunc(slices.Clone(service.Finalizers), func(name string) bool {
		return !c.finalizers.OwnsFinalizer(name)
	})
	for name, has := range c.states.of(service.UID).finalizers {
		if has && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func (c *Controller) canSetFinalizers() bool {
	r := c.runtime.Load()
	return r != nil && r.SetFinalizers != nil
}

// setFinalizers adds and removes finalizers of a Service.
func (c *Controller) setFinalizers(ctx context.Context, service *v1.Service, add, remove []string) error {
	if len(add)+len(remove) == 0 || !c.canSetFinalizers() {
		return nil
	}
	if err := c.runtime.Load().SetFinalizers(ctx, service, add, remove); err != nil {
		return fmt.Errorf("setting the finalizers of %s: %w", c.key("", service).Subject(), err)
	}
	c.states.setFinalizers(service.UID, add, remove)
	return nil
}

// setFinalizers stores the finalizers that were set and removed.
func (s *states) setFinalizers(uid types.UID, add, remove []string) {
	s.update(uid, func(state *serviceState) {
		all := maps.Clone(state.finalizers) // readers have the other map
		if all == nil {
			all = map[string]bool{}
		}
		for _, name := range add {
			all[name] = true
		}
		for _, name := range remove {
			all[name] = false
		}
		state.finalizers = all
	})
}
