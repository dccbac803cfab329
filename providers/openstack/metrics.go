package openstack

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	basemetrics "k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
)

// legacyMetrics are those of managers before this one, under their names and with their labels,
// for dashboards and alerts. A nil pointer records nothing.
type legacyMetrics struct {
	duration *basemetrics.HistogramVec
	total    *basemetrics.CounterVec
	errors   *basemetrics.CounterVec

	// Of what the service controller asks for.
	reconcileDuration *basemetrics.HistogramVec
	reconcileTotal    *basemetrics.CounterVec
	reconcileErrors   *basemetrics.CounterVec
}

// newLegacyMetrics returns the metrics of the process, and exposes them with the first call.
var newLegacyMetrics = sync.OnceValue(func() *legacyMetrics {
	set := &metrics.Set{}
	m := &legacyMetrics{
		duration: set.Histogram(metrics.Doc{
			Name: "openstack_api_request_duration_seconds", Labels: []string{"request"},
			Help: "Seconds that a request to an OpenStack service took, under its name of before: see ccm_cloud_api_request_duration_seconds.",
		}, nil),
		total: set.Counter(metrics.Doc{
			Name: "openstack_api_requests_total", Labels: []string{"request"},
			Help: "Requests to OpenStack services, under their name of before.",
		}),
		errors: set.Counter(metrics.Doc{
			Name: "openstack_api_request_errors_total", Labels: []string{"request"},
			Help: "Requests to OpenStack services that failed, under their name of before.",
		}),
		reconcileDuration: set.Histogram(metrics.Doc{
			Name: "cloudprovider_openstack_reconcile_duration_seconds", Labels: []string{"operation"},
			Help: "Seconds that a load balancer took to make, update or delete, under its name of before: see ccm_cloudprovider_request_duration_seconds.",
			// From 10 ms to 17 min, as dashboards have them.
		}, []float64{0.01, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 100, 300, 1000}),
		reconcileTotal: set.Counter(metrics.Doc{
			Name: "cloudprovider_openstack_reconcile_total", Labels: []string{"operation"},
			Help: "Load balancers that were made, updated or deleted, under their name of before.",
		}),
		reconcileErrors: set.Counter(metrics.Doc{
			Name: "cloudprovider_openstack_reconcile_errors_total", Labels: []string{"operation"},
			Help: "Load balancers that could not be made, updated or deleted, under their name of before.",
		}),
	}
	set.Register()
	return m
})

// legacyRequest is what those metrics call an operation; "" for those that they do not know.
func legacyRequest(operation string) string {
	return map[string]string{
		"ShowFlavor": "flavor_get", "ShowServer": "server_get", "ListServersDetailed": "server_list",
		"CreateFloatingIP": "floating_ip_create", "DeleteFloatingIP": "floating_ip_delete", "ListFloatingIPs": "floating_ip_list", "UpdateFloatingIP": "floating_ip_update",
		"CreateLoadBalancer": "loadbalancer_create", "DeleteLoadBalancer": "loadbalancer_delete", "ShowLoadBalancer": "loadbalancer_get",
		"ListLoadBalancers": "loadbalancer_list", "UpdateLoadBalancer": "loadbalancer_update",
		"CreateHealthMonitor": "loadbalancer_healthmonitor_create", "DeleteHealthMonitor": "loadbalancer_healthmonitor_delete",
		"ShowHealthMonitor": "loadbalancer_healthmonitor_get", "UpdateHealthMonitor": "loadbalancer_healthmonitor_update",
		"CreateListener": "loadbalancer_listener_create", "DeleteListener": "loadbalancer_listener_delete",
		"ListListeners": "loadbalancer_listener_list", "UpdateListener": "loadbalancer_listener_update",
		"ListMembers": "loadbalancer_member_list", "BatchUpdateMembers": "loadbalancer_members_update",
		"CreatePool": "loadbalancer_pool_create", "DeletePool": "loadbalancer_pool_delete", "ListPools": "loadbalancer_pool_list", "UpdatePool": "loadbalancer_pool_update",
		"ListExtensions": "network_extension_list", "ListNetworks": "network_list", "ListPorts": "port_list", "UpdatePort": "port_update", "RemoveTag": "port_tag_delete",
		"ShowRouter": "router_get", "UpdateRouter": "router_update", "AddExtraRoutes": "router_update", "RemoveExtraRoutes": "router_update",
		"CreateSecurityGroup": "security_group_create", "DeleteSecurityGroup": "security_group_delete",
		"CreateSecurityGroupRule": "security_group_rule_create", "DeleteSecurityGroupRule": "security_group_rule_delete",
		"ShowSubnet": "subnet_get", "ListSubnets": "subnet_list", "ListVersions": "version_list",
	}[operation]
}

// answered records one attempt.
func (m *legacyMetrics) answered(call cloudapi.Call) {
	if m == nil || !call.Sent {
		return
	}
	name := legacyRequest(call.Operation)
	if name == "" {
		return
	}
	m.duration.WithLabelValues(name).Observe(call.Duration.Seconds())
	m.total.WithLabelValues(name).Inc()
	if call.Class != "" {
		m.errors.WithLabelValues(name).Inc()
	}
}

// What those metrics call the requests of the service controller.
const (
	reconcileEnsure = "loadbalancer_ensure"
	reconcileUpdate = "loadbalancer_update"
	reconcileDelete = "loadbalancer_delete"
)

// reconciled records one request of the service controller.
func (m *legacyMetrics) reconciled(operation string, took time.Duration, err error) {
	m.reconcileDuration.WithLabelValues(operation).Observe(took.Seconds())
	m.reconcileTotal.WithLabelValues(operation).Inc()
	if err != nil {
		m.reconcileErrors.WithLabelValues(operation).Inc()
	}
}

// measured are load balancers whose reconciliations are recorded under the names of before.
type measured struct {
	*balancers
	metrics *legacyMetrics
	clock   clock.PassiveClock
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer.
func (m measured) EnsureLoadBalancer(ctx context.Context, clusterName string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	start := m.clock.Now()
	status, err := m.balancers.EnsureLoadBalancer(ctx, clusterName, service, nodes)
	m.metrics.reconciled(reconcileEnsure, m.clock.Since(start), err)
	return status, err
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer.
func (m measured) UpdateLoadBalancer(ctx context.Context, clusterName string, service *v1.Service, nodes []*v1.Node) error {
	start := m.clock.Now()
	err := m.balancers.UpdateLoadBalancer(ctx, clusterName, service, nodes)
	m.metrics.reconciled(reconcileUpdate, m.clock.Since(start), err)
	return err
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer.
func (m measured) EnsureLoadBalancerDeleted(ctx context.Context, clusterName string, service *v1.Service) error {
	start := m.clock.Now()
	err := m.balancers.EnsureLoadBalancerDeleted(ctx, clusterName, service)
	m.metrics.reconciled(reconcileDelete, m.clock.Since(start), err)
	return err
}
