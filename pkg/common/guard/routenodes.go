package guard

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// ScopeRoutes prepares a wrapped cloud for the framework's route controller, before that starts. It limits new routes
// to the cluster CIDRs, and returns the nodes for the controller: only those that are ours. For any node that it
// sees, the controller writes the condition NetworkUnavailable, but only a node's own manager knows whether the node
// has a network. A node joins the view once it has a provider ID of this cloud.
func ScopeRoutes(
	cloud cloudprovider.Interface, nodes coreinformers.NodeInformer, clusterCIDRs []netip.Prefix,
) coreinformers.NodeInformer {
	if routes, ok := cloud.Routes(); ok {
		if r, ok := routes.(interface {
			LimitTo(clusterCIDRs []netip.Prefix)
		}); ok {
			r.LimitTo(clusterCIDRs)
		}
	}
	owner, ok := cloud.(provider.NodeOwner)
	if !ok {
		return nodes
	}
	return ownNodes{nodes, func(node *v1.Node) bool { return owner.OwnsNode(node) == provider.Mine }}
}

// LimitTo limits the provider's routes to the cluster CIDRs.
func (r *router) LimitTo(clusterCIDRs []netip.Prefix) {
	if inner, ok := r.inner.(interface {
		LimitTo(clusterCIDRs []netip.Prefix)
	}); ok {
		inner.LimitTo(clusterCIDRs)
	}
}

// ownNodes is an informer of Nodes without those of others. A Node that becomes ours is added, one that becomes
// another's is deleted.
type ownNodes struct {
	coreinformers.NodeInformer
	owns func(*v1.Node) bool
}

// Lister implements coreinformers.NodeInformer.
func (o ownNodes) Lister() corelisters.NodeLister {
	return ownNodeLister{o.NodeInformer.Lister(), o.owns}
}

// Informer implements coreinformers.NodeInformer.
func (o ownNodes) Informer() cache.SharedIndexInformer {
	return ownNodeInformer{o.NodeInformer.Informer(), o.owns}
}

type ownNodeLister struct {
	corelisters.NodeLister
	owns func(*v1.Node) bool
}

// List implements corelisters.NodeLister.
func (l ownNodeLister) List(selector labels.Selector) ([]*v1.Node, error) {
	all, err := l.NodeLister.List(selector)
	return slices.DeleteFunc(all, func(node *v1.Node) bool { return !l.owns(node) }), err
}

// Get implements corelisters.NodeLister.
func (l ownNodeLister) Get(name string) (*v1.Node, error) {
	node, err := l.NodeLister.Get(name)
	if err == nil && !l.owns(node) {
		return nil, apierrors.NewNotFound(v1.Resource("nodes"), name)
	}
	return node, err
}

type ownNodeInformer struct {
	cache.SharedIndexInformer
	owns func(*v1.Node) bool
}

// AddEventHandler implements cache.SharedIndexInformer.
func (i ownNodeInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return registered(i.SharedIndexInformer.AddEventHandler(i.filtered(h)))
}

// AddEventHandlerWithResyncPeriod implements cache.SharedIndexInformer.
func (i ownNodeInformer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler,
	resync time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return registered(i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(i.filtered(h), resync))
}

func registered(
	registration cache.ResourceEventHandlerRegistration, err error,
) (cache.ResourceEventHandlerRegistration, error) {
	if err != nil {
		return nil, fmt.Errorf("watching nodes: %w", err)
	}
	return registration, nil
}

func (i ownNodeInformer) filtered(h cache.ResourceEventHandler) cache.ResourceEventHandler {
	return cache.FilteringResourceEventHandler{Handler: h, FilterFunc: func(object any) bool {
		if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		node, ok := object.(*v1.Node)
		return ok && i.owns(node)
	}}
}
