package routes

import (
	"slices"

	corelisters "k8s.io/client-go/listers/core/v1"
)

// SetNodeLister lends the informer's Nodes. Sources whose routes may be incomplete need it: without
// it an incomplete route is listed like any other, and stays as it is.
func (r *Routes) SetNodeLister(lister corelisters.NodeLister) { r.nodes.Lend(lister, nil) }

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
