package routes

import (
	"slices"
	"sync"

	corelisters "k8s.io/client-go/listers/core/v1"
)

// ranges knows the pod ranges of nodes, once SetNodeLister was called.
type ranges struct {
	mu     sync.RWMutex
	lister corelisters.NodeLister
}

// SetNodeLister lends the informer's Nodes. Sources whose routes may be incomplete need it: without
// it an incomplete route is listed like any other, and stays as it is.
func (r *Routes) SetNodeLister(lister corelisters.NodeLister) {
	r.nodes.mu.Lock()
	defer r.nodes.mu.Unlock()
	r.nodes.lister = lister
}

// want says whether the route's node has the route's destination as a pod range.
func (n *ranges) want(route Route) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if n.lister == nil || route.NodeName == "" || route.Blackhole {
		return false
	}
	node, err := n.lister.Get(route.NodeName)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(node.Spec.PodCIDRs, func(cidr string) bool {
		destination, err := canonical(cidr)
		return err == nil && destination == route.Destination
	})
}
