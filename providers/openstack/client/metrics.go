package client

import (
	"sync"
	"time"

	basemetrics "k8s.io/component-base/metrics"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/metrics"
)

// LegacyMetrics are the metrics of earlier managers, with their names and labels, for existing dashboards
// and alerts. A nil pointer records nothing.
type LegacyMetrics struct {
	duration *basemetrics.HistogramVec
	total    *basemetrics.CounterVec
	errors   *basemetrics.CounterVec

	// Calls of the service controller.
	reconcileDuration *basemetrics.HistogramVec
	reconcileTotal    *basemetrics.CounterVec
	reconcileErrors   *basemetrics.CounterVec
}

// newLegacyMetrics returns the metrics of the process, which are registered with the first call.
var newLegacyMetrics = sync.OnceValue(func() *LegacyMetrics {
	set := &metrics.Set{}
	m := &LegacyMetrics{
		duration: set.Histogram(metrics.Doc{
			Name: "openstack_api_request_duration_seconds", Labels: []string{"request"},
			Help: "Duration of requests to OpenStack services, under its earlier name: see " +
				"ccm_cloud_api_request_duration_seconds.",
		}, nil),
		total: set.Counter(metrics.Doc{
			Name: "openstack_api_requests_total", Labels: []string{"request"},
			Help: "Requests to OpenStack services, under its earlier name.",
		}),
		errors: set.Counter(metrics.Doc{
			Name: "openstack_api_request_errors_total", Labels: []string{"request"},
			Help: "Failed requests to OpenStack services, under its earlier name.",
		}),
		reconcileDuration: set.Histogram(metrics.Doc{
			Name: "cloudprovider_openstack_reconcile_duration_seconds", Labels: []string{"operation"},
			Help: "Duration of creating, updating or deleting a load balancer, under its earlier name: see " +
				"ccm_cloudprovider_request_duration_seconds.",
			// From 10 ms to 17 min, as in existing dashboards.
		}, []float64{0.01, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 100, 300, 1000}),
		reconcileTotal: set.Counter(metrics.Doc{
			Name: "cloudprovider_openstack_reconcile_total", Labels: []string{"operation"},
			Help: "Load balancers created, updated or deleted, under its earlier name.",
		}),
		reconcileErrors: set.Counter(metrics.Doc{
			Name: "cloudprovider_openstack_reconcile_errors_total", Labels: []string{"operation"},
			Help: "Load balancers whose creation, update or deletion failed, under its earlier name.",
		}),
	}
	set.Register()
	return m
})

// legacyRequest returns the label of an operation; "" for operations that were not measured.
func legacyRequest(operation string) string {
	return map[string]string{
		"ShowFlavor": "flavor_get", "ShowServer": "server_get", "ListServersDetailed": "server_list",
		"CreateFloatingIP": "floating_ip_create", "DeleteFloatingIP": "floating_ip_delete",
		"ListFloatingIPs": "floating_ip_list", "UpdateFloatingIP": "floating_ip_update",
		"CreateLoadBalancer": "loadbalancer_create", "DeleteLoadBalancer": "loadbalancer_delete",
		"ShowLoadBalancer": "loadbalancer_get", "ListLoadBalancers": "loadbalancer_list",
		"UpdateLoadBalancer": "loadbalancer_update", "CreateHealthMonitor": "loadbalancer_healthmonitor_create",
		"DeleteHealthMonitor": "loadbalancer_healthmonitor_delete",
		"ShowHealthMonitor":   "loadbalancer_healthmonitor_get",
		"UpdateHealthMonitor": "loadbalancer_healthmonitor_update", "CreateListener": "loadbalancer_listener_create",
		"DeleteListener": "loadbalancer_listener_delete", "ListListeners": "loadbalancer_listener_list",
		"UpdateListener": "loadbalancer_listener_update", "ListMembers": "loadbalancer_member_list",
		"BatchUpdateMembers": "loadbalancer_members_update", "CreatePool": "loadbalancer_pool_create",
		"DeletePool": "loadbalancer_pool_delete", "ListPools": "loadbalancer_pool_list",
		"UpdatePool": "loadbalancer_pool_update", "ListExtensions": "network_extension_list",
		"ListNetworks": "network_list", "ListPorts": "port_list", "UpdatePort": "port_update",
		"RemoveTag": "port_tag_delete", "ShowRouter": "router_get", "UpdateRouter": "router_update",
		"AddExtraRoutes": "router_update", "RemoveExtraRoutes": "router_update",
		"CreateSecurityGroup": "security_group_create", "DeleteSecurityGroup": "security_group_delete",
		"CreateSecurityGroupRule": "security_group_rule_create",
		"DeleteSecurityGroupRule": "security_group_rule_delete", "ShowSubnet": "subnet_get",
		"ListSubnets": "subnet_list", "ListVersions": "version_list",
	}[operation]
}

// observeCall records one attempt of a call.
func (m *LegacyMetrics) observeCall(call cloudapi.Call) {
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

// Reconcile records one call of the service controller.
func (m *LegacyMetrics) Reconcile(operation string, duration time.Duration, err error) {
	m.reconcileDuration.WithLabelValues(operation).Observe(duration.Seconds())
	m.reconcileTotal.WithLabelValues(operation).Inc()
	if err != nil {
		m.reconcileErrors.WithLabelValues(operation).Inc()
	}
}
