package sim

import (
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// routeKey identifies a route uniquely.
func routeKey(cluster, destination string) string { return destination + " " + cluster }

// createRoute adds one route. An existing one with the same target is not an error, so that a call with a
// lost reply can be repeated.
func (t *tx) createRoute(r api.Route) error {
	if r.Cluster == "" {
		return invalid("route %s: cluster is missing", r.Destination)
	}
	if err := validName("route", r.Name); err != nil {
		return err
	}
	if err := checkCanonical(r.Destination); err != nil {
		return invalid("route destination %v", err)
	}
	if have := t.Routes[routeKey(r.Cluster, r.Destination)]; have != nil {
		if have.InstanceID == r.InstanceID {
			return nil
		}
		return refuse(api.CodeAlreadyExists, "route %s of cluster %s exists with target %s", r.Destination, r.Cluster,
			have.InstanceID)
	}
	if t.Instances[r.InstanceID] == nil {
		return invalid("route %s: target %q is not an instance of this cloud", r.Destination, r.InstanceID)
	}
	if err := t.withinQuota(quotaRoutes, 1); err != nil {
		return err
	}
	t.addRoute(r)
	return nil
}

func (t *tx) addRoute(r api.Route) {
	r.Blackhole = false // derived from the target
	t.Routes[routeKey(r.Cluster, r.Destination)] = &r
	t.markChanged()
}

// deleteRoute never deletes a route that a user created: it has no cluster, and no call can name it.
func (t *tx) deleteRoute(r api.Route) error {
	if r.Cluster == "" {
		return invalid("route %s: cluster is missing", r.Destination)
	}
	key := routeKey(r.Cluster, r.Destination)
	if t.Routes[key] == nil {
		return refuse(api.CodeNotFound, "route %s of cluster %s does not exist", r.Destination, r.Cluster)
	}
	delete(t.Routes, key)
	t.markChanged()
	return nil
}

// eachRoute returns one result per route: rejected routes do not affect the others.
func eachRoute(batch []api.Route, do func(api.Route) error) ([]api.RouteResult, error) {
	if len(batch) > api.RouteBatch {
		return nil, invalid("%d routes are more than the %d that one call takes", len(batch), api.RouteBatch)
	}
	out := make([]api.RouteResult, 0, len(batch))
	for _, r := range batch {
		result := api.RouteResult{Destination: r.Destination}
		if err := do(r); err != nil {
			body := refusalOf(err).body
			result.Error = &body
		}
		out = append(out, result)
	}
	return out, nil
}
