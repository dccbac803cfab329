package assign

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/views"
)

// NewServices returns the assignment of the Services of an informer. It makes no call before Run.
func NewServices(o ServicesOptions) *Services {
	s := &Services{
		options: o, lister: o.Informer.Lister(), clock: clocks.OrReal(o.Clock), recorder: newRecorder(),
		views: map[string]*views.Services{}, states: map[types.UID]*serviceState{}, ready: make(chan struct{}),
	}
	s.runner = newRunner("service-assignment", s.sync)
	s.endpoints = newRunner("service-endpoints", s.checkEndpoints)
	for _, cloud := range o.Clouds {
		s.views[cloud.Name] = views.OfServices(o.Informer, func(service *v1.Service) (*v1.Service, bool) {
			return s.show(cloud.Name, service)
		})
	}
	return s
}

// Run decides until ctx ends.
func (s *Services) Run(ctx context.Context) error {
	defer s.runner.queue.ShutDown()
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil
	}
	_, err := s.options.Informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    s.queue,
		UpdateFunc: func(_, after any) { s.queue(after) },
		DeleteFunc: s.forget,
	})
	if err != nil {
		return fmt.Errorf("watching Services: %w", err)
	}
	go s.endpoints.run(ctx)
	s.runner.run(ctx)
	return nil
}

// Retry decides again about all Services that wait, because a cloud has started.
func (s *Services) Retry() {
	all, err := s.lister.List(labels.Everything())
	if err != nil {
		return // The lister of an informer returns none.
	}
	for _, service := range all {
		if _, known := s.known(service); !known {
			s.queue(service)
		}
	}
}

// queue queues a Service that has or wants a load balancer.
func (s *Services) queue(object any) {
	service, ok := object.(*v1.Service)
	if !ok {
		return
	}
	s.queueEndpoints(service)
	_, stored := StoredRecord(service)
	if stored || len(s.options.Clouds) > 1 && (s.options.wants(service) || mayHave(service) || s.selectsNone(service)) {
		s.runner.add(cache.MetaObjectToName(service).String())
	}
}

// sync decides about the Service of a key. It returns when to decide again.
func (s *Services) sync(ctx context.Context, key string) (time.Duration, error) {
	service, ok := s.get(key)
	if !ok {
		return 0, nil
	}
	r, known := s.known(service)
	switch {
	case known && s.isLeft(service):
		return 0, s.leave(ctx, service, r)
	case known:
		return s.follow(ctx, service, r)
	case len(s.options.Clouds) == 1:
		return 0, nil
	}
	r, found, err := s.find(ctx, service)
	if err != nil || !found {
		return 0, err
	}
	return 0, s.store(ctx, service, r)
}

// find returns the cloud of a Service without a record: that which has its load balancer or, if none has, the selected
// one. It returns false if that is none of these clouds.
func (s *Services) find(ctx context.Context, service *v1.Service) (Record, bool, error) {
	choice, problem := s.options.Of(service)
	r := Record{UID: service.UID, Owner: choice}
	if mayHave(service) && (choice != "" || problem != "") {
		owner, err := s.findExisting(ctx, service, choice)
		if err != nil {
			return r, false, err
		}
		if owner != "" {
			r.Owner = owner
		}
	}
	if r.Owner == "" && problem != "" {
		s.recorder.sendOnce(service, events.LoadBalancerCloudMissing, "This Service gets no load balancer: "+problem+".")
	}
	return r, r.Owner != "", nil
}

// findExisting returns the cloud that has the load balancer of a Service, or "". The selected cloud comes first: if it
// has the load balancer, a cloud that does not answer is not asked. Otherwise all have to answer.
func (s *Services) findExisting(ctx context.Context, service *v1.Service, choice string) (string, error) {
	if cloud, ok := s.cloud(choice); ok {
		if exists, err := s.has(ctx, cloud, service); err != nil || exists {
			return choice, err
		}
	}
	others := slices.DeleteFunc(slices.Clone(s.options.Clouds), func(c ServiceCloud) bool { return c.Name == choice })
	names, err := asked(others, func(cloud ServiceCloud) (string, bool, error) {
		exists, err := s.has(ctx, cloud, service)
		return cloud.Name, exists, err
	})
	if err != nil || len(names) == 0 {
		return "", err
	}
	if len(names) > 1 {
		s.recorder.sendOnce(service, events.LoadBalancerOwnerConflict, fmt.Sprintf("%s have a load balancer of this "+
			"Service. That of %s is used; the others stay until they are deleted.", strings.Join(names, " and "), names[0]))
	}
	return names[0], nil
}

// has reports whether a cloud has the load balancer of a Service, or any part of it.
func (s *Services) has(ctx context.Context, cloud ServiceCloud, service *v1.Service) (bool, error) {
	if cloud.Balancer == nil {
		return false, nil
	}
	if !cloud.Started() {
		return false, errNotStarted
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, exists, err := cloud.Balancer.GetLoadBalancer(ctx, s.options.ClusterName, removed(service, s.clock.Now()))
	return exists, err
}
