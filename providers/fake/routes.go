package fake

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// routeSource answers package routes out of the region's route table.
type routeSource struct{ api api.RouteAPI }

var _ routes.Source = (*routeSource)(nil)

// List implements routes.Source. A route is ours if it carries the cluster's name, which the
// cloud stores beside it.
func (s *routeSource) List(ctx context.Context, clusterName string) ([]routes.Route, error) {
	found, err := s.api.ListRoutes(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]routes.Route, 0, len(found))
	for _, r := range found {
		out = append(out, routes.Route{
			Name:        r.Name,
			Destination: r.Destination,
			InstanceID:  r.InstanceID,
			Blackhole:   r.Blackhole,
			Owned:       r.Cluster == clusterName && clusterName != "",
		})
	}
	return out, nil
}

// Create implements routes.Source.
func (s *routeSource) Create(ctx context.Context, clusterName string, list []routes.Route) []error {
	return inBatches(ctx, "CreateRoutes", clusterName, list, s.api.CreateRoutes)
}

// Delete implements routes.Source. The cloud finds the route by cluster and destination, so that
// a route of somebody else to the same destination is safe.
func (s *routeSource) Delete(ctx context.Context, clusterName string, list []routes.Route) []error {
	errs := inBatches(ctx, "DeleteRoutes", clusterName, list, s.api.DeleteRoutes)
	for i, err := range errs {
		if cloudapi.Is(err, cloudapi.NotFound) {
			errs[i] = nil
		}
	}
	return errs
}

// inBatches makes as few calls as the cloud allows, and returns one error for each route. A call
// that fails is the error of all its routes.
func inBatches(ctx context.Context, operation, clusterName string, list []routes.Route, call func(context.Context, []api.Route) ([]api.RouteResult, error)) []error {
	errs := make([]error, 0, len(list))
	for chunk := range slices.Chunk(list, api.RouteBatch) {
		batch := make([]api.Route, len(chunk))
		for i, r := range chunk {
			batch[i] = api.Route{
				Name:        routeName(clusterName, r.Destination),
				Cluster:     clusterName,
				Destination: r.Destination,
				InstanceID:  r.InstanceID,
			}
		}
		results, err := call(ctx, batch)
		if err == nil && len(results) != len(batch) {
			err = &cloudapi.Error{Class: cloudapi.Unknown, Operation: operation,
				Err: fmt.Errorf("the cloud answered %d results for %d routes", len(results), len(batch))}
		}
		for i := range batch {
			if err != nil {
				errs = append(errs, err)
				continue
			}
			errs = append(errs, resultError(operation, results[i]))
		}
	}
	return errs
}

func resultError(operation string, result api.RouteResult) error {
	if result.Error == nil {
		return nil
	}
	class := classOfCode(result.Error.Code)
	if class == "" {
		class = cloudapi.Unknown
	}
	return &cloudapi.Error{Class: class, Operation: operation, Err: errors.New(result.Error.Message)}
}
