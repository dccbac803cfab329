package aws

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
)

// The types of this file hand calls on to parts, which are made with the first of them.

// lateInstances is an instance source whose cluster may not be known yet.
type lateInstances struct{ parts *lazy[*parts] }

var _ instances.Source = lateInstances{}

// List implements instances.Source.
func (l lateInstances) List(ctx context.Context) ([]instances.Instance, error) {
	p, err := l.parts.get(ctx)
	if err != nil {
		return nil, err
	}
	return p.instances.List(ctx)
}

// Get implements instances.Source.
func (l lateInstances) Get(ctx context.Context, ids []string) ([]instances.Instance, error) {
	p, err := l.parts.get(ctx)
	if err != nil {
		return nil, err
	}
	return p.instances.Get(ctx, ids)
}

// Find implements instances.Source.
func (l lateInstances) Find(ctx context.Context, nodeNames []string) ([]instances.Instance, error) {
	p, err := l.parts.get(ctx)
	if err != nil {
		return nil, err
	}
	return p.instances.Find(ctx, nodeNames)
}

// lateRoutes is a route source whose cluster may not be known yet.
type lateRoutes struct{ parts *lazy[*parts] }

var _ routes.Source = lateRoutes{}

// List implements routes.Source.
func (l lateRoutes) List(ctx context.Context, clusterName string) ([]routes.Route, error) {
	p, err := l.parts.get(ctx)
	if err != nil {
		return nil, err
	}
	return p.routes.List(ctx, clusterName)
}

// Create implements routes.Source.
func (l lateRoutes) Create(ctx context.Context, clusterName string, list []routes.Route) []error {
	p, err := l.parts.get(ctx)
	if err != nil {
		return same(err, len(list))
	}
	return p.routes.Create(ctx, clusterName, list)
}

// Delete implements routes.Source.
func (l lateRoutes) Delete(ctx context.Context, clusterName string, list []routes.Route) []error {
	p, err := l.parts.get(ctx)
	if err != nil {
		return same(err, len(list))
	}
	return p.routes.Delete(ctx, clusterName, list)
}
