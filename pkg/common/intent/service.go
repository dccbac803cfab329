// Package intent reads a Service and its annotations once into a typed value, every problem
// reported together, before the first cloud call.
package intent

import (
	"net/netip"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Scheme says who can reach a load balancer.
type Scheme string

// The two schemes.
const (
	Public   Scheme = "public"
	Internal Scheme = "internal"
)

// Service is what a Service of type LoadBalancer asks of any cloud: the spec and the portable
// annotations. A provider reads its own annotations on top, from Annotations.
type Service struct {
	Namespace, Name string
	UID             types.UID

	Ports []Port
	// Families in the order of the spec; one or two.
	Families []v1.IPFamily
	Scheme   Scheme
	// SourceRanges that may connect, in canonical form, sorted; both families. Empty means everyone.
	SourceRanges []netip.Prefix
	// ProxyProtocol to the members: 0 off, 1 or 2 the version.
	ProxyProtocol int
	HealthCheck   HealthCheck
	// IdleTimeout of connections; zero means the cloud's default.
	IdleTimeout time.Duration
	// StaticAddresses to use, as the user wrote them: IP addresses, or IDs where the cloud has such.
	StaticAddresses []string
	// Tags to put on every cloud object beside our own.
	Tags map[string]string
	// Subnets to use, by ID or name.
	Subnets []string
	// LocalTraffic is externalTrafficPolicy: Local.
	LocalTraffic bool
	// ClientIPAffinity is how long a client sticks to a node; zero means no affinity.
	ClientIPAffinity time.Duration

	// Annotations are the Service's own, for the provider to read its keys from. Read-only.
	Annotations map[string]string
}

// Port is one port of a Service.
type Port struct {
	Name     string
	Protocol v1.Protocol
	Port     int32
	NodePort int32
}

// HealthCheckProtocol is how members are probed.
type HealthCheckProtocol string

// The closed set of probes. NodePort probes of UDP services fall back to TCP where a cloud has no UDP probe.
const (
	HealthCheckTCP  HealthCheckProtocol = "TCP"
	HealthCheckHTTP HealthCheckProtocol = "HTTP"
)

// HealthCheck says how members are probed. Zero fields mean the cloud's default.
type HealthCheck struct {
	Protocol HealthCheckProtocol
	// Port is zero for each port's own node port. With LocalTraffic it is the Service's health check node port.
	Port               int32
	Path               string
	Interval, Timeout  time.Duration
	HealthyThreshold   int
	UnhealthyThreshold int
}

// AllowedFrom returns who may connect over one family: everyone of it when the Service names no
// ranges, and nobody (an empty list) when it names only ranges of the other family. Providers
// filter by family with it, since an empty list of their own making would read as "everyone".
func (s Service) AllowedFrom(family v1.IPFamily) []netip.Prefix {
	if len(s.SourceRanges) == 0 {
		everyone := netip.IPv4Unspecified()
		if family == v1.IPv6Protocol {
			everyone = netip.IPv6Unspecified()
		}
		return []netip.Prefix{netip.PrefixFrom(everyone, 0)}
	}
	var allowed []netip.Prefix
	for _, prefix := range s.SourceRanges {
		if familyOf(prefix.Addr()) == family {
			allowed = append(allowed, prefix)
		}
	}
	return allowed
}
