package routes

import (
	"context"
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// apply runs one batch: deletions first, because the framework deletes a route and creates another to the same
// destination concurrently.
func (r *Routes) apply(ctx context.Context, ops []operation) (map[operation]error, error) {
	index, err := r.index()
	if err != nil {
		return nil, err
	}
	results := make(map[operation]error, len(ops))
	var deletions, creations []operation
	for _, op := range ops {
		results[op] = nil
		switch {
		case op.create:
			if results[op] = r.checkCIDR(index, op.route); results[op] != nil {
				continue
			}
			creations = append(creations, op)
			if stale, ok := r.blackholeAt(op); ok {
				deletions = append(deletions, stale)
			}
		case r.isReplaced(op):
			// The route that exists at the destination now is wanted, and clouds delete by destination.
		default:
			deletions = append(deletions, op)
		}
	}
	failed := map[string]error{}
	for op, err := range bulk(ctx, deletions, r.source.Delete) {
		results[op] = err
		if err != nil {
			failed[op.route.Destination] = err
		}
	}
	r.create(ctx, creations, failed, results)
	return results, nil
}

// create creates routes, except at destinations where a deletion failed or a foreign route is.
func (r *Routes) create(
	ctx context.Context, creations []operation, failed map[string]error, results map[operation]error,
) {
	var allowed []operation
	for _, op := range creations {
		err := failed[op.route.Destination]
		if err == nil {
			err = r.checkForeign(op)
		}
		if err != nil {
			results[op] = err
			continue
		}
		allowed = append(allowed, op)
	}
	for op, err := range bulk(ctx, allowed, r.source.Create) {
		results[op] = err
		if err == nil {
			r.recordCreated(op.route)
		}
	}
}

// bulk passes distinct operations to call, once per cluster name (there is one in practice).
func bulk(
	ctx context.Context, ops []operation, call func(context.Context, string, []Route) []error,
) map[operation]error {
	results := make(map[operation]error, len(ops))
	byCluster := map[string][]operation{}
	for _, op := range ops {
		if _, duplicate := results[op]; !duplicate {
			results[op] = nil
			byCluster[op.cluster] = append(byCluster[op.cluster], op)
		}
	}
	for cluster, ops := range byCluster {
		routes := make([]Route, len(ops))
		for i, op := range ops {
			routes[i] = op.route
		}
		for i, err := range call(ctx, cluster, routes) {
			results[ops[i]] = err
		}
	}
	return results
}

// blackholeAt returns the deletion of the blackhole at the destination of a creation, unless the creation
// replaces it.
func (r *Routes) blackholeAt(op operation) (operation, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stale, ok := r.blackholes[op.route.Destination]
	return operation{cluster: op.cluster, route: stale}, ok && !r.options.ReplacesBlackholes
}

// checkForeign returns an error if a foreign route has the destination of a creation. Clouds that accept both would
// split the node's traffic between them. A route to the same target stays: the Source adopts it.
func (r *Routes) checkForeign(op operation) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	foreign, ok := r.foreign[op.route.Destination]
	if !ok || r.options.RejectsForeign || foreign.leadsTo(op.route.InstanceID, op.route.NodeName) {
		return nil
	}
	return &cloudapi.Error{Class: cloudapi.AlreadyExists, Operation: "create route", Err: foreign.foreignError()}
}

// leadsTo reports whether the route is to a node's instance.
func (r Route) leadsTo(instanceID, nodeName string) bool {
	return r.InstanceID != "" && r.InstanceID == instanceID || r.NodeName != "" && r.NodeName == nodeName
}

// foreignError returns the error about a foreign route to a node's pod CIDR.
func (r Route) foreignError() error {
	return fmt.Errorf("there is a route to %s that does not belong to this cluster (%s): remove it, or give the node "+
		"another pod CIDR", r.Destination, r.Name)
}

// recordCreated records a creation until the next list.
func (r *Routes) recordCreated(route Route) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.created[route.Destination], r.routed[route.Destination] = route.InstanceID, route.NodeName
	delete(r.blackholes, route.Destination)
}

// isReplaced reports whether the destination of this deletion was assigned to another target since the last
// list.
func (r *Routes) isReplaced(op operation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	target, ok := r.created[op.route.Destination]
	return ok && target != op.route.InstanceID
}
