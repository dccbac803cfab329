package aws

import (
	"context"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/pkg/common/snapshot"
)

// retryAfterFailure is how soon what could not be found out is tried again. Meanwhile all callers get
// the same error, since each try may take the whole time of a metadata service that does not answer.
const retryAfterFailure = 5 * time.Second

// newOnce returns a value that is made with the first call that needs it, and then stays.
func newOnce[T any](c clock.PassiveClock, build func(context.Context) (T, error)) *snapshot.Value[T] {
	return snapshot.NewValue(snapshot.ValueOptions[T]{Read: build, Clock: c, RetryAfter: retryAfterFailure})
}

// The types of this file hand calls on to parts, which are made with the first of them.

// lateInstances is an instance source whose cluster may not be known yet.
type lateInstances struct{ parts *snapshot.Value[*parts] }

var _ instances.Source = lateInstances{}

// List implements instances.Source.
func (l lateInstances) List(ctx context.Context) ([]instances.Instance, error) {
	p, err := l.parts.Get(ctx)
	if err != nil {
		return nil, err
	}
	return p.instances.List(ctx)
}

// Get implements instances.Source.
func (l lateInstances) Get(ctx context.Context, ids []string) ([]instances.Instance, error) {
	p, err := l.parts.Get(ctx)
	if err != nil {
		return nil, err
	}
	return p.instances.Get(ctx, ids)
}

// Find implements instances.Source.
func (l lateInstances) Find(ctx context.Context, nodeNames []string) ([]instances.Instance, error) {
	p, err := l.parts.Get(ctx)
	if err != nil {
		return nil, err
	}
	return p.instances.Find(ctx, nodeNames)
}

// lateRoutes is a route source whose cluster may not be known yet.
type lateRoutes struct{ parts *snapshot.Value[*parts] }

var _ routes.Source = lateRoutes{}

// List implements routes.Source.
func (l lateRoutes) List(ctx context.Context, clusterName string) ([]routes.Route, error) {
	p, err := l.parts.Get(ctx)
	if err != nil {
		return nil, err
	}
	return p.routes.List(ctx, clusterName)
}

// Create implements routes.Source.
func (l lateRoutes) Create(ctx context.Context, clusterName string, list []routes.Route) []error {
	p, err := l.parts.Get(ctx)
	if err != nil {
		return slices.Repeat([]error{err}, len(list))
	}
	return p.routes.Create(ctx, clusterName, list)
}

// Delete implements routes.Source.
func (l lateRoutes) Delete(ctx context.Context, clusterName string, list []routes.Route) []error {
	p, err := l.parts.Get(ctx)
	if err != nil {
		return slices.Repeat([]error{err}, len(list))
	}
	return p.routes.Delete(ctx, clusterName, list)
}
