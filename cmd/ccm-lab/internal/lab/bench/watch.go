package bench

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	cloudproviderapi "k8s.io/cloud-provider/api"
)

const (
	// maxExamples is the maximum number of objects in a message.
	maxExamples = 3
	// stallAfter is the time without progress after which the benchmark prints what it waits for.
	stallAfter = 10 * time.Second
	// lostAfter is the time without a further Event after which a benchmark reads the manager's metrics.
	lostAfter = time.Second
)

// watch tracks the cluster through watches, because lists of a thousand nodes would use CPU time that is
// measured.
type watch struct {
	nodeLister    corelisters.NodeLister
	serviceLister corelisters.ServiceLister

	mu              sync.Mutex
	ensuredServices map[objectKey]bool
	// warnings are the last Warning Events, as "reason: message".
	warnings map[objectKey]string
}

// objectKey identifies a node or a Service.
type objectKey struct{ kind, namespace, name string }

func serviceKey(svc *v1.Service) objectKey { return objectKey{"Service", svc.Namespace, svc.Name} }

// ensuredReason is the reason of the Event that the framework's service controller ends each sync with.
const ensuredReason = "EnsuredLoadBalancer"

func startWatch(ctx context.Context, client kubernetes.Interface) (*watch, error) {
	factory := informers.NewSharedInformerFactory(client, 0)
	core := factory.Core().V1()
	w := &watch{
		nodeLister: core.Nodes().Lister(), serviceLister: core.Services().Lister(),
		ensuredServices: map[objectKey]bool{}, warnings: map[objectKey]string{},
	}
	_, err := core.Events().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    w.recordEvent,
		UpdateFunc: func(_, event any) { w.recordEvent(event) },
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

func (w *watch) recordEvent(object any) {
	event, ok := object.(*v1.Event)
	if !ok {
		return
	}
	key := objectKey{event.InvolvedObject.Kind, event.InvolvedObject.Namespace, event.InvolvedObject.Name}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case event.Reason == ensuredReason:
		w.ensuredServices[key] = true
		delete(w.warnings, key)
	case event.Type == v1.EventTypeWarning:
		w.warnings[key] = event.Reason + ": " + event.Message
	}
}

// resetEnsured sets the count of ensured to zero.
func (w *watch) resetEnsured() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ensuredServices = map[objectKey]bool{}
}

// ensured counts the Services that the service controller has ensured since resetEnsured.
func (w *watch) ensured() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ensuredServices)
}

// unensured describes some of the Services that ensured does not count.
func (w *watch) unensured() []string {
	return w.describeServices(func(svc *v1.Service) bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return !w.ensuredServices[serviceKey(svc)]
	})
}

// initialized counts the nodes that a cloud controller manager has initialized.
func (w *watch) initialized() int {
	nodes, _ := w.nodeLister.List(labels.Everything()) // A lister over a cache returns no error.
	n := 0
	for _, node := range nodes {
		if uninitializedReason(node) == "" {
			n++
		}
	}
	return n
}

// uninitialized describes some of the other nodes.
func (w *watch) uninitialized() []string {
	nodes, _ := w.nodeLister.List(labels.Everything()) // As in initialized.
	var list []string
	for _, node := range nodes {
		if reason := uninitializedReason(node); reason != "" {
			list = append(list, node.Name+" "+cmp.Or(w.warning(objectKey{kind: "Node", name: node.Name}), reason))
		}
	}
	slices.Sort(list)
	return firstExamples(list)
}

// uninitializedReason returns what an uninitialized node lacks, or "".
func uninitializedReason(node *v1.Node) string {
	if node.Spec.ProviderID == "" {
		return "(no provider ID)"
	}
	for _, t := range node.Spec.Taints {
		if t.Key == cloudproviderapi.TaintExternalCloudProvider {
			return "(taint " + t.Key + ")"
		}
	}
	return ""
}

// warning returns the last Warning Event of an object in parentheses, or "".
func (w *watch) warning(key objectKey) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text := w.warnings[key]; text != "" {
		return "(" + text + ")"
	}
	return ""
}

// services counts the Services of type LoadBalancer.
func (w *watch) services() int { return len(w.list(func(*v1.Service) bool { return true })) }

// addressed counts the Services with an address.
func (w *watch) addressed() int {
	return len(w.list(func(svc *v1.Service) bool { return len(svc.Status.LoadBalancer.Ingress) > 0 }))
}

// unaddressed describes some of the Services without an address.
func (w *watch) unaddressed() []string {
	return w.describeServices(func(svc *v1.Service) bool { return len(svc.Status.LoadBalancer.Ingress) == 0 })
}

// deleting describes some of the Services with a deletion timestamp.
func (w *watch) deleting() []string {
	return w.describeServices(func(svc *v1.Service) bool { return svc.DeletionTimestamp != nil })
}

// describeServices returns the names of some Services with their last Warning Event.
func (w *watch) describeServices(filter func(*v1.Service) bool) []string {
	var list []string
	for _, svc := range w.list(filter) {
		text := svc.Namespace + "/" + svc.Name
		if warning := w.warning(serviceKey(svc)); warning != "" {
			text += " " + warning
		}
		list = append(list, text)
	}
	slices.Sort(list)
	return firstExamples(list)
}

// firstExamples returns at most maxExamples of a list.
func firstExamples(list []string) []string { return list[:min(len(list), maxExamples)] }

// list returns the Services of type LoadBalancer that match filter.
func (w *watch) list(filter func(*v1.Service) bool) []*v1.Service {
	services, _ := w.serviceLister.List(labels.Everything()) // As in initialized.
	return slices.DeleteFunc(services, func(svc *v1.Service) bool {
		return svc.Spec.Type != v1.ServiceTypeLoadBalancer || !filter(svc)
	})
}
