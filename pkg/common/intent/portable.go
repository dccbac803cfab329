package intent

import (
	"slices"
	"time"
)

// Prefix is the prefix of every portable annotation. It is in users' manifests and can never change.
const Prefix = "load-balancer.unified-ccm.io/"

// The keys of the portable annotations. They are in users' manifests and can never change.
const (
	KeyScheme                        = Prefix + "scheme"
	KeySourceRanges                  = Prefix + "source-ranges"
	KeyPortSourceRanges              = Prefix + "port-source-ranges"
	KeyProxyProtocol                 = Prefix + "proxy-protocol"
	KeyAlgorithm                     = Prefix + "algorithm"
	KeyTLSCertificate                = Prefix + "tls-certificate"
	KeyTLSPorts                      = Prefix + "tls-ports"
	KeyForwardedHeaders              = Prefix + "forwarded-headers"
	KeyConnectionDrainingTimeout     = Prefix + "connection-draining-timeout"
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

// KeyApprove approves held changes: its value is the ID of the held plan. It is in users' manifests and can never
// change. Package loadbalancer reads it: it is not a setting of the load balancer.
const KeyApprove = Prefix + "approve"

// KeyProvider selects one of several clouds for a Service without a class. It is in users' manifests and can never
// change. Package assign reads it: it is not a setting of the load balancer.
const KeyProvider = Prefix + "provider"

// Annotations documents every portable annotation, in the order in which Read reports problems.
func Annotations() []Annotation { return portableTable(&Service{}).Documentation() }

// Exclusion is a setting of load balancers that is not portable.
type Exclusion struct{ Subject, Reason string }

// Exclusions returns the settings that several clouds have and that have no common meaning, for the documentation.
func Exclusions() []Exclusion {
	return []Exclusion{
		{"Zones", "Cross-zone load balancing of AWS decides whether the nodes of other zones get traffic. The availability " +
			"zone of Octavia decides where the load balancer runs; nodes of all zones always get traffic."},
		{"Access logs", "AWS writes them to S3. Octavia's API has none for users: operators collect them."},
		{"Type or size", "A type of AWS (classic, nlb) is another product and cannot change; a flavor of Octavia " +
			"is a size that its operator defines. The common choice is the load balancer class, which selects the cloud."},
		{"Several certificates and TLS policies", "Network load balancers have both, classic ones a policy only, and " +
			"Octavia has versions and ciphers instead of named policies."},
		{"Minimum TLS version", "AWS sets it by named policies only, which choose the ciphers too, and those of classic " +
			"load balancers end at TLS 1.2. Octavia has a list of versions apart from the ciphers, and a minimum that its " +
			"operator sets for all load balancers. A portable version would choose the ciphers on one cloud and not on " +
			"the other."},
	}
}

// Approval documents KeyApprove.
func Approval() Annotation {
	return Annotation{
		Key: KeyApprove, Type: "ID of held changes", Default: "nothing is approved", Example: "k3f7qa-z2xm4d",
		Doc: "Applies changes that are held because they disrupt traffic, an address or the load balancer without a cause " +
			"in the Service. The Event LoadBalancerChangesHeld and ccm plan list them with their ID. The approval is for " +
			"exactly these changes, all of them: others have another ID and stay held. Once they are " +
			"applied, the manager removes the annotation. It has no effect if the flag --load-balancer-approvals names a " +
			"ConfigMap.",
	}
}

// ProviderChoice documents KeyProvider.
func ProviderChoice() Annotation {
	return Annotation{
		Key: KeyProvider, Type: "name of a provider", Default: "--default-cloud-provider, or the first of --cloud-provider",
		Example: "openstack",
		Doc: "With several clouds, selects the one that gets the load balancer of a Service without a class. A load " +
			"balancer that exists stays where it is, until its move is approved: the Event LoadBalancerMoveHeld has the ID. " +
			"It has no effect on a manager of one cloud.",
	}
}

// Keys returns the keys of all portable annotations, for a cloud that supports all of them.
func Keys() []string { return portableTable(&Service{}).Keys() }

// portableTable is the table of portable annotations, which sets the fields of s.
func portableTable(s *Service) Table {
	table := slices.Concat(trafficTable(s), listenerTable(s), healthCheckTable(&s.HealthCheck), resourceTable(s))
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
			Doc: "Who can reach the load balancer: all clients, or only the cloud's private network. " +
				"Changing it on a live Service gives the load balancer a new address; if a cloud cannot do that in place, " +
				"the load balancer is replaced, with an interruption.",
			Set: Store(&s.Scheme, OneOf(Public, Internal)),
		},
		{
			Key: KeySourceRanges, Type: "list of CIDR", Default: "everyone", Example: "10.0.0.0/8,2001:db8::/32",
			Doc: "Who may connect. spec.loadBalancerSourceRanges overrides it, and it overrides " +
				"service.beta.kubernetes.io/load-balancer-source-ranges. " +
				"With ranges of one family only, no client can connect over the other. " +
				"Changes apply to a live Service at once; their effect on open connections depends on the cloud.",
			Set: func(string) error { return nil }, // sourceRanges parses it together with the field and the beta annotation.
		},
		{
			Key: KeyPortSourceRanges, Type: "list of PORT=CIDR,CIDR, separated by semicolons",
			Default: "the source ranges of the Service", Example: "http=203.0.113.0/24,198.51.100.7/32",
			Doc: "Who may connect to single ports. A port is a name, a number, or NUMBER/PROTOCOL. A client needs an address " +
				"in the ranges of the port and in those of the Service (source-ranges), so this annotation can only " +
				"restrict further. A port that is not listed has the ranges of the Service. Changes apply to a live Service " +
				"at once; their effect on open connections depends on the cloud.",
			Set: s.parsePortRanges,
		},
		{
			Key: KeyProxyProtocol, Type: "off, v1 or v2", Default: "off", Example: "v2",
			Doc: "Whether connections to the nodes begin with a PROXY protocol header that contains the client's address. " +
				"The pods must expect it. Changing it on a live Service breaks connections until pods and load balancer agree; " +
				"some clouds replace the pool.",
			Set: Store(&s.ProxyProtocol, parseProxyProtocol),
		},
		{
			Key: KeyAlgorithm, Type: "round-robin, least-connections or source-ip", Default: "the cloud's",
			Example: "least-connections",
			Doc: "How new connections are distributed to the nodes: in turn, to the node with the fewest open connections, or " +
				"by the address of the client. With externalTrafficPolicy: Cluster, a node may forward them to a pod of another " +
				"node. Changes apply to a live Service, for new connections.",
			Set: Store(&s.Algorithm, OneOf(RoundRobin, LeastConnections, SourceIP)),
		},
	}
}

