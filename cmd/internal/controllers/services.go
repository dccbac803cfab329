package controllers

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudprovider "k8s.io/cloud-provider"
	servicecontroller "k8s.io/cloud-provider/controllers/service"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// startServiceController starts the framework's service controller as the framework does, except for its informers: it
// sees the Services of the set, see assign.Services, and coalescedNodes. On a cloud without load balancers it starts
// none, which is not an error.
func startServiceController(ctx context.Context, s controllerStart) (bool, error) {
	balancer, ok := s.sets.services.Balancer(s.set.name())
	if !ok {
		klog.FromContext(ctx).Info("The service controller does not start, because the cloud provider does not support "+
			"external load balancers", "provider", s.set.name())
		return false, nil
	}
	services, err := servicecontroller.New(balancerCloud{s.set.cloud, balancer},
		s.config.ClientBuilder.ClientOrDie(s.ClientName), s.sets.services.Of(s.set.name()),
		coalescedNodes{s.sets.nodesOf(s.set, s.informers().Nodes())}, s.config.ComponentConfig.KubeCloudShared.ClusterName,
		utilfeature.DefaultFeatureGate)
	if err != nil {
		return false, fmt.Errorf("the service controller: %w", err)
	}
	go services.Run(ctx, int(s.config.ComponentConfig.ServiceController.ConcurrentServiceSyncs),
		s.shared.ControllerManagerMetrics)
	return true, nil
}

// balancerCloud is a cloud with the load balancers of its own Services.
type balancerCloud struct {
	cloudprovider.Interface
	balancer cloudprovider.LoadBalancer
}

// LoadBalancer implements cloudprovider.Interface.
func (c balancerCloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c.balancer, true }

// coalescedNodes is the node informer of the framework's service controller. The controller queues the name of
// each node that is added, deleted or changed, and for each name compares all nodes with those of every
// Service: after a start that is nodes x Services comparisons of all nodes, minutes of CPU time at 1,000
// nodes and 200 Services, and a call for each load balancer and node while nodes join. The comparison does
// not use the name, so all nodes share one: events during a comparison lead to one further comparison,
// instead of one each.
type coalescedNodes struct{ coreinformers.NodeInformer }

// Lister implements coreinformers.NodeInformer. The controller compares only the names and provider IDs of the nodes
// that it lists, and both stay if a node gets or loses the opt-out label. So the list has no nodes with that label:
// load balancers do not have them as members either.
func (g coalescedNodes) Lister() corelisters.NodeLister { return managedNodes{g.NodeInformer.Lister()} }

// managedNodes lists the nodes without the opt-out label.
type managedNodes struct{ corelisters.NodeLister }

// List implements corelisters.NodeLister.
func (m managedNodes) List(selector labels.Selector) ([]*v1.Node, error) {
	nodes, err := m.NodeLister.List(selector)
	return slices.DeleteFunc(nodes, optedOut), err
}

func optedOut(node *v1.Node) bool { return node.Labels[provider.ManagedLabel] == "false" }

// Informer implements coreinformers.NodeInformer.
func (g coalescedNodes) Informer() cache.SharedIndexInformer {
	return coalescedInformer{g.NodeInformer.Informer()}
}

type coalescedInformer struct{ cache.SharedIndexInformer }

// AddEventHandlerWithResyncPeriod implements cache.SharedIndexInformer. The service controller registers
// through no other method.
func (g coalescedInformer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler,
	resync time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := g.SharedIndexInformer.AddEventHandlerWithResyncPeriod(coalescedEvents{h}, resync)
	if err != nil {
		return nil, fmt.Errorf("watching nodes: %w", err)
	}
	return registration, nil
}

// coalescedEvents forwards events of all nodes under one name.
type coalescedEvents struct{ inner cache.ResourceEventHandler }

// OnAdd implements cache.ResourceEventHandler.
func (g coalescedEvents) OnAdd(any, bool) { g.inner.OnAdd(anyNode(), false) }

// OnDelete implements cache.ResourceEventHandler.
func (g coalescedEvents) OnDelete(any) { g.inner.OnDelete(anyNode()) }

// OnUpdate implements cache.ResourceEventHandler. The controller compares both nodes to decide whether the
// change matters, so all fields but the name stay. It does not know the opt-out label.
func (g coalescedEvents) OnUpdate(before, after any) {
	old, ok := before.(*v1.Node)
	current, ok2 := after.(*v1.Node)
	switch {
	case !ok || !ok2:
	case optedOut(old) != optedOut(current): // the list of nodes changes
		g.inner.OnAdd(anyNode(), false)
	default:
		g.inner.OnUpdate(renamed(old), renamed(current))
	}
}

const anyNodeName = "nodes"

func anyNode() *v1.Node { return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: anyNodeName}} }

// renamed returns a shallow copy of the node under the shared name. It is read-only, like the node.
func renamed(node *v1.Node) *v1.Node {
	shared := *node
	shared.Name = anyNodeName
	return &shared
}
