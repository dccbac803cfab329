// Package annotation knows the Service annotations that the AWS provider honours: it documents
// them, and reads them once into typed options, every problem named with its key, its value and
// what to write instead. Both generations of load balancers build on the same options.
package annotation

import "time"

// Type says which kind of load balancer a Service asks for.
type Type string

// The types. They are what Services get today: a value that is none of these means Classic, and is warned about.
const (
	Classic Type = "classic"
	Network Type = "nlb"
	// Elsewhere is a load balancer that the AWS Load Balancer Controller makes.
	Elsewhere Type = "elsewhere"
)

// Options are what a Service's own AWS annotations and the portable ones ask for together. Zero
// values mean that nothing is asked, and that the load balancer's generation has its own default.
type Options struct {
	Type     Type
	Internal bool
	// Name of a network load balancer; empty for the one that is derived from the Service.
	Name string
	// Subnets are IDs or Name tags, in the order written.
	Subnets []string
	// SecurityGroups replace the managed one, ExtraSecurityGroups come on top. IDs, in the order written.
	SecurityGroups, ExtraSecurityGroups []string
	// Allocations are IDs of Elastic IPs, PrivateIPv4 and IPv6 addresses: one for each subnet, in its order.
	Allocations, PrivateIPv4, IPv6 []string
	// Tags that the Service asks for on every object.
	Tags map[string]string

	// Certificates are ARNs; the first is the default one.
	Certificates []string
	// TLSPorts are numbers or names; nil means all. It matters only with Certificates.
	TLSPorts []string
	// TLSPolicy is empty for AWS' default.
	TLSPolicy string
	// BackendProtocol is lower case: http, https, ssl, tcp or empty.
	BackendProtocol string
	// ProxyProtocol of a classic load balancer: version 1 to every node port.
	ProxyProtocol bool

	CrossZone bool
	AccessLog AccessLog
	// DrainConnections and DrainTimeout concern classic load balancers; a zero timeout is AWS' default.
	DrainConnections bool
	DrainTimeout     time.Duration
	// IdleTimeout is zero for the default: of a classic load balancer's connections, or of a network load balancer's TCP flows.
	IdleTimeout time.Duration

	HealthCheck HealthCheck
	// GroupAttributes are attributes of target groups by AWS' name, each with a valid value.
	GroupAttributes map[string]string
	// IPTargets registers the nodes' addresses instead of their instances.
	IPTargets bool
	// NodeLabels are what a node needs to receive traffic: every key, with the value where that is not empty.
	NodeLabels map[string]string

	// Warnings are texts for the Service's owner: settings that are legal and do not do what they look like.
	Warnings []string
}

// AccessLog says where a load balancer logs connections to.
type AccessLog struct {
	Enabled bool
	// EmitInterval is zero for the default. Classic load balancers only.
	EmitInterval   time.Duration
	Bucket, Prefix string
}

// HealthCheck is what the annotations say about probes. Zero fields mean the default.
type HealthCheck struct {
	// Protocol is upper case: TCP, HTTP, HTTPS or SSL.
	Protocol string
	// Port is a number or traffic-port.
	Port, Path         string
	Interval, Timeout  time.Duration
	Healthy, Unhealthy int
}

// SharedProbe is one probe for all Services with externalTrafficPolicy: Cluster: the port and path
// at which kube-proxy says whether its node takes traffic. The configuration asks for it.
type SharedProbe struct {
	Port int32
	Path string
}

// TrafficPort is the health check port that means each port's own node port.
const TrafficPort = "traffic-port"

// TLSPort says whether a port with this name is one of those that certificates are for.
func (o Options) TLSPort(name string, port int32) bool {
	return len(o.Certificates) > 0 && (o.TLSPorts == nil || matchesPort(o.TLSPorts, name, port))
}
