package routes

import "context"

// apply makes one batch: deletions first, because the framework sends the deletion of a route
// and its creation to another node side by side.
func (r *Routes) apply(ctx context.Context, ops []operation) (map[operation]error, error) {
	results := make(map[operation]error, len(ops))
	var deletions, creations []operation
	for _, op := range ops {
		results[op] = nil
		switch {
		case op.create:
			if old, ok := r.replaced(op); ok {
				deletions = append(deletions, operation{op.cluster, false, old})
			}
			creations = append(creations, op)
		case r.recreated(op):
			// The route was replaced after the caller listed it: what exists now is wanted.
		default:
			deletions = append(deletions, op)
		}
	}
	r.bulk(ctx, deletions, r.source.Delete, results)
	r.bulk(ctx, creations, r.source.Create, results)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, op := range creations {
		if results[op] == nil {
			r.created[op.route.Destination] = op.route.NodeName
		}
	}
	return results, nil
}

// bulk makes one call per cluster name; there is one in practice.
func (r *Routes) bulk(ctx context.Context, ops []operation, call func(context.Context, string, []Route) []error, results map[operation]error) {
	byCluster := map[string][]operation{}
	seen := map[operation]bool{}
	for _, op := range ops {
		if !seen[op] {
			seen[op] = true
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
}

// replaced returns the blackhole that stands where op wants to create.
func (r *Routes) replaced(op operation) (Route, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	old, ok := r.blackholes[op.route.Destination]
	delete(r.blackholes, op.route.Destination)
	return old, ok
}

// recreated says whether the destination of this deletion was given to another node since the
// caller listed the route.
func (r *Routes) recreated(op operation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	node, ok := r.created[op.route.Destination]
	return ok && (op.route.Blackhole || node != op.route.NodeName)
}
