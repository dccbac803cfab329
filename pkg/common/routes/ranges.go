package routes

import "slices"

// wanted says whether the route's node has the route's destination as a pod range.
func (r *Routes) wanted(route Route) bool {
	lister := r.nodes.Lister()
	if lister == nil || route.NodeName == "" || route.Blackhole {
		return false
	}
	node, err := lister.Get(route.NodeName)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(node.Spec.PodCIDRs, func(cidr string) bool {
		destination, err := canonical(cidr)
		return err == nil && destination == route.Destination
	})
}
