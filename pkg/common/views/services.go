package views

import (
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// Services is an informer of some of the Services.
type Services struct {
	*view[*v1.Service]
	lister corelisters.ServiceLister
}

var _ coreinformers.ServiceInformer = (*Services)(nil)

// OfServices returns the view of Services as the function returns them. It must not change its argument, and returns
// false for a Service that is not in the view.
func OfServices(services coreinformers.ServiceInformer, show func(*v1.Service) (*v1.Service, bool)) *Services {
	return &Services{view: &view[*v1.Service]{informer: services.Informer(), show: show}, lister: services.Lister()}
}

// Informer implements coreinformers.ServiceInformer.
func (s *Services) Informer() cache.SharedIndexInformer {
	return filteredInformer[*v1.Service]{s.informer, s.view}
}

// Lister implements coreinformers.ServiceInformer.
func (s *Services) Lister() corelisters.ServiceLister { return serviceLister{s.lister, s.view} }

type serviceLister struct {
	corelisters.ServiceLister
	view *view[*v1.Service]
}

// List implements corelisters.ServiceLister.
func (l serviceLister) List(selector labels.Selector) ([]*v1.Service, error) {
	all, err := l.ServiceLister.List(selector)
	return l.view.filter(all), err
}

// Services implements corelisters.ServiceLister.
func (l serviceLister) Services(namespace string) corelisters.ServiceNamespaceLister {
	return namespaceLister{l.ServiceLister.Services(namespace), l.view}
}

type namespaceLister struct {
	corelisters.ServiceNamespaceLister
	view *view[*v1.Service]
}

// List implements corelisters.ServiceNamespaceLister.
func (l namespaceLister) List(selector labels.Selector) ([]*v1.Service, error) {
	all, err := l.ServiceNamespaceLister.List(selector)
	return l.view.filter(all), err
}

// Get implements corelisters.ServiceNamespaceLister.
func (l namespaceLister) Get(name string) (*v1.Service, error) {
	service, err := l.ServiceNamespaceLister.Get(name)
	if err != nil {
		return nil, err
	}
	if seen, ok := l.view.show(service); ok {
		return seen, nil
	}
	return nil, apierrors.NewNotFound(v1.Resource("services"), name)
}
