// Package names is everything that the provider writes into clouds and clusters and finds again by
// its name: load balancers and what is in them, security groups, floating IPs, tags and provider IDs.
// It is also what Kubernetes clusters on OpenStack contain today, so none of it can ever change:
// another byte would make a second load balancer beside the one in use.
package names

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// LoadBalancerPrefix begins the names of load balancers, and the tags that name their Services.
	LoadBalancerPrefix = "kube_service_"
	// maxName is the longest name that Octavia and Neutron store, in bytes.
	maxName = 255
	// maxLegacyName is how many characters names had that were created of the Service's UID.
	maxLegacyName = 32
)

// LoadBalancer is the name of a Service's load balancer, and the tag of everything that is for the
// Service. clusterName is the manager's --cluster-name. Names are cut at 255 bytes, so that two very
// long ones may be equal: the tag with the cluster's UID and the description distinguish them.
func LoadBalancer(clusterName string, service types.NamespacedName) string {
	return cut(LoadBalancerPrefix + clusterName + "_" + service.Namespace + "_" + service.Name)
}

// LegacyLoadBalancer is the name that load balancers had before, which stay in use.
func LegacyLoadBalancer(uid types.UID) string {
	name := "a" + strings.ReplaceAll(string(uid), "-", "")
	return name[:min(len(name), maxLegacyName)]
}

// LoadBalancerDescription describes a load balancer, internal ones too.
func LoadBalancerDescription(clusterName string, service types.NamespacedName) string {
	return fmt.Sprintf("Kubernetes external service %s from cluster %s", service, clusterName)
}

// Listener is the name of the listener for the port with that index in the Service's list.
func Listener(index int, loadBalancer string) string { return child("listener", index, loadBalancer) }

// Pool is the name of the pool for the port with that index.
func Pool(index int, loadBalancer string) string { return child("pool", index, loadBalancer) }

// HealthMonitor is the name of the health monitor for the port with that index.
func HealthMonitor(index int, loadBalancer string) string {
	return child("monitor", index, loadBalancer)
}

func child(kind string, index int, loadBalancer string) string {
	return cut(fmt.Sprintf("%s_%d_%s", kind, index, loadBalancer))
}

// SerialMember is the name of a member that is added by a call of its own. Members that are set all
// at once are named like their nodes.
func SerialMember(node, address string, port int) string {
	return cut(fmt.Sprintf("member_%s_%s_%d", node, address, port))
}

// SecurityGroup is the name of the group that opens a Service's node ports on the ports of nodes.
func SecurityGroup(uid types.UID, service types.NamespacedName) string {
	return cut(fmt.Sprintf("lb-sg-%s-%s-%s", uid, service.Namespace, service.Name))
}

// SecurityGroupDescription describes that group.
func SecurityGroupDescription(clusterName string, service types.NamespacedName) string {
	return fmt.Sprintf("Security Group for %s Service LoadBalancer in cluster %s", service, clusterName)
}

// FloatingIPMark is what the description of every floating IP begins with that was created for a
// Service. The owner follows from the whole description.
const FloatingIPMark = "Floating IP for Kubernetes external service"

// FloatingIPDescription describes a floating IP.
func FloatingIPDescription(clusterName string, service types.NamespacedName) string {
	return fmt.Sprintf("%s %s from cluster %s", FloatingIPMark, service, clusterName)
}

// cut shortens a name to what the APIs store, in bytes as names have always been cut.
func cut(name string) string { return name[:min(len(name), maxName)] }
