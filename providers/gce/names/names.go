// Package names has the names, descriptions and provider IDs that are written into clusters and projects and can never
// change: those of the manager that Kubernetes had for this cloud before, byte for byte.
package names

import (
	"crypto/sha1" //nolint:gosec // a part of existing names
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Scheme is the registry key, the scheme of provider IDs and the metric label.
const Scheme = "gce"

const (
	// maxBalancer is the length limit of the names of load balancers: the last digit of a UID falls off.
	maxBalancer = 32
	// noUID stands for the UID of a Service that the API server has not seen yet.
	noUID = "0000000000000000000000000000000"

	serviceKey = "kubernetes.io/service-name"
	addressKey = "kubernetes.io/service-ip"
	clusterKey = "kubernetes.io/cluster-id"

	// RouteDescription marks the routes of nodes.
	RouteDescription = "k8s-node-route"
	// maxRoutePrefix is the length limit of the cluster's name in the names of routes.
	maxRoutePrefix = 26
	maxRoute       = 63
)

// Balancer returns the name of the forwarding rule, pool, backend service and address of a Service.
func Balancer(uid string) string {
	uid = strings.ReplaceAll(uid, "-", "")
	if uid == "" {
		uid = noUID
	}
	name := "a" + uid
	return name[:min(len(name), maxBalancer)]
}

// Firewall returns the name of the firewall that allows the traffic of a load balancer.
func Firewall(balancer string) string { return "k8s-fw-" + balancer }

// DenyFirewall returns the name of the firewall that denies all other traffic to a load balancer.
func DenyFirewall(balancer string) string { return Firewall(balancer) + "-deny" }

// OldFirewall returns the name that earlier releases gave to the firewall of an internal load balancer.
func OldFirewall(balancer string) string { return balancer }

// NodeHealthCheck returns the name of the health check of nodes, which all Services of a cluster share.
func NodeHealthCheck(clusterID string) string { return "k8s-" + clusterID + "-node" }

// IsNodeHealthCheck reports whether a name is that of a health check of nodes, of any cluster.
func IsNodeHealthCheck(name string) bool {
	return strings.HasPrefix(name, "k8s-") && strings.HasSuffix(name, "-node")
}

// PoolHealthFirewall returns the name of the firewall that allows the probes of a target pool with its own health
// check.
func PoolHealthFirewall(balancer string) string { return "k8s-" + balancer + "-http-hc" }

// NodePoolHealthFirewall returns the name of the firewall for the probes of all target pools with the shared health
// check.
func NodePoolHealthFirewall(clusterID string) string { return NodeHealthCheck(clusterID) + "-http-hc" }

// BackendHealthFirewall returns the name of the firewall for the probes of a health check of internal load balancers.
func BackendHealthFirewall(healthCheck string) string { return healthCheck + "-hc" }

// InstanceGroup returns the name of the instance group of a cluster in each zone. Other controllers use it too.
func InstanceGroup(clusterID string) string {
	if clusterID == "" {
		return "k8s-ig"
	}
	return "k8s-ig--" + clusterID
}

// SharedBackend returns the name of the backend service that internal load balancers of one protocol and affinity
// share. The affinity is that of the Service: None or ClientIP.
func SharedBackend(clusterID, protocol, affinity string) string {
	sum := sha1.Sum([]byte(affinity)) //nolint:gosec // a part of existing names
	return "k8s-" + clusterID + "-internal-" + strings.ToLower(protocol) + "-nmv1-" + hex.EncodeToString(sum[:])[:16]
}

// Description returns the description of the objects of a Service, or of one with the name of an object.
func Description(service string) string { return `{"` + serviceKey + `":` + quote(service) + `}` }

// FirewallDescription returns the description of the firewall of a Service.
func FirewallDescription(service, address string) string {
	return `{"` + serviceKey + `":` + quote(service) + `, "` + addressKey + `":` + quote(address) + `}`
}

// ClusterDescription returns the description of the firewall for the probes of the shared health check of target pools.
func ClusterDescription(clusterID string) string {
	return `{"` + clusterKey + `":` + quote(clusterID) + `}`
}

// quote returns a JSON string. Names of Kubernetes need no escapes.
func quote(text string) string { return `"` + text + `"` }

// ServiceOf returns the Service in the description of an object, as namespace/name; "" without one.
func ServiceOf(description string) string {
	var fields map[string]string
	if json.Unmarshal([]byte(description), &fields) != nil {
		return ""
	}
	return fields[serviceKey]
}

// RoutePrefix returns the beginning of the names of a cluster's routes.
func RoutePrefix(clusterName string) string {
	return clusterName[:min(len(clusterName), maxRoutePrefix)] + "-"
}

// Route returns the name of the route to the pods of a node. The second family of a node has a suffix, for which the
// node's UID is shortened if the name is too long.
func Route(clusterName, nodeUID string, second bool) string {
	name, suffix := RoutePrefix(clusterName)+nodeUID, ""
	if second {
		suffix = "-v6"
	}
	return name[:min(len(name), maxRoute-len(suffix))] + suffix
}
