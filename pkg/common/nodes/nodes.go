// Package nodes gives parts of a provider access to the cluster's Nodes, and interprets their state.
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

// LazyLister lists Nodes for components that are built before the framework hands over its informer.
// Until Set is called, in the zero value and in a nil pointer, it has no lister. It is safe for
// concurrent use.
type LazyLister struct {
	mu     sync.RWMutex
	lister corelisters.NodeLister
	synced func() bool
}

// Set sets the lister. Synced is the informer's HasSynced; nil means that the lister is complete.
func (l *LazyLister) Set(lister corelisters.NodeLister, synced func() bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lister, l.synced = lister, synced
}

// Lister returns the lister, which may not be complete yet. It returns nil before Set.
func (l *LazyLister) Lister() corelisters.NodeLister {
	lister, _ := l.get()
	return lister
}

// All returns all Nodes. Before the lister is complete it returns an error of class Unavailable: objects
// of a Node that is not listed yet would look like objects of a deleted Node.
func (l *LazyLister) All() ([]*v1.Node, error) {
	lister, synced := l.get()
	if lister == nil || synced != nil && !synced() {
		return nil, &cloudapi.Error{
			Class: cloudapi.Unavailable, Operation: "listing nodes", Err: errors.New("the node informer has not synced yet"),
		}
	}
	return lister.List(labels.Everything())
}

func (l *LazyLister) get() (corelisters.NodeLister, func() bool) {
	if l == nil {
		return nil, nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.lister, l.synced
}

// IsReady reports whether the Node's kubelet reports that it is ready.
func IsReady(node *v1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
		return c.Type == v1.NodeReady && c.Status == v1.ConditionTrue
	})
}

// Uninitialized reports whether the Node still waits for its cloud provider: it has the taint that the
// framework removes once it has set the Node's addresses, labels and provider ID.
func Uninitialized(node *v1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool {
		return t.Key == cloudproviderapi.TaintExternalCloudProvider
	})
}
