// Package nodes holds the cluster's Nodes for parts of a provider that are built before the
// framework lends its informer, and says what a Node's state means here.
package nodes

import (
	"errors"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// Lent are the cluster's Nodes once they are lent. Before that, and in the zero value and a nil
// pointer, nothing is known of them. It is safe for concurrent use.
type Lent struct {
	mu     sync.RWMutex
	lister corelisters.NodeLister
	synced func() bool
}

// Lend hands over an informer's Nodes. Synced says whether the lister has them all yet, as
// HasSynced of the informer does; nil means that it has.
func (l *Lent) Lend(lister corelisters.NodeLister, synced func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lister, l.synced = lister, synced
}

// Lister returns the Nodes as far as they are known, nil before they are lent.
func (l *Lent) Lister() corelisters.NodeLister {
	lister, _ := l.get()
	return lister
}

// All returns all Nodes. Before they are all known it is an error of class Unavailable: what
// belongs to a Node that is not known yet would pass for something whose Node is gone.
func (l *Lent) All() ([]*v1.Node, error) {
	lister, synced := l.get()
	if lister == nil || synced != nil && !synced() {
		return nil, &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "listing nodes", Err: errors.New("the cluster's nodes are not known yet")}
	}
	return lister.List(labels.Everything())
}

func (l *Lent) get() (corelisters.NodeLister, func() bool) {
	if l == nil {
		return nil, nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.lister, l.synced
}

// Uninitialized says whether the Node still waits for a cloud provider: it carries the taint that the
// framework takes away once it has given the Node its addresses, labels and provider ID.
func Uninitialized(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool {
		return t.Key == cloudproviderapi.TaintExternalCloudProvider
	})
}
