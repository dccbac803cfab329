package routes

import "context"

// operation is one route to be created or deleted; being comparable makes it a key of batches.
type operation struct {
	cluster string
	create  bool
	route   Route
}

// apply makes one batch: deletions first, because the framework sends the deletion of a route and
// the creation of another to the same destination side by side.
func (r *Routes) apply(ctx context.Context, ops []operation) (map[operation]error, error) {
	results := make(map[operation]error, len(ops))
	var deletions, creations []operation
	for _, op := range ops {
		results[op] = nil
		switch {
		case op.create:
			creations = append(creations, op)
			if stale, ok := r.blackholeAt(op); ok {
				deletions = append(deletions, stale)
			}
		case r.replaced(op):
			// What exists at the destination now is wanted, and clouds delete by destination.
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
	var possible []operation
	for _, op := range creations {
		if err := failed[op.route.Destination]; err != nil {
			results[op] = err
			continue
		}
		possible = append(possible, op)
	}
	for op, err := range bulk(ctx, possible, r.source.Create) {
		results[op] = err
		if err == nil {
			r.noteCreated(op.route)
		}
	}
	return results, nil
}

// bulk hands ops to call, once per cluster name (there is one in practice), each once.
func bulk(ctx context.Context, ops []operation, call func(context.Context, string, []Route) []error) map[operation]error {
	results := make(map[operation]error, len(ops))
	byCluster := map[string][]operation{}
	for _, op := range ops {
		if _, twice := results[op]; !twice {
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

// blackholeAt returns the deletion of the blackhole that stands where op wants to create, where
// creating does not replace it.
func (r *Routes) blackholeAt(op operation) (operation, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stale, ok := r.blackholes[op.route.Destination]
	return operation{cluster: op.cluster, route: stale}, ok && !r.replaces
}

// noteCreated remembers the creation until the next list.
func (r *Routes) noteCreated(route Route) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.created[route.Destination] = route.InstanceID
	delete(r.blackholes, route.Destination)
}

// replaced says whether the destination of this deletion was given to another target since the
// caller listed the route.
func (r *Routes) replaced(op operation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	target, ok := r.created[op.route.Destination]
	return ok && target != op.route.InstanceID
}