// listenerTable has the annotations about TLS and HTTP at the load balancer, and about leaving nodes.
func listenerTable(s *Service) Table {
	return Table{
		{
			Key: KeyTLSCertificate, Type: "the cloud's reference of a certificate", Default: "no TLS",
			Example: "arn:aws:acm:us-west-2:123456789012:certificate/12345678-1234-1234-1234-123456789012",
			Doc: "The certificate with which the load balancer terminates TLS on TCP ports (tls-ports): on AWS the ARN of a " +
				"certificate of ACM or IAM, on OpenStack the reference of a container or secret of Barbican. The nodes get " +
				"what clients encrypted; some clouds (OpenStack) accept only HTTP in it. A changed reference applies in place. " +
				"Setting it on a live Service or removing it replaces listeners, with an interruption.",
			Set: Store(&s.TLS.Certificate, parseReference), Required: true,
		},
		{
			Key: KeyTLSPorts, Type: "list of port names or numbers, or *", Default: "*", Example: "https",
			Doc: "The TCP ports on which the load balancer terminates TLS. It has no effect without a certificate. " +
				"Changing it on a live Service replaces the listeners of these ports, with an interruption.",
			Set: Store(&s.TLS.Ports, s.parseTCPPorts),
		},
		{
			Key: KeyForwardedHeaders, Type: "list of port names or numbers, or *", Default: "none", Example: "http",
			Doc: "The TCP ports on which the load balancer reads HTTP, and adds the headers X-Forwarded-For, " +
				"X-Forwarded-Proto and X-Forwarded-Port to each request. Not together with proxy-protocol. " +
				"Changing it on a live Service replaces " +
				"the listeners of these ports, with an interruption. Refused where a load balancer cannot, because " +
				"clients could forge the headers.",
			Set: s.parseForwardedHeaders, Required: true,
		},
		{
			Key: KeyConnectionDrainingTimeout, Type: "duration", Default: "the cloud's", Example: "60s",
			Doc: "How long open connections to a node that leaves may take to finish, in whole seconds; 0s closes them at " +
				"once. Changes apply to a live Service.",
			Set: StorePointer(&s.DrainingTimeout, durationBetween(0, maxDraining)),
		},
	}
}

