package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	restclient "k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

// store is the API server of the direct driver: it keeps objects, and counts writes so that the
// driver can tell whether anything is still moving.
type store struct {
	client clientset.Interface
	writes atomic.Int64
}

// newStore returns a store with the kube-system namespace, whose UID identifies the cluster.
func newStore() (*store, error) {
	tracker := clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	err := tracker.Add(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: metav1.NamespaceSystem, UID: types.UID("c0ffee00-0000-4000-8000-000000000001"),
	}})
	if err != nil {
		return nil, fmt.Errorf("conformance: adding the kube-system namespace: %w", err)
	}
	client := &fake.Clientset{}
	client.AddReactor("*", "*", clienttesting.ObjectReaction(tracker))
	client.AddWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w, err := tracker.Watch(action.GetResource(), action.GetNamespace())
		return err == nil, w, err
	})
	return &store{client: client}, nil
}

// nodes returns all nodes, sorted by name as the tracker keeps them.
func (s *store) nodes(ctx context.Context) ([]*v1.Node, error) {
	list, err := s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return pointers(list.Items), nil
}

// node returns the node, or nil.
func (s *store) node(ctx context.Context, name string) (*v1.Node, error) {
	node, err := s.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	return orNil(node, err)
}

func (s *store) createNode(ctx context.Context, node *v1.Node) error {
	s.writes.Add(1)
	_, err := s.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	return err
}

func (s *store) updateNode(ctx context.Context, node *v1.Node) error {
	s.writes.Add(1)
	_, err := s.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	return err
}

func (s *store) deleteNode(ctx context.Context, name string) error {
	s.writes.Add(1)
	return s.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
}

// services returns all Services.
func (s *store) services(ctx context.Context) ([]*v1.Service, error) {
	list, err := s.client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return pointers(list.Items), nil
}

// service returns the Service, or nil.
func (s *store) service(ctx context.Context, namespace, name string) (*v1.Service, error) {
	svc, err := s.client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	return orNil(svc, err)
}

func (s *store) createService(ctx context.Context, svc *v1.Service) error {
	s.writes.Add(1)
	_, err := s.client.CoreV1().Services(svc.Namespace).Create(ctx, svc, metav1.CreateOptions{})
	return err
}

// updateService writes the Service. One that is being deleted vanishes with its last finalizer,
// as the API server has it.
func (s *store) updateService(ctx context.Context, svc *v1.Service) error {
	s.writes.Add(1)
	services := s.client.CoreV1().Services(svc.Namespace)
	if svc.DeletionTimestamp != nil && len(svc.Finalizers) == 0 {
		return services.Delete(ctx, svc.Name, metav1.DeleteOptions{})
	}
	_, err := services.Update(ctx, svc, metav1.UpdateOptions{})
	return err
}

// events returns "Reason: message" of the Events about one object, of both Event APIs.
func (s *store) events(ctx context.Context, kind, namespace, name string) ([]string, error) {
	var out []string
	about := func(ref v1.ObjectReference) bool {
		return ref.Kind == kind && ref.Namespace == namespace && ref.Name == name
	}
	core, coreErr := s.client.CoreV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if coreErr == nil {
		for _, e := range core.Items {
			if about(e.InvolvedObject) {
				out = append(out, e.Reason+": "+e.Message)
			}
		}
	}
	modern, modernErr := s.client.EventsV1().Events(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if modernErr == nil {
		for _, e := range modern.Items {
			if about(e.Regarding) {
				out = append(out, e.Reason+": "+e.Note)
			}
		}
	}
	return out, errors.Join(coreErr, modernErr)
}

// recordEvent stores an Event of one of the framework's controllers.
func (s *store) recordEvent(ctx context.Context, seq int64, ref v1.ObjectReference, reason, message string) {
	namespace := ref.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	// An Event that cannot be stored is lost, as in a cluster; it never stops a controller.
	_, _ = s.client.CoreV1().Events(namespace).Create(ctx, &v1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s.%d", strings.ToLower(reason), seq)},
		InvolvedObject: ref, Reason: reason, Message: message,
	}, metav1.CreateOptions{})
}

func pointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}

func orNil[T runtime.Object](object T, err error) (T, error) {
	var none T
	switch {
	case apierrors.IsNotFound(err):
		return none, nil
	case err != nil:
		return none, err
	default:
		return object, nil
	}
}

// clientBuilder lends the store's client to the manager under test.
type clientBuilder struct{ client clientset.Interface }

func (b clientBuilder) Config(string) (*restclient.Config, error) { return &restclient.Config{}, nil }
func (b clientBuilder) ConfigOrDie(string) *restclient.Config     { return &restclient.Config{} }
func (b clientBuilder) Client(string) (clientset.Interface, error) {
	return b.client, nil
}
func (b clientBuilder) ClientOrDie(string) clientset.Interface { return b.client }
