// Package statustest keeps the conditions of Services for tests, as the API server does: a new manager knows what an
// earlier one has stored in them.
package statustest

import (
	"context"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Services are the conditions of Services, by UID. The zero value has none.
type Services struct {
	mu         sync.Mutex
	conditions map[types.UID][]metav1.Condition
}

// set is the SetCondition of a provider.Runtime.
func (s *Services) set(_ context.Context, service *v1.Service, condition metav1.Condition) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conditions == nil {
		s.conditions = map[types.UID][]metav1.Condition{}
	}
	conditions := slices.Clone(s.conditions[service.UID])
	if condition.Status == "" {
		meta.RemoveStatusCondition(&conditions, condition.Type)
	} else {
		meta.SetStatusCondition(&conditions, condition)
	}
	s.conditions[service.UID] = conditions
	return nil
}

// current returns a Service with its conditions.
func (s *Services) current(service *v1.Service) *v1.Service {
	if service == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := *service
	out.Status.Conditions = s.conditions[service.UID]
	return &out
}

// Manager is a Controller whose Services have their conditions.
type Manager struct {
	*lbcommon.Controller
	services *Services
}

// New returns a Manager over a Controller.
func New(c *lbcommon.Controller, services *Services, runtime provider.Runtime) *Manager {
	runtime.SetCondition = services.set
	c.SetRuntime(runtime)
	return &Manager{Controller: c, services: services}
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (m *Manager) EnsureLoadBalancer(ctx context.Context, clusterName string, service *v1.Service,
	nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	return m.Controller.EnsureLoadBalancer(ctx, clusterName, m.services.current(service), nodes)
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer.
func (m *Manager) UpdateLoadBalancer(ctx context.Context, clusterName string, service *v1.Service,
	nodes []*v1.Node) error {
	return m.Controller.UpdateLoadBalancer(ctx, clusterName, m.services.current(service), nodes)
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (m *Manager) EnsureLoadBalancerDeleted(ctx context.Context, clusterName string,
	service *v1.Service) error {
	return m.Controller.EnsureLoadBalancerDeleted(ctx, clusterName, m.services.current(service))
}

// PlanLoadBalancer implements lbcommon.Planner.
func (m *Manager) PlanLoadBalancer(ctx context.Context, clusterName string, service *v1.Service,
	nodes []*v1.Node, o lbcommon.PlanOptions) (plan.Plan, error) {
	return m.Controller.PlanLoadBalancer(ctx, clusterName, m.services.current(service), nodes, o)
}

// AuditLoadBalancer implements lbcommon.Auditor.
func (m *Manager) AuditLoadBalancer(ctx context.Context, clusterName string,
	current lbcommon.CurrentFunc) (plan.Plan, *v1.LoadBalancerStatus, error) {
	return m.Controller.AuditLoadBalancer(ctx, clusterName, func() (*v1.Service, []*v1.Node) {
		service, nodes := current()
		return m.services.current(service), nodes
	})
}
