package intent

import (
	"slices"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// Prefix begins the key of every portable annotation. It is in users' manifests and can never change.
const Prefix = "load-balancer.unified-ccm.io/"

// The keys of the portable annotations. They are in users' manifests and can never change.
const (
	KeyScheme                        = Prefix + "scheme"
	KeySourceRanges                  = Prefix + "source-ranges"
	KeyProxyProtocol                 = Prefix + "proxy-protocol"
	KeyHealthCheckProtocol           = Prefix + "health-check-protocol"
	KeyHealthCheckPort               = Prefix + "health-check-port"
	KeyHealthCheckPath               = Prefix + "health-check-path"
	KeyHealthCheckInterval           = Prefix + "health-check-interval"
	KeyHealthCheckTimeout            = Prefix + "health-check-timeout"
	KeyHealthCheckHealthyThreshold   = Prefix + "health-check-healthy-threshold"
	KeyHealthCheckUnhealthyThreshold = Prefix + "health-check-unhealthy-threshold"
	KeyIdleTimeout                   = Prefix + "idle-timeout"
	KeyStaticAddresses               = Prefix + "static-addresses"
	KeyTags                          = Prefix + "tags"
	KeySubnets                       = Prefix + "subnets"
)

// Bounds of values. They cover what every known cloud can express; a provider refuses what its own
// cloud does not allow.
const (
	maxProbe       = time.Hour
	maxIdle        = 24 * time.Hour
	maxThreshold   = 10 // ELB and Octavia both end at 10
	maxPort        = 65535
	defaultSticky  = 10800 // the API server's default of sessionAffinityConfig.clientIP.timeoutSeconds
	localProbePath = "/healthz"
)

// Annotations documents every portable annotation, in the order in which Read reports problems.
func Annotations() []provider.Annotation { return portableTable(&Service{}).Documentation() }

// Keys returns the keys of all portable annotations: what a cloud that honours all of them lists.
func Keys() []string { return portableTable(&Service{}).Keys() }

// portableTable is the table of portable annotations, which sets the fields of s.
func portableTable(s *Service) Table {
	table := slices.Concat(trafficTable(s), healthCheckTable(&s.HealthCheck), resourceTable(s))
	for i := range table {
		table[i].Empty = EmptyRefused
	}
	return table
}

// trafficTable has the annotations about clients and their connections.
func trafficTable(s *Service) Table {
	return Table{
		{
			Key: KeyScheme, Type: "public or internal", Default: "public", Example: "internal",
			Doc: "Who can reach the load balancer: anybody, or only the cloud's private network. " +
				"Changing it on a live Service gives the load balancer a new address; where a cloud cannot do that in place, " +
				"the load balancer is replaced, with an interruption.",
			Set: Into(&s.Scheme, OneOf(Public, Internal)),
		},
		{
			Key: KeySourceRanges, Type: "list of CIDR", Default: "everyone", Example: "10.0.0.0/8,2001:db8::/32",
			Doc: "Who may connect. spec.loadBalancerSourceRanges wins over it, and it wins over " +
				"service.beta.kubernetes.io/load-balancer-source-ranges. " +
				"With ranges of one family only, no client can connect over the other. " +
				"Changes apply to a live Service at once; whether open connections survive is up to the cloud.",
			Set: func(string) error { return nil }, // sourceRanges parses it together with the field and the beta annotation.
		},
		{
			Key: KeyProxyProtocol, Type: "off, v1 or v2", Default: "off", Example: "v2",
			Doc: "Whether connections to the nodes begin with a PROXY protocol header that names the client. " +
				"The pods must expect it. Changing it on a live Service breaks connections until pods and load balancer agree; " +
				"some clouds replace the pool for it.",
			Set: Into(&s.ProxyProtocol, parseProxyProtocol),
		},
	}
}

func healthCheckTable(h *HealthCheck) Table {
	return Table{
		{
			Key: KeyHealthCheckProtocol, Type: "TCP or HTTP",
			Default: "TCP; HTTP with externalTrafficPolicy: Local", Example: "HTTP",
			Doc: "How nodes are probed. Ignored with externalTrafficPolicy: Local, where the probe must ask the Service's " +
				"health check node port. Changing it on a live Service restarts the probes; nodes receive traffic as before " +
				"until the first probes answer.",
			Set: Into(&h.Protocol, parseHealthCheckProtocol),
		},
		{
			Key: KeyHealthCheckPort, Type: "port number", Default: "each port's own node port", Example: "10256",
			Doc: "The port on the nodes that is probed, for all ports of the Service. " +
				"Ignored with externalTrafficPolicy: Local. " +
				"Changing it on a live Service to a port without a listener takes every node out of service.",
			Set: Into(&h.Port, parsePort),
		},
		{
			Key: KeyHealthCheckPath, Type: "path", Default: "/", Example: "/healthz",
			Doc: "The path that HTTP probes ask for. Needs health-check-protocol HTTP; " +
				"ignored with externalTrafficPolicy: Local. Changes apply to a live Service.",
			Set: Into(&h.Path, parsePath),
		},
		{
			Key: KeyHealthCheckInterval, Type: "duration", Default: "the cloud's", Example: "10s",
			Doc: "Time between two probes of a node, in whole seconds. Changes apply to a live Service, on some clouds by " +
				"replacing the pool.",
			Set: Into(&h.Interval, durationBetween(time.Second, maxProbe)),
		},
		{
			Key: KeyHealthCheckTimeout, Type: "duration", Default: "the cloud's", Example: "5s",
			Doc: "How long a probe may take, in whole seconds; at most the interval. Changes apply to a live Service.",
			Set: Into(&h.Timeout, durationBetween(time.Second, maxProbe)),
		},
		{
			Key: KeyHealthCheckHealthyThreshold, Type: "1 to 10", Default: "the cloud's", Example: "2",
			Doc: "How many probes in a row must succeed before a node receives traffic. Changes apply to a live Service.",
			Set: Into(&h.HealthyThreshold, Int(1, maxThreshold)),
		},
		{
			Key: KeyHealthCheckUnhealthyThreshold, Type: "1 to 10", Default: "the cloud's", Example: "3",
			Doc: "How many probes in a row must fail before a node receives no more traffic. Changes apply to a live Service.",
			Set: Into(&h.UnhealthyThreshold, Int(1, maxThreshold)),
		},
	}
}

// resourceTable has the annotations about the load balancer and its objects in the cloud.
func resourceTable(s *Service) Table {
	return Table{
		{
			Key: KeyIdleTimeout, Type: "duration", Default: "the cloud's", Example: "5m",
			Doc: "How long a connection without traffic stays open, in whole seconds. Changes apply to a live Service; each " +
				"cloud says what it means for open connections.",
			Set: Into(&s.IdleTimeout, durationBetween(time.Second, maxIdle)),
		},
		{
			Key: KeyStaticAddresses, Type: "list of IP addresses or the cloud's IDs of addresses", Default: "chosen by the " +
				"cloud", Example: "198.51.100.7",
			Doc: "Addresses that exist already and are to be used. Wins over the deprecated spec.loadBalancerIP. Where they " +
				"are objects of your own in the cloud, they stay when the Service goes; an address that the manager took from a " +
				"pool goes back to it. " +
				"Changing them on a live Service moves it to the new addresses, so clients must follow; where a cloud cannot " +
				"move it, the change is refused.",
			Set: Into(&s.StaticAddresses, parseNames),
		},
		{
			Key: KeyTags, Type: "list of key=value", Default: "none", Example: "team=web,stage=prod",
			Doc: "Tags for every cloud object of the Service, beside our own, which always win. Changes apply to live " +
				"objects; a tag that is removed here is removed there.",
			Set: Into(&s.Tags, parseTags),
		},
		{
			Key: KeySubnets, Type: "list of subnet IDs or names", Default: "chosen by the cloud", Example: "subnet-a,subnet-b",
			Doc: "The subnets in which the load balancer gets its addresses. Changes apply to a live Service where the cloud " +
				"can do so; otherwise they are refused.",
			Set: Into(&s.Subnets, parseNames),
		},
	}
}
