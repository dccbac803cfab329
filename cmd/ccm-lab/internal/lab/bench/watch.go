package bench

import (
	"context"
	"errors"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

// watch follows the cluster by watches, because lists of a thousand nodes would take the CPU that is measured.
type watch struct {
	nodes    corelisters.NodeLister
	allOf    corelisters.ServiceLister
	mu       sync.Mutex
	wasAsked map[string]bool
}

// ensuredReason is the reason of the Event that the framework's service controller ends each sync with.
const ensuredReason = "EnsuredLoadBalancer"

func startWatch(ctx context.Context, client kubernetes.Interface) (*watch, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	core := factory.Core().V1()
	w := &watch{nodes: core.Nodes().Lister(), allOf: core.Services().Lister(), wasAsked: map[string]bool{}}
	_, err := core.Events().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    w.event,
		UpdateFunc: func(_, event any) { w.event(event) },
	})
	if err != nil {
		return nil, err
	}
	core.Nodes().Informer()
	core.Services().Informer()
	factory.StartWithContext(ctx)
	for _, ok := range factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return nil, errors.Join(errors.New("watching the cluster"), ctx.Err())
		}
	}
	return w, nil
}

func (w *watch) event(object any) {
	event, ok := object.(*v1.Event)
	if !ok || event.Reason != ensuredReason {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wasAsked[event.InvolvedObject.Namespace+"/"+event.InvolvedObject.Name] = true
}

// forgetEnsured starts the count of ensured anew.
func (w *watch) forgetEnsured() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wasAsked = map[string]bool{}
}

// ensured is how many Services the service controller has gone through since forgetEnsured.
func (w *watch) ensured() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.wasAsked)
}

// initialised is how many nodes a cloud controller manager has seen.
func (w *watch) initialised() int {
	nodes, _ := w.nodes.List(labels.Everything()) // A cache of our own has no errors.
	n := 0
	for _, node := range nodes {
		if node.Spec.ProviderID != "" && !tainted(node) {
			n++
		}
	}
	return n
}

func tainted(node *v1.Node) bool {
	for _, t := range node.Spec.Taints {
		if t.Key == cloudproviderapi.TaintExternalCloudProvider {
			return true
		}
	}
	return false
}

// services is how many Services of type LoadBalancer there are.
func (w *watch) services() int { return w.count(func(*v1.Service) bool { return true }) }

// addressed is how many of them have an address.
func (w *watch) addressed() int {
	return w.count(func(svc *v1.Service) bool { return len(svc.Status.LoadBalancer.Ingress) > 0 })
}

func (w *watch) count(keep func(*v1.Service) bool) int {
	services, _ := w.allOf.List(labels.Everything()) // As in initialised.
	n := 0
	for _, svc := range services {
		if svc.Spec.Type == v1.ServiceTypeLoadBalancer && keep(svc) {
			n++
		}
	}
	return n
}
