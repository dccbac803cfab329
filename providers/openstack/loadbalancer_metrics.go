package openstack

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/openstack/client"
)

// Labels of the service controller's calls in the legacy metrics.
const (
	reconcileEnsure = "loadbalancer_ensure"
	reconcileUpdate = "loadbalancer_update"
	reconcileDelete = "loadbalancer_delete"
)

// measuredBalancers records the calls of the service controller in the legacy metrics.
type measuredBalancers struct {
	*lbcommon.Controller
	metrics *client.LegacyMetrics
	clock   clock.PassiveClock
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (m measuredBalancers) EnsureLoadBalancer(
	ctx context.Context, clusterName string, service *v1.Service, nodes []*v1.Node,
) (*v1.LoadBalancerStatus, error) {
	start := m.clock.Now()
	status, err := m.Controller.EnsureLoadBalancer(ctx, clusterName, service, nodes)
	m.metrics.Reconcile(reconcileEnsure, m.clock.Since(start), err)
	return status, err
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer.
func (m measuredBalancers) UpdateLoadBalancer(
	ctx context.Context, clusterName string, service *v1.Service, nodes []*v1.Node,
) error {
	start := m.clock.Now()
	err := m.Controller.UpdateLoadBalancer(ctx, clusterName, service, nodes)
	m.metrics.Reconcile(reconcileUpdate, m.clock.Since(start), err)
	return err
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (m measuredBalancers) EnsureLoadBalancerDeleted(
	ctx context.Context, clusterName string, service *v1.Service,
) error {
	start := m.clock.Now()
	err := m.Controller.EnsureLoadBalancerDeleted(ctx, clusterName, service)
	m.metrics.Reconcile(reconcileDelete, m.clock.Since(start), err)
	return err
}
