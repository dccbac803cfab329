// Package memapi is a Kubernetes API server in memory, for controllers under test.
package memapi

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	restclient "k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

// Server is client-go's object tracker, with the additional behaviour that
// controllers need. Writes set the resource version, without which informers drop updates; a stale one is a
// conflict; an object with finalizers stays until the last one is removed.
type Server struct {
	clienttesting.ObjectTracker

	// mu makes read, compare and write atomic for all clients.
	mu sync.Mutex
	// writes counts changes of nodes and Services, so that a test detects changes.
	writes atomic.Int64
	// Each kind has its own counter, so that an interruption, which creates more Events, changes no UID and no
	// node port.
	uids, nodePorts, events, versions int64
}

// New returns an API server with the kube-system namespace. The UID of that namespace identifies the cluster.
func New() (*Server, error) {
	tracker := clienttesting.NewObjectTracker(scheme.Scheme, scheme.Codecs.UniversalDecoder())
	err := tracker.Add(&v1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: metav1.NamespaceSystem, UID: types.UID("c0ffee00-0000-4000-8000-000000000001"),
	}})
	if err != nil {
		return nil, fmt.Errorf("memapi: adding the kube-system namespace: %w", err)
	}
	return &Server{ObjectTracker: tracker}, nil
}

// Writes returns the number of changes of nodes and Services.
func (s *Server) Writes() int64 { return s.writes.Load() }

// Client returns a client. Its requests fail once ctx has ended: a killed process writes nothing.
func (s *Server) Client(ctx context.Context) clientset.Interface {
	client := &fake.Clientset{}
	react := clienttesting.ObjectReaction(s)
	client.AddReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if ctx.Err() != nil {
			return true, nil, ctx.Err()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return react(action)
	})
	client.AddWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		w, err := s.Watch(action.GetResource(), action.GetNamespace())
		return err == nil, w, err
	})
	return client
}

// Create implements ObjectTracker.
func (s *Server) Create(
	gvr schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.CreateOptions,
) error {
	object, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	switch obj := obj.(type) {
	case *v1.Service:
		s.defaultService(obj, nil)
		s.identify(object)
	case *v1.Node:
		s.identify(object)
	case *v1.Event, *eventsv1.Event:
		// Names of Events contain their time, and in a bubble many are created at the same time.
		s.events++
		object.SetName(fmt.Sprintf("%s.%d", object.GetName(), s.events))
	}
	s.version(obj, object)
	return s.ObjectTracker.Create(gvr, obj, ns, opts...)
}

// Update implements ObjectTracker.
func (s *Server) Update(
	gvr schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.UpdateOptions,
) error {
	return s.replace(gvr, obj, ns, func() error { return s.ObjectTracker.Update(gvr, obj, ns, opts...) })
}

// Patch implements ObjectTracker; obj is the object with the patch applied.
func (s *Server) Patch(
	gvr schema.GroupVersionResource, obj runtime.Object, ns string, opts ...metav1.PatchOptions,
) error {
	return s.replace(gvr, obj, ns, func() error { return s.ObjectTracker.Patch(gvr, obj, ns, opts...) })
}

// replace writes an object if it has changed, and deletes one without remaining finalizers.
func (s *Server) replace(
	gvr schema.GroupVersionResource, obj runtime.Object, ns string, write func() error,
) error {
	object, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	have, err := s.ObjectTracker.Get(gvr, ns, object.GetName())
	if err != nil {
		return err
	}
	current, err := meta.Accessor(have)
	if err != nil {
		return err
	}
	if version := object.GetResourceVersion(); version != "" && version != current.GetResourceVersion() {
		return apierrors.NewConflict(gvr.GroupResource(), object.GetName(), errors.New("the object has been modified"))
	}
	object.SetResourceVersion(current.GetResourceVersion())
	if svc, ok := obj.(*v1.Service); ok {
		s.defaultService(svc, have.(*v1.Service))
	}
	if reflect.DeepEqual(obj, have) {
		return nil
	}
	s.version(obj, object)
	if object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0 {
		return s.ObjectTracker.Delete(gvr, ns, object.GetName())
	}
	return write()
}

