package names

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"
)

// Everything in this file is written into users' NSX-T. The vSphere cloud controller manager writes the same, and finds
// its objects by the tags: none of it can ever change.

// The scopes of tags.
const (
	// TagOwner is the name of the manager that created the object: see App.
	TagOwner = "owner"
	// TagCluster is the value of the --cluster-name flag.
	TagCluster = "cluster"
	// TagService is the Service, as namespace/name.
	TagService = "service"
	// TagPort is the port of the Service, such as TCP/80.
	TagPort = "port"
	// TagPool is the ID of the IP pool of a virtual server's address.
	TagPool = "ippoolid"
	// TagClass is the load balancer class of a virtual server.
	TagClass = "lbclass"
	// TagPrefix is the prefix of the tags that only this manager writes.
	TagPrefix = "unified-ccm.io/"
	// TagClusterUID is the UID of the namespace kube-system. It distinguishes clusters of one name.
	TagClusterUID = TagPrefix + "cluster-uid"
	// TagApplied is the applied record of a Service, on one of its virtual servers. Earlier releases wrote it to the
	// allocation of its address.
	TagApplied = TagPrefix + "applied"
	// TagRouteCluster and TagRouteNode are the cluster and the node of a static route.
	TagRouteCluster = "vsphere.k8s.io/cluster-name"
	TagRouteNode    = "vsphere.k8s.io/node-name"
)

const (
	// App is the default value of TagOwner.
	App = "vsphere-cloud-controller-manager"
	// DefaultClass is the class of Services without an annotation.
	DefaultClass = "default"
	// ClassAnnotation selects the class of a Service.
	ClassAnnotation = "loadbalancer.vmware.io/class"
	// DefaultTCPProfile exists in every NSX-T.
	DefaultTCPProfile = "/infra/lb-app-profiles/default-tcp-lb-app-profile"
	// DefaultUDPProfile exists in every NSX-T.
	DefaultUDPProfile = "/infra/lb-app-profiles/default-udp-lb-app-profile"
)

// ClusterDisplay returns the display name of the cluster's load balancer service.
func ClusterDisplay(cluster string) string { return "cluster:" + cluster }

// ServiceDisplay returns the display name of the objects of a Service.
func ServiceDisplay(cluster, namespace, name string) string {
	return fmt.Sprintf("%s:%s/%s", ClusterDisplay(cluster), namespace, name)
}

// MonitorDisplay returns the display name of a monitor.
func MonitorDisplay(service string, port int32) string { return fmt.Sprintf("%s:%d", service, port) }

// MemberDisplay returns the display name of a pool member.
func MemberDisplay(cluster, node string) string { return cluster + ":" + node }

// objectSpace is the UUID namespace of ObjectID.
var objectSpace = uuid.MustParse("6e1b5c0a-5d3e-4c55-9f1c-0b7f0f7a9e42")

// ObjectID returns the ID of an object: the same for the same parts, so that a creation with a lost response is found.
// Objects of other managers have random IDs.
func ObjectID(parts ...string) string {
	return uuid.NewSHA1(objectSpace, fmt.Appendf(nil, "%q", parts)).String()
}

// FreeID returns the first ID of the parts that is not taken: that of the parts alone, or else one with a number. NSX-T
// does not accept the ID of an object that was deleted a few minutes ago.
func FreeID(isTaken func(id string) bool, parts ...string) string {
	for n := 1; ; n++ {
		if id := numberedID(n, parts); !isTaken(id) {
			return id
		}
	}
}

// numberedID returns the n-th ID of the parts, from 1.
func numberedID(n int, parts []string) string {
	if n > 1 {
		parts = append(slices.Clone(parts), strconv.Itoa(n))
	}
	return ObjectID(parts...)
}

// maxNumber is the highest number that IsIDOf recognizes. A Service that is retried needs less than ten until NSX-T
// accepts the first one again.
const maxNumber = 32

// IsIDOf reports whether FreeID returns an ID for these parts.
func IsIDOf(id string, parts ...string) bool {
	for n := 1; n <= maxNumber; n++ {
		if id == numberedID(n, parts) {
			return true
		}
	}
	return false
}

// RouteParts are the parts of the ID of the static route to a destination in a cluster.
func RouteParts(cluster, destination string) []string { return []string{"route", cluster, destination} }

// RouteDisplay returns the display name of a static route.
func RouteDisplay(cluster, node, destination string) string {
	return fmt.Sprintf("%s_%s_%s", cluster, node, destination)
}
