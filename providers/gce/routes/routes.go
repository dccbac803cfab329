// Package routes implements the routes to the pods of nodes with routes of the network.
package routes

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/panics"
	common "github.com/unified-ccm/unified-ccm/pkg/common/routes"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

const (
	// priority is that of the routes of earlier managers.
	priority = 1000
	// parallel is the number of concurrent changes: each is a call of its own.
	parallel = 16
)

// nodeUID matches the UID of a node in the name of a route, which the second family of a node cuts.
var nodeUID = regexp.MustCompile(`\A[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{3,12}(-v6)?\z`)

// Source implements common.Source with the routes of the network.
type Source struct{ API api.API }

var _ common.Source = (*Source)(nil)

// List implements common.Source. A route is ours if it has the description and exactly the name that this manager
// gives: the name of another cluster can begin with that of this one.
func (s *Source) List(ctx context.Context, clusterName string) ([]common.Route, error) {
	e, err := s.API.Environment(ctx)
	if err != nil {
		return nil, err
	}
	documents, err := s.API.List(ctx, api.RoutesList, api.Target{}, nil)
	if err != nil {
		return nil, err
	}
	found, err := api.ParseAll[api.Route](documents)
	if err != nil {
		return nil, &cloudapi.Error{Class: cloudapi.Unknown, Operation: api.RoutesList.String(), Err: err}
	}
	var out []common.Route
	for _, r := range found {
		destination, err := netip.ParsePrefix(r.DestRange)
		if err != nil || api.Last(r.Network) != api.Last(e.Network) {
			continue
		}
		route := common.Route{Name: r.Name, Destination: destination.Masked().String(), Owned: owns(clusterName, r)}
		route.Created, _ = time.Parse(time.RFC3339, r.Created) // Without a date, an audit keeps it.
		if r.NextHopInstance != "" {
			route.InstanceID = api.InstanceID(r.NextHopInstance)
		}
		out = append(out, route)
	}
	return out, nil
}

// owns reports whether a route was created for a node of a cluster.
func owns(clusterName string, r api.Route) bool {
	uid, ok := strings.CutPrefix(r.Name, names.RoutePrefix(clusterName))
	return ok && clusterName != "" && r.Description == names.RouteDescription && nodeUID.MatchString(uid)
}

// Create implements common.Source.
func (s *Source) Create(ctx context.Context, clusterName string, list []common.Route) []error {
	e, err := s.API.Environment(ctx)
	return each(list, err, func(r common.Route) error { return s.create(ctx, e, clusterName, r) })
}

// create creates a route. One with the name counts as created only if it is the same.
func (s *Source) create(ctx context.Context, e api.Environment, clusterName string, r common.Route) error {
	zone, name := names.SplitInstanceID(r.InstanceID)
	rank := int64(priority)
	want := api.Route{
		Network: e.Network, DestRange: r.Destination, Priority: &rank,
		NextHopInstance: s.API.Link(e, api.InstancesGet, api.Target{Zone: zone, Name: name}),
	}
	want.Name = names.Route(clusterName, r.Name, strings.Contains(r.Destination, ":"))
	want.Description = names.RouteDescription
	err := s.API.Change(ctx, api.RoutesInsert, api.Target{}, want)
	if !cloudapi.Is(err, cloudapi.AlreadyExists) {
		return err
	}
	existing, listErr := s.List(ctx, clusterName)
	if listErr != nil {
		return fmt.Errorf("%w; reading it failed: %w", err, listErr)
	}
	for _, other := range existing {
		if other.Name == want.Name && other.Destination == r.Destination && other.InstanceID == r.InstanceID {
			return nil
		}
	}
	return err
}

// Delete implements common.Source.
func (s *Source) Delete(ctx context.Context, _ string, list []common.Route) []error {
	return each(list, nil, func(r common.Route) error {
		return cloudapi.IgnoreNotFound(s.API.Change(ctx, api.RoutesDelete, api.Target{Name: r.Name}, nil))
	})
}

// each calls a function for each route, several at a time.
func each(list []common.Route, err error, call func(common.Route) error) []error {
	errs := make([]error, len(list))
	var calls panics.Group
	calls.SetLimit(parallel)
	for i, r := range list {
		if errs[i] = err; err != nil {
			continue
		}
		calls.Go(func() error { errs[i] = call(r); return nil })
	}
	_ = calls.Wait() // Each route has its own error.
	return errs
}
