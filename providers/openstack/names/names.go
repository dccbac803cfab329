// Package names has all names that the provider writes into clouds and clusters and finds objects by: of load
// balancers and their parts, security groups, floating IPs, tags and provider IDs. Existing clusters on
// OpenStack contain them, so none can ever change: a different byte would create a second load balancer
// beside the one in use.
package names

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// LoadBalancerPrefix is the prefix of the names of load balancers, and of the tags with the names of their
	// Services.
	LoadBalancerPrefix = "kube_service_"
	// maxName is the maximum length of names in Octavia and Neutron, in bytes.
	maxName = 255
	// maxLegacyName is the length of earlier names, which were derived from the Service's UID.
	maxLegacyName = 32
)

// LoadBalancer returns the name of a Service's load balancer, which is also the tag of all objects of the
// Service. clusterName is the manager's --cluster-name. Names are cut at 255 bytes, so that two very long
// ones may be equal: the tag with the cluster's UID and the description distinguish them.
func LoadBalancer(clusterName string, service types.NamespacedName) string {
	return cut(LoadBalancerPrefix + clusterName + "_" + service.Namespace + "_" + service.Name)
}

// ParseLoadBalancer returns the cluster's name in the name of a load balancer, and the namespace and name of its
// Service. Neither of the latter can have an underscore. It is false for other names, and for those that may be cut.
func ParseLoadBalancer(name string) (cluster, service string, ok bool) {
	rest, ok := strings.CutPrefix(name, LoadBalancerPrefix)
	parts := strings.Split(rest, "_")
	if !ok || len(parts) < 3 || IsCut(name) {
		return "", "", false
	}
	i := len(parts) - 2
	return strings.Join(parts[:i], "_"), parts[i] + "/" + parts[i+1], true
}

// LegacyLoadBalancer returns the earlier name of a load balancer; existing ones keep it.
func LegacyLoadBalancer(uid types.UID) string {
	name := "a" + strings.ReplaceAll(string(uid), "-", "")
	return name[:min(len(name), maxLegacyName)]
}

// IsLegacy reports whether a name is an earlier one of a Service's load balancer.
func IsLegacy(name string) bool {
	digits, ok := strings.CutPrefix(name, "a")
	return ok && len(name) == maxLegacyName && strings.Trim(digits, "0123456789abcdef") == ""
}

// Parts of the descriptions of load balancers and floating IPs.
const (
	loadBalancerMark = "Kubernetes external service"
	fromCluster      = " from cluster "
)

// LoadBalancerDescription returns the description of a load balancer, also of an internal one.
func LoadBalancerDescription(clusterName string, service types.NamespacedName) string {
	return loadBalancerMark + " " + service.String() + fromCluster + clusterName
}

// ParseLoadBalancerDescription returns the namespace and name of a Service, and its cluster.
func ParseLoadBalancerDescription(description string) (service, cluster string, ok bool) {
	return parseDescription(loadBalancerMark, description)
}

func parseDescription(mark, description string) (service, cluster string, ok bool) {
	rest, ok := strings.CutPrefix(description, mark+" ")
	service, cluster, _ = strings.Cut(rest, fromCluster)
	return service, cluster, ok
}

// Listener returns the name of the listener for the port with that index in the Service's list.
func Listener(index int, loadBalancer string) string { return child("listener", index, loadBalancer) }

// Pool returns the name of the pool for the port with that index.
func Pool(index int, loadBalancer string) string { return child("pool", index, loadBalancer) }

// HealthMonitor returns the name of the health monitor for the port with that index.
func HealthMonitor(index int, loadBalancer string) string {
	return child("monitor", index, loadBalancer)
}

func child(kind string, index int, loadBalancer string) string {
	return cut(fmt.Sprintf("%s_%d_%s", kind, index, loadBalancer))
}

// SerialMember returns the name of a member that is added by its own call. Members that are set in bulk have
// the names of their nodes.
func SerialMember(node, address string, port int) string {
	return cut(fmt.Sprintf("member_%s_%s_%d", node, address, port))
}

// Parts of the name and the description of a security group. uidLength is the length of UIDs.
const (
	groupPrefix      = "lb-sg-"
	groupDescription = "Security Group for "
	groupCluster     = " Service LoadBalancer in cluster "
	uidLength        = 36
)

// SecurityGroup returns the name of the group that opens a Service's node ports on the ports of nodes.
func SecurityGroup(uid types.UID, service types.NamespacedName) string {
	return cut(fmt.Sprintf("%s%s-%s-%s", groupPrefix, uid, service.Namespace, service.Name))
}

// SecurityGroupDescription returns the description of that group.
func SecurityGroupDescription(clusterName string, service types.NamespacedName) string {
	return groupDescription + service.String() + groupCluster + clusterName
}

// ParseSecurityGroup returns the UID of a Service, its namespace and name, and its cluster, from the name and the
// description of its security group.
func ParseSecurityGroup(name, description string) (uid, service, cluster string, ok bool) {
	rest, named := strings.CutPrefix(name, groupPrefix)
	text, described := strings.CutPrefix(description, groupDescription)
	service, cluster, ok = strings.Cut(text, groupCluster)
	if !ok || !named || !described || len(rest) < uidLength {
		return "", "", "", false
	}
	return rest[:uidLength], service, cluster, true
}

// FloatingIPMark is the prefix of the description of every floating IP that was created for a Service. The
// complete description identifies the owner.
const FloatingIPMark = "Floating IP for " + loadBalancerMark

// FloatingIPDescription returns the description of a floating IP.
func FloatingIPDescription(clusterName string, service types.NamespacedName) string {
	return FloatingIPMark + " " + service.String() + fromCluster + clusterName
}

// ParseFloatingIPDescription returns the namespace and name of a Service, and its cluster.
func ParseFloatingIPDescription(description string) (service, cluster string, ok bool) {
	return parseDescription(FloatingIPMark, description)
}

// IsCut reports whether a name may have been cut.
func IsCut(name string) bool { return len(name) >= maxName }

// cut shortens a name to the limit of the APIs, in bytes as names have always been cut.
func cut(name string) string { return name[:min(len(name), maxName)] }
