// Package annotation documents the Service annotations of the AWS provider and parses them once into
// typed options. Problems name the annotation, its value and what to write instead. Classic and
// network load balancers use the same options. Its files are in layers, and refer only to earlier ones: keys.go and
// options.go, parse.go and attributes.go, set.go, table.go, and read.go with Read. fields.go has the keys that changes
// of load balancers follow from.
package annotation

import (
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// Type is the kind of load balancer of a Service.
type Type string

// The types. Any other value means Classic, and causes a warning.
const (
	Classic Type = "classic"
	Network Type = "nlb"
	// External is a load balancer of the AWS Load Balancer Controller.
	External Type = "external"
)

// Options combine a Service's AWS annotations and the portable ones. A zero value means that the
// setting is not used; classic and network load balancers have different defaults.
type Options struct {
	Type     Type
	Internal bool
	// Name of a network load balancer; empty for the name derived from the Service.
	Name string
	// Subnets are IDs or Name tags, in the order written.
	Subnets []string
	// SecurityGroups replace the managed one, ExtraSecurityGroups are added. IDs, in the order written.
	SecurityGroups, ExtraSecurityGroups []string
	// SecurityGroupsErr is the problem of SecurityGroups of a network load balancer, which uses them only with
	// NLBSecurityGroupMode=Managed.
	SecurityGroupsErr error
	// Allocations are IDs of Elastic IPs, PrivateIPv4 and IPv6 are addresses: one for each subnet, in the order of
	// the subnets.
	Allocations, PrivateIPv4, IPv6 []string
	// Tags for every object.
	Tags map[string]string

	// Certificates are ARNs; the first is the default one.
	Certificates []string
	// TLSPorts are numbers or names, in lower case; nil means all. It matters only with Certificates.
	TLSPorts sets.Set[string]
	// TLSPolicy is empty for AWS' default.
	TLSPolicy string
	// BackendProtocol is lower case: http, https, ssl, tcp or empty.
	BackendProtocol string
	// ProxyProtocol of a classic load balancer: version 1 to every node port.
	ProxyProtocol bool

	CrossZone bool
	AccessLog AccessLog
	// DrainConnections and DrainTimeout apply to classic load balancers; a zero timeout is AWS' default.
	DrainConnections bool
	DrainTimeout     time.Duration
	// IdleTimeout of a classic load balancer's connections or a network load balancer's TCP flows; zero for the
	// default.
	IdleTimeout time.Duration

	HealthCheck HealthCheck
	// GroupAttributes are attributes of target groups by AWS' names, with valid values.
	GroupAttributes map[string]string
	// IPTargets registers the nodes' addresses instead of their instances.
	IPTargets bool
	// NodeLabels are required of nodes that receive traffic: every key, with the value unless that is empty.
	NodeLabels map[string]string

	// Warnings for the Service's author are about valid settings without the obvious effect.
	Warnings []string
	// Ignored are invalid values that matter only beside other settings, by annotation.
	Ignored map[string]error
	// Sources are the fields and annotations that set these options. Problems about options use them.
	Sources intent.Sources
}

// NewProblems returns an empty list for problems with these options.
func (o Options) NewProblems() intent.Problems { return intent.Problems{Sources: o.Sources.Clone()} }

// AccessLog is the destination of a load balancer's connection logs.
type AccessLog struct {
	Enabled bool
	// EmitInterval is zero for the default. Classic load balancers only.
	EmitInterval   time.Duration
	Bucket, Prefix string
}

// HealthCheck are the settings of probes. Zero fields mean the default.
type HealthCheck struct {
	// Protocol is upper case: TCP, HTTP, HTTPS or SSL.
	Protocol string
	// Port is a number or traffic-port.
	Port, Path         string
	Interval, Timeout  time.Duration
	Healthy, Unhealthy int
}

// SharedProbe is one probe for all Services with externalTrafficPolicy: Cluster: the port and path at
// which kube-proxy reports the health of its node. The configuration enables it.
type SharedProbe struct {
	Port int32
	Path string
}

// TrafficPort is the health check port that stands for each port's own node port.
const TrafficPort = "traffic-port"

// TLSPort reports whether a port is encrypted.
func (o Options) TLSPort(name string, port int32) bool {
	return len(o.Certificates) > 0 && (o.TLSPorts == nil || o.TLSPorts.HasAny(portReferences(name, port)...))
}

// portReferences returns the entries of TLSPorts that name a port. Names match in any case.
func portReferences(name string, port int32) []string {
	references := []string{strconv.Itoa(int(port))}
	if name != "" {
		references = append(references, strings.ToLower(name))
	}
	return references
}

// foldPorts returns a list of names and numbers of ports as TLSPorts has them; nil for none.
func foldPorts(list []string) sets.Set[string] {
	if list == nil {
		return nil
	}
	ports := sets.New[string]()
	for _, port := range list {
		ports.Insert(strings.ToLower(port))
	}
	return ports
}
