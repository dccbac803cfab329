package views

import (
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Nodes is an informer of some of the Nodes.
type Nodes struct {
	*view[*v1.Node]
	lister corelisters.NodeLister
}

var _ coreinformers.NodeInformer = (*Nodes)(nil)

// OfNodes returns the view of the Nodes that the function selects. It makes no copies.
func OfNodes(nodes coreinformers.NodeInformer, selects func(*v1.Node) bool) *Nodes {
	return &Nodes{
		view: &view[*v1.Node]{
			informer: nodes.Informer(),
			show:     func(node *v1.Node) (*v1.Node, bool) { return node, selects(node) },
		},
		lister: nodes.Lister(),
	}
}

// Informer implements coreinformers.NodeInformer.
func (n *Nodes) Informer() cache.SharedIndexInformer {
	return filteredInformer[*v1.Node]{n.informer, n.view}
}

// Lister implements coreinformers.NodeInformer.
func (n *Nodes) Lister() corelisters.NodeLister { return nodeLister{n.lister, n.view} }

type nodeLister struct {
	corelisters.NodeLister
	view *view[*v1.Node]
}

// List implements corelisters.NodeLister.
func (l nodeLister) List(selector labels.Selector) ([]*v1.Node, error) {
	all, err := l.NodeLister.List(selector)
	return l.view.filter(all), err
}

// Get implements corelisters.NodeLister.
func (l nodeLister) Get(name string) (*v1.Node, error) {
	node, err := l.NodeLister.Get(name)
	if err != nil {
		return nil, err
	}
	if seen, ok := l.view.show(node); ok {
		return seen, nil
	}
	return nil, apierrors.NewNotFound(v1.Resource("nodes"), name)
}

// filter returns the objects of a list that are in the view, as it has them.
func (v *view[T]) filter(all []T) []T {
	kept := make([]T, 0, len(all))
	for _, object := range all {
		if seen, ok := v.show(object); ok {
			kept = append(kept, seen)
		}
	}
	return kept
}
