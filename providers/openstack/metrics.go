package openstack

import (
	"sync"

	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// legacyMetrics are those of managers before this one, under their names and with their labels,
// for dashboards and alerts. A nil pointer records nothing.
type legacyMetrics struct {
	duration *metrics.HistogramVec
	total    *metrics.CounterVec
	errors   *metrics.CounterVec
}

// newLegacyMetrics returns the metrics of the process, and exposes them with the first call.
var newLegacyMetrics = sync.OnceValue(func() *legacyMetrics {
	const stage = metrics.ALPHA
	m := &legacyMetrics{
		duration: metrics.NewHistogramVec(&metrics.HistogramOpts{
			Name: "openstack_api_request_duration_seconds", StabilityLevel: stage,
			Help: "Latency of an OpenStack API call. See ccm_cloud_api_request_duration_seconds.",
		}, []string{"request"}),
		total: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "openstack_api_requests_total", StabilityLevel: stage,
			Help: "Total number of OpenStack API calls.",
		}, []string{"request"}),
		errors: metrics.NewCounterVec(&metrics.CounterOpts{
			Name: "openstack_api_request_errors_total", StabilityLevel: stage,
			Help: "Total number of errors for an OpenStack API call.",
		}, []string{"request"}),
	}
	legacyregistry.MustRegister(m.duration, m.total, m.errors)
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

// answered records one request.
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
