// Package intent reads a Service and its annotations once into a typed value, every problem
// reported together, before the first cloud call.
package intent

import (
	"net/netip"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Scheme is the network from which clients can reach a load balancer.
type Scheme string

// The two schemes.
const (
	Public   Scheme = "public"
	Internal Scheme = "internal"
)

// Algorithm is how new connections are distributed to the members.
type Algorithm string

// The algorithms that several clouds have.
const (
	RoundRobin       Algorithm = "round-robin"
	LeastConnections Algorithm = "least-connections"
	SourceIP         Algorithm = "source-ip"
)

// Service is the parsed spec and portable annotations of a Service of type LoadBalancer, the same for
// every cloud. A provider reads its own annotations on top, from Annotations.
type Service struct {
	Namespace, Name string
	UID             types.UID

	Ports []Port
	// Families in the order of the spec; one or two.
	Families []v1.IPFamily
	// RequiresDualStack is ipFamilyPolicy: RequireDualStack.
	RequiresDualStack bool
	Scheme            Scheme
	// SourceRanges that may connect, in canonical form, sorted; both families. Empty means all clients.
	SourceRanges []netip.Prefix
	// ProxyProtocol to the members: 0 off, 1 or 2 the version.
	ProxyProtocol int
	// Algorithm is empty for the cloud's default.
	Algorithm   Algorithm
	HealthCheck HealthCheck
	TLS         TLS
	// DrainingTimeout is the time that open connections to a leaving node may take to finish; nil means the cloud's
	// default, and zero closes them at once.
	DrainingTimeout *time.Duration
	// IdleTimeout of connections; zero means the cloud's default.
	IdleTimeout time.Duration
	// StaticAddresses to use, as the user wrote them: IP addresses, or IDs if the cloud supports them.
	StaticAddresses []string
	// Tags to set on every cloud object in addition to our own.
	Tags map[string]string
	// Subnets to use, by ID or name.
	Subnets []string
	// LocalTraffic is externalTrafficPolicy: Local.
	LocalTraffic bool
	// ClientIPAffinity is the duration of client IP affinity; zero means no affinity.
	ClientIPAffinity time.Duration

	// AtCreation are problems that refuse a new load balancer. One that exists keeps what it has, with a warning.
	AtCreation []Problem

	// Annotations are all annotations of the Service, from which the provider reads its own. Read-only.
	Annotations map[string]string
	// Fields are the annotations (by key) and spec fields (by path) that are set and that the load balancer is
	// computed from. Read-only.
	Fields map[string]string
	// Sources are the fields and annotations behind portable settings that can be written in more
	// than one way. Read-only; problems use them by NewProblems.
	Sources Sources
}

// Port is one port of a Service.
type Port struct {
	Name     string
	Protocol v1.Protocol
	Port     int32
	NodePort int32
	// SourceRanges are the port's own, in canonical form, sorted; empty if it has none. Service.RangesAt combines them
	// with those of the Service.
	SourceRanges []netip.Prefix
	// ForwardedHeaders is set if the load balancer reads HTTP and adds the X-Forwarded headers to each request.
	ForwardedHeaders bool
}

// TLS are the settings of TLS at the load balancer. They matter only with a certificate, which may also come from a
// provider's own annotation or its configuration.
type TLS struct {
	// Certificate is the reference of the cloud, as the user wrote it.
	Certificate string
	// Ports are names or numbers of TCP ports; nil means all TCP ports.
	Ports []string
}

// Selector returns a function that reports whether the settings select a port.
func (t TLS) Selector() func(Port) bool {
	selected := sets.New(t.Ports...)
	return func(p Port) bool {
		return p.Protocol == v1.ProtocolTCP && (t.Ports == nil || selected.HasAny(p.references()...))
	}
}

// HealthCheckProtocol is the protocol of probes.
type HealthCheckProtocol string

// The closed set of probes. NodePort probes of UDP services fall back to TCP if a cloud has no UDP probe.
const (
	HealthCheckTCP  HealthCheckProtocol = "TCP"
	HealthCheckHTTP HealthCheckProtocol = "HTTP"
)

// HealthCheck are the settings of probes. Zero fields mean the cloud's default.
type HealthCheck struct {
	Protocol HealthCheckProtocol
	// Port is zero for each port's own node port. With LocalTraffic it is the Service's health check node port.
	Port               int32
	Path               string
	Interval, Timeout  time.Duration
	HealthyThreshold   int
	UnhealthyThreshold int
}

// NodePort returns the node port of a port, or 0 if the Service has no such port.
func (s Service) NodePort(protocol v1.Protocol, port int32) int32 {
	for _, p := range s.Ports {
		if p.Protocol == protocol && p.Port == port {
			return p.NodePort
		}
	}
	return 0
}

// NewProblems returns an empty list for the settings of a Service.
func (s Service) NewProblems() Problems {
	return Problems{Sources: s.Sources.Clone(), Written: s.Annotations}
}

// Refuse returns the problems of AtCreation as an error of class cloudapi.Invalid, or nil.
func (s Service) Refuse() error {
	var problems Problems
	for _, problem := range s.AtCreation {
		problems.add(problem)
	}
	return problems.Err(s.Subject())
}

// Subject returns the name of a Service in plans, Events and errors.
func Subject(svc *v1.Service) string { return "Service " + svc.Namespace + "/" + svc.Name }

// Subject returns the name of the Service in plans, Events and errors.
func (s Service) Subject() string { return "Service " + s.Namespace + "/" + s.Name }

// references returns the references that name the port.
func (p Port) references() []string {
	number := strconv.Itoa(int(p.Port))
	references := []string{number, number + "/" + string(p.Protocol)}
	if p.Name != "" {
		references = append(references, p.Name)
	}
	return references
}