// Delete implements ObjectTracker.
func (s *Server) Delete(
	gvr schema.GroupVersionResource, ns, name string, opts ...metav1.DeleteOptions,
) error {
	obj, err := s.ObjectTracker.Get(gvr, ns, name)
	if err != nil {
		return err
	}
	object, err := meta.Accessor(obj)
	if err != nil {
		return err
	}
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	s.version(obj, object)
	if len(object.GetFinalizers()) == 0 {
		return s.ObjectTracker.Delete(gvr, ns, name, opts...)
	}
	now := metav1.Now()
	object.SetDeletionTimestamp(&now)
	return s.ObjectTracker.Update(gvr, obj, ns)
}

// identify sets a UID that differs at its start, because names of load balancers may cut off its end.
func (s *Server) identify(object metav1.Object) {
	s.uids++
	object.SetUID(types.UID(fmt.Sprintf("%08x-0000-4000-8000-000000000000", s.uids)))
	object.SetCreationTimestamp(metav1.Now())
}

// version sets the resource version of an object.
func (s *Server) version(obj runtime.Object, object metav1.Object) {
	s.versions++
	object.SetResourceVersion(strconv.FormatInt(s.versions, 10))
	switch obj.(type) {
	case *v1.Service, *v1.Node:
		s.writes.Add(1)
	}
}

// defaultService sets the defaults of an API server: before is the existing Service, or nil.
func (s *Server) defaultService(svc, before *v1.Service) {
	if svc.Spec.Type == "" {
		svc.Spec.Type = v1.ServiceTypeClusterIP
	}
	if len(svc.Spec.IPFamilies) == 0 {
		svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol}
	}
	if svc.Spec.SessionAffinity == "" {
		svc.Spec.SessionAffinity = v1.ServiceAffinityNone
	}
	if svc.Spec.Type != v1.ServiceTypeLoadBalancer {
		return
	}
	if svc.Spec.ExternalTrafficPolicy == "" {
		svc.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyCluster
	}
	for i := range svc.Spec.Ports {
		p := &svc.Spec.Ports[i]
		if p.Protocol == "" {
			p.Protocol = v1.ProtocolTCP
		}
		if p.NodePort == 0 && before != nil {
			p.NodePort = nodePort(before.Spec.Ports, func(q v1.ServicePort) bool {
				return q.Port == p.Port && q.Protocol == p.Protocol
			})
		}
		if p.NodePort == 0 { // ports of one number share a node port
			p.NodePort = nodePort(svc.Spec.Ports[:i], func(q v1.ServicePort) bool {
				return q.Port == p.Port && q.Protocol != p.Protocol
			})
		}
		if p.NodePort == 0 {
			s.nodePorts++
			p.NodePort = 30000 + int32(s.nodePorts) //nolint:gosec // counts from 1 in every run
		}
	}
}

// nodePort returns the node port of the first port that matches, or 0.
func nodePort(ports []v1.ServicePort, matches func(v1.ServicePort) bool) int32 {
	for _, p := range ports {
		if matches(p) {
			return p.NodePort
		}
	}
	return 0
}

// ClientBuilder builds the same client for every controller.
type ClientBuilder struct{ Interface clientset.Interface }

// Config implements cloudprovider.ControllerClientBuilder.
func (b ClientBuilder) Config(string) (*restclient.Config, error) { return &restclient.Config{}, nil }

// ConfigOrDie implements cloudprovider.ControllerClientBuilder.
func (b ClientBuilder) ConfigOrDie(string) *restclient.Config { return &restclient.Config{} }

// Client implements cloudprovider.ControllerClientBuilder.
func (b ClientBuilder) Client(string) (clientset.Interface, error) {
	return b.Interface, nil
}

// ClientOrDie implements cloudprovider.ControllerClientBuilder.
func (b ClientBuilder) ClientOrDie(string) clientset.Interface { return b.Interface }
