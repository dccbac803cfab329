// Package routes implements the routes of the framework's route controller with the region's route table.
package routes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	common "github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
	"github.com/unified-ccm/unified-ccm/providers/fake/client"
	"github.com/unified-ccm/unified-ccm/providers/fake/names"
)

// Source implements the Source of package routes with the region's route table.
type Source struct{ API api.RouteAPI }

var _ common.Source = (*Source)(nil)

// List implements common.Source. A route is ours if it has the cluster's name, which the cloud stores with
// it.
func (s *Source) List(ctx context.Context, clusterName string) ([]common.Route, error) {
	found, err := s.API.ListRoutes(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]common.Route, 0, len(found))
	for _, r := range found {
		out = append(out, common.Route{
			Name:        r.Name,
			Destination: r.Destination,
			InstanceID:  r.InstanceID,
			Blackhole:   r.Blackhole,
			Owned:       r.Cluster == clusterName && clusterName != "",
		})
	}
	return out, nil
}

// Create implements common.Source.
func (s *Source) Create(ctx context.Context, clusterName string, list []common.Route) []error {
	return inBatches(ctx, "CreateRoutes", clusterName, list, s.API.CreateRoutes)
}

// Delete implements common.Source. The cloud finds the route by cluster and destination, so that
// a route of another cluster to the same destination is safe.
func (s *Source) Delete(ctx context.Context, clusterName string, list []common.Route) []error {
	errs := inBatches(ctx, "DeleteRoutes", clusterName, list, s.API.DeleteRoutes)
	for i, err := range errs {
		if cloudapi.Is(err, cloudapi.NotFound) {
			errs[i] = nil
		}
	}
	return errs
}

// inBatches makes as few calls as the cloud allows, and returns one error for each route. The error of a
// failed call applies to all its routes.
func inBatches(ctx context.Context, operation, clusterName string, list []common.Route,
	call func(context.Context, []api.Route) ([]api.RouteResult, error)) []error {
	errs := make([]error, 0, len(list))
	for chunk := range slices.Chunk(list, api.RouteBatch) {
		batch := make([]api.Route, len(chunk))
		for i, r := range chunk {
			batch[i] = api.Route{
				Name:        names.Route(clusterName, r.Destination),
				Cluster:     clusterName,
				Destination: r.Destination,
				InstanceID:  r.InstanceID,
			}
		}
		results, err := call(ctx, batch)
		if err == nil && len(results) != len(batch) {
			err = &cloudapi.Error{Class: cloudapi.Unknown, Operation: operation,
				Err: fmt.Errorf("the cloud returned %d results for %d routes", len(results), len(batch))}
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
	class := client.ClassOfCode(result.Error.Code)
	if class == "" {
		class = cloudapi.Unknown
	}
	return &cloudapi.Error{Class: class, Operation: operation, Err: errors.New(result.Error.Message)}
}
