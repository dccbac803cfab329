package assign

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	servicehelper "k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/locks"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/pkg/common/views"
)

// DefaultMoveDelay is how long both load balancers of a move work: as long as resolvers commonly keep the address of a
// DNS record that follows the status of the Service.
const DefaultMoveDelay = 5 * time.Minute

// ServiceCloud is one of the clouds that may have the load balancer of a Service.
type ServiceCloud struct {
	Name string
	// Balancer has the load balancers of the cloud, with the guards; nil for a cloud without any.
	Balancer loadbalancer.Interface
	// Started reports whether the cloud can answer.
	Started func() bool
}

// ServicesOptions configure NewServices.
type ServicesOptions struct {
	Choice
	// Clouds are those of Choice, in its order.
	Clouds      []ServiceCloud
	ClusterName string
	Informer    coreinformers.ServiceInformer
	// MoveDelay is how long the old load balancer stays once the new one has an address.
	MoveDelay time.Duration
	// CloudOfNode returns the cloud that the Node of a name belongs to; empty for none of Clouds. With one cloud, it is
	// not called.
	CloudOfNode func(node string) string
	// Clock is the real one if nil.
	Clock clock.Clock
}

// Services decides which cloud has the load balancer of each Service of a cluster. With one cloud, it keeps away from
// Services that are recorded for another one, and records nothing.
type Services struct {
	options ServicesOptions
	lister  corelisters.ServiceLister
	clock   clock.Clock
	runner  *runner
	// endpoints checks where the endpoints of Services are.
	endpoints *runner
	recorder  recorder
	views     map[string]*views.Services
	// changes are the locks of load balancers, by cloud and Service.
	changes locks.KeyedMutex

	// ready is closed once there is access to the cluster.
	ready     chan struct{}
	readyOnce sync.Once

	mu      sync.Mutex
	runtime provider.Runtime
	states  map[types.UID]*serviceState
}

// serviceState is what this process knows about one Service.
type serviceState struct {
	record Record
	// known is set once there is a record.
	known bool
	// stored is the record that was written last, and storedAt when: an informer may still have the one before.
	stored   Record
	storedAt time.Time
	// held is the message of the condition ConditionMoveHeld that was written last.
	held string
	// ready is set once the load balancer of the owner has an address.
	ready bool
}

// SetRuntime sets the manager's access to the cluster. Run waits for it. Further calls have no effect: the clouds of a
// process have the same access.
func (s *Services) SetRuntime(r provider.Runtime) {
	s.readyOnce.Do(func() {
		s.recorder.set(r.Recorder)
		s.mu.Lock()
		s.runtime = r
		s.mu.Unlock()
		close(s.ready)
	})
}

// Of returns the informer of the Services whose load balancers a cloud has, or had before a move, as the framework's
// service controller has to see them.
func (s *Services) Of(cloud string) *views.Services { return s.views[cloud] }

// OwnedBy returns the informer of the Services whose load balancers a cloud has.
func (s *Services) OwnedBy(cloud string) *views.Services {
	return views.OfServices(s.options.Informer, func(service *v1.Service) (*v1.Service, bool) {
		seen, ok := s.show(cloud, service)
		return seen, ok && s.Role(cloud, service) == Owning
	})
}

// Seen returns all Services as a cloud sees them: those that it has nothing to do with are those of another controller.
func (s *Services) Seen(cloud string) ([]*v1.Service, error) {
	all, err := s.lister.List(labels.Everything())
	seen := make([]*v1.Service, 0, len(all))
	for _, service := range all {
		own, ok := s.show(cloud, service)
		if !ok {
			own = loadbalancer.Unselected(service)
		}
		seen = append(seen, own)
	}
	return seen, err
}

// show returns a Service as a cloud's controller has to see it, and false if it has nothing to do with it.
func (s *Services) show(cloud string, service *v1.Service) (*v1.Service, bool) {
	role := s.Role(cloud, service)
	if role == None {
		return nil, false
	}
	// The class may be that of the cloud that a held move leads to.
	selected, _ := s.options.Of(service)
	seen := s.options.show(cmp.Or(selected, cloud), service)
	// The owner's controller deletes what both have, and removes the finalizer after that.
	return seen, role == Owning || loadbalancer.WantsLoadBalancer(seen)
}

// Role returns the role of a cloud for a Service.
func (s *Services) Role(cloud string, service *v1.Service) Role {
	r, known := s.known(service)
	if !known && len(s.options.Clouds) == 1 {
		return Owning
	}
	return r.RoleOf(cloud)
}

// known returns the record of a Service: that of this process, or the one in its status.
func (s *Services) known(service *v1.Service) (Record, bool) {
	s.mu.Lock()
	state := s.states[service.UID]
	if state != nil && state.known {
		r := state.record
		s.mu.Unlock()
		return r, true
	}
	s.mu.Unlock()
	return StoredRecord(service)
}

// update changes the state of a Service.
func (s *Services) update(uid types.UID, change func(*serviceState)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.states[uid]
	if state == nil {
		state = &serviceState{}
		s.states[uid] = state
	}
	change(state)
}

// state returns a copy of the state of a Service.
func (s *Services) state(uid types.UID) serviceState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state := s.states[uid]; state != nil {
		return *state
	}
	return serviceState{}
}

// cloud returns the cloud of a name.
func (s *Services) cloud(name string) (ServiceCloud, bool) {
	i := slices.IndexFunc(s.options.Clouds, func(c ServiceCloud) bool { return c.Name == name })
	if i < 0 {
		return ServiceCloud{}, false
	}
	return s.options.Clouds[i], true
}

// selectsNone reports whether a Service wants a load balancer of a cloud that is none of these.
func (s *Services) selectsNone(service *v1.Service) bool {
	_, problem := s.options.Of(service)
	return service.Spec.Type == v1.ServiceTypeLoadBalancer && problem != ""
}

func (s *Services) forget(object any) {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = tombstone.Obj
	}
	if service, ok := object.(*v1.Service); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.states, service.UID)
	}
}

// get returns the Service of a key, and false if it was deleted.
func (s *Services) get(key string) (*v1.Service, bool) {
	name, err := cache.ParseObjectName(key)
	if err != nil {
		return nil, false // Keys are made by this package.
	}
	service, err := s.lister.Services(name.Namespace).Get(name.Name)
	return service, err == nil
}

// isLeft reports whether a Service stays without a load balancer, and has none any more.
func (s *Services) isLeft(service *v1.Service) bool {
	return service.Spec.Type != v1.ServiceTypeLoadBalancer && !servicehelper.HasLBFinalizer(service) &&
		service.DeletionTimestamp.IsZero()
}

// errNotStarted is the reason why a cloud says nothing about load balancers yet.
var errNotStarted = errors.New("the cloud has not started")