func healthCheckTable(h *HealthCheck) Table {
	return Table{
		{
			Key: KeyHealthCheckProtocol, Type: "TCP or HTTP",
			Default: "TCP; HTTP with externalTrafficPolicy: Local", Example: "HTTP",
			Doc: "How nodes are probed. Ignored with externalTrafficPolicy: Local, where the probe must use the Service's " +
				"health check node port. Changing it on a live Service restarts the probes; nodes receive traffic as before " +
				"until the first probes answer.",
			Set: Store(&h.Protocol, parseHealthCheckProtocol),
		},
		{
			Key: KeyHealthCheckPort, Type: "port number", Default: "each port's own node port", Example: "10256",
			Doc: "The port on the nodes that is probed, for all ports of the Service. " +
				"Ignored with externalTrafficPolicy: Local. " +
				"Changing it on a live Service to a port without a listener takes every node out of service.",
			Set: Store(&h.Port, parsePort),
		},
		{
			Key: KeyHealthCheckPath, Type: "path", Default: "/", Example: "/healthz",
			Doc: "The path of HTTP probes. Needs health-check-protocol HTTP; " +
				"ignored with externalTrafficPolicy: Local. Changes apply to a live Service.",
			Set: Store(&h.Path, parsePath),
		},
		{
			Key: KeyHealthCheckInterval, Type: "duration", Default: "the cloud's", Example: "10s",
			Doc: "Time between two probes of a node, in whole seconds. Changes apply to a live Service, on some clouds by " +
				"replacing the pool.",
			Set: Store(&h.Interval, durationBetween(time.Second, maxProbe)),
		},
		{
			Key: KeyHealthCheckTimeout, Type: "duration", Default: "the cloud's", Example: "5s",
			Doc: "Timeout of a probe, in whole seconds; at most the interval. Changes apply to a live Service.",
			Set: Store(&h.Timeout, durationBetween(time.Second, maxProbe)),
		},
		{
			Key: KeyHealthCheckHealthyThreshold, Type: "1 to 10", Default: "the cloud's", Example: "2",
			Doc: "Number of successful probes in a row before a node receives traffic. Changes apply to a live Service.",
			Set: Store(&h.HealthyThreshold, Int(1, maxThreshold)),
		},
		{
			Key: KeyHealthCheckUnhealthyThreshold, Type: "1 to 10", Default: "the cloud's", Example: "3",
			Doc: "Number of failed probes in a row before a node stops receiving traffic. Changes apply to a live Service.",
			Set: Store(&h.UnhealthyThreshold, Int(1, maxThreshold)),
		},
	}
}

// resourceTable has the annotations about the load balancer and its objects in the cloud.
func resourceTable(s *Service) Table {
	return Table{
		{
			Key: KeyIdleTimeout, Type: "duration", Default: "the cloud's", Example: "5m",
			Doc: "How long a connection without traffic stays open, in whole seconds. Changes apply to a live Service; the " +
				"effect on open connections depends on the cloud.",
			Set: Store(&s.IdleTimeout, durationBetween(time.Second, maxIdle)),
		},
		{
			Key: KeyStaticAddresses, Type: "list of IP addresses or the cloud's IDs of addresses", Default: "chosen by the " +
				"cloud", Example: "198.51.100.7",
			Doc: "Existing addresses to use. Overrides the deprecated spec.loadBalancerIP. If they " +
				"are your own objects in the cloud, they stay when the Service is deleted; an address that the manager allocated " +
				"from a pool is returned to it. " +
				"Changing them on a live Service moves it to the new addresses, so clients must follow; if a cloud cannot " +
				"move it, the change is refused.",
			Set: Store(&s.StaticAddresses, parseNames),
		},
		{
			Key: KeyTags, Type: "list of key=value", Default: "none", Example: "team=web,stage=prod",
			Doc: "Tags for every cloud object of the Service. The manager's own tags take precedence. Changes apply to live " +
				"objects; a tag that is removed here is removed there.",
			Set: Store(&s.Tags, parseTags),
		},
		{
			Key: KeySubnets, Type: "list of subnet IDs or names", Default: "chosen by the cloud", Example: "subnet-a,subnet-b",
			Doc: "The subnets in which the load balancer gets its addresses. Changes apply to a live Service if the cloud " +
				"supports it; otherwise they are refused.",
			Set: Store(&s.Subnets, parseNames),
		},
	}
}
