package openstack

import (
	"errors"
	"net/netip"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// nodeLister finds Nodes by what routes know of them: their addresses.
type nodeLister struct {
	mu     sync.RWMutex
	lister corelisters.NodeLister
	synced func() bool
}

func (n *nodeLister) set(factory informers.SharedInformerFactory) {
	nodes := factory.Core().V1().Nodes()
	informer := nodes.Informer()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lister, n.synced = nodes.Lister(), informer.HasSynced
}

// all returns the cluster's Nodes. Before they are all known it is an error: a route to a Node that
// is not known yet would pass for one whose Node is gone.
func (n *nodeLister) all() ([]*v1.Node, error) {
	n.mu.RLock()
	lister, synced := n.lister, n.synced
	n.mu.RUnlock()
	if lister == nil || !synced() {
		return nil, &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "ListRoutes", Err: errors.New("the cluster's nodes are not known yet")}
	}
	return lister.List(labels.Everything())
}

// byAddress returns the Nodes by each of the addresses in their status.
func byAddress(nodes []*v1.Node) map[string]*v1.Node {
	out := make(map[string]*v1.Node, len(nodes))
	for _, node := range nodes {
		for _, a := range node.Status.Addresses {
			if _, err := netip.ParseAddr(a.Address); err == nil {
				out[a.Address] = node
			}
		}
	}
	return out
}

// nextHop returns the first internal address of a Node in the family of the destination, or "".
func nextHop(node *v1.Node, destination netip.Prefix) string {
	for _, a := range node.Status.Addresses {
		ip, err := netip.ParseAddr(a.Address)
		if err == nil && a.Type == v1.NodeInternalIP && ip.Is4() == destination.Addr().Is4() {
			return a.Address
		}
	}
	return ""
}

// hasRange says whether the destination is one of the Node's pod ranges.
func hasRange(node *v1.Node, destination netip.Prefix) bool {
	for _, text := range node.Spec.PodCIDRs {
		if p, err := netip.ParsePrefix(text); err == nil && p.Masked() == destination {
			return true
		}
	}
	return false
}
