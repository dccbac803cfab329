package intent

import (
	"fmt"
	"strings"
	"time"
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

// Bounds of values. They are what every cloud that we know of can count in, not what any one of
// them allows: a provider refuses what its own cloud refuses.
const (
	maxProbe       = time.Hour
	maxIdle        = 24 * time.Hour
	maxThreshold   = 10 // ELB and Octavia both end at 10
	maxPort        = 65535
	defaultSticky  = 10800 // the API server's default of sessionAffinityConfig.clientIP.timeoutSeconds
	localProbePath = "/healthz"
)

// Annotation documents one portable annotation, for generated reference pages. It has the fields
// of provider.Annotation, so that one converts into the other.
type Annotation struct {
	Key, Type, Default, Doc, Example string
}

// Annotations documents every portable annotation, in the order in which Read reports problems.
func Annotations() []Annotation {
	docs := make([]Annotation, len(options))
	for i, o := range options {
		docs[i] = o.doc
	}
	return docs
}

// Keys are the keys of Annotations: what a cloud that honours all of them lists.
func Keys() []string {
	keys := make([]string, len(options))
	for i, o := range options {
		keys[i] = o.doc.Key
	}
	return keys
}

// option is one portable annotation: its documentation, and how a value gets into a Service. The
// value given to read is trimmed and not empty; an error says what to write instead.
type option struct {
	doc  Annotation
	read func(s *Service, value string) error
}

// options is the one table of portable annotations. Nothing writes to it.
var options = []option{
	{
		doc: Annotation{
			Key: KeyScheme, Type: "public or internal", Default: "public", Example: "internal",
			Doc: "Who can reach the load balancer: anybody, or only the cloud's private network. " +
				"Changing it on a live Service gives the load balancer a new address; where a cloud cannot do that in place, the load balancer is replaced, with an interruption.",
		},
		read: func(s *Service, value string) error {
			switch scheme := Scheme(value); scheme {
			case Public, Internal:
				s.Scheme = scheme
				return nil
			}
			return fmt.Errorf("write public or internal")
		},
	},
	{
		doc: Annotation{
			Key: KeySourceRanges, Type: "list of CIDR", Default: "everyone", Example: "10.0.0.0/8,2001:db8::/32",
			Doc: "Who may connect. spec.loadBalancerSourceRanges wins over it, and it wins over service.beta.kubernetes.io/load-balancer-source-ranges. " +
				"With ranges of one family only, nobody connects over the other. Changes apply to a live Service at once; whether open connections survive is up to the cloud.",
		},
		read: func(*Service, string) error { return nil }, // sourceRanges reads it together with its two rivals
	},
	{
		doc: Annotation{
			Key: KeyProxyProtocol, Type: "off, v1 or v2", Default: "off", Example: "v2",
			Doc: "Whether connections to the nodes begin with a PROXY protocol header that names the client. The pods must expect it. " +
				"Changing it on a live Service breaks connections until pods and load balancer agree; some clouds replace the pool for it.",
		},
		read: func(s *Service, value string) error {
			version, ok := map[string]int{"off": 0, "v1": 1, "v2": 2}[value]
			if !ok {
				return fmt.Errorf("write off, v1 or v2")
			}
			s.ProxyProtocol = version
			return nil
		},
	},
	{
		doc: Annotation{
			Key: KeyHealthCheckProtocol, Type: "TCP or HTTP", Default: "TCP; HTTP with externalTrafficPolicy: Local", Example: "HTTP",
			Doc: "How nodes are probed. Ignored with externalTrafficPolicy: Local, where the probe must ask the Service's health check node port. " +
				"Changing it on a live Service starts probing anew; nodes receive traffic as before until the first probes answer.",
		},
		read: func(s *Service, value string) error {
			switch protocol := HealthCheckProtocol(strings.ToUpper(value)); protocol {
			case HealthCheckTCP, HealthCheckHTTP:
				s.HealthCheck.Protocol = protocol
				return nil
			}
			return fmt.Errorf("write TCP or HTTP")
		},
	},
	{
		doc: Annotation{
			Key: KeyHealthCheckPort, Type: "port number", Default: "each port's own node port", Example: "10256",
			Doc: "The port on the nodes that is probed, for all ports of the Service. Ignored with externalTrafficPolicy: Local. " +
				"Changing it on a live Service to a port that nobody listens on takes every node out of service.",
		},
		read: func(s *Service, value string) error {
			port, err := parseInt(value, 1, maxPort)
			s.HealthCheck.Port = int32(port) // within 65535
			return err
		},
	},
	{
		doc: Annotation{
			Key: KeyHealthCheckPath, Type: "path", Default: "/", Example: "/healthz",
			Doc: "The path that HTTP probes ask for. Needs health-check-protocol HTTP; ignored with externalTrafficPolicy: Local. Changes apply to a live Service.",
		},
		read: func(s *Service, value string) (err error) {
			s.HealthCheck.Path, err = parsePath(value)
			return err
		},
	},
	{
		doc: Annotation{
			Key: KeyHealthCheckInterval, Type: "duration", Default: "the cloud's", Example: "10s",
			Doc: "Time between two probes of a node, in whole seconds. Changes apply to a live Service, on some clouds by replacing the pool.",
		},
		read: func(s *Service, value string) (err error) {
			s.HealthCheck.Interval, err = parseSeconds(value, time.Second, maxProbe)
			return err
		},
	},
	{
		doc: Annotation{
			Key: KeyHealthCheckTimeout, Type: "duration", Default: "the cloud's", Example: "5s",
			Doc: "How long a probe may take, in whole seconds; at most the interval. Changes apply to a live Service.",
		},
		read: func(s *Service, value string) (err error) {
			s.HealthCheck.Timeout, err = parseSeconds(value, time.Second, maxProbe)
			return err
		},
	},
	{
		doc: Annotation{
			Key: KeyHealthCheckHealthyThreshold, Type: "1 to 10", Default: "the cloud's", Example: "2",
			Doc: "How many probes in a row must succeed before a node receives traffic. Changes apply to a live Service.",
		},
		read: func(s *Service, value string) (err error) {
			s.HealthCheck.HealthyThreshold, err = parseInt(value, 1, maxThreshold)
			return err
		},
	},
	{
		doc: Annotation{
			Key: KeyHealthCheckUnhealthyThreshold, Type: "1 to 10", Default: "the cloud's", Example: "3",
			Doc: "How many probes in a row must fail before a node receives no more traffic. Changes apply to a live Service.",
		},
		read: func(s *Service, value string) (err error) {
			s.HealthCheck.UnhealthyThreshold, err = parseInt(value, 1, maxThreshold)
			return err
		},
	},
	{
		doc: Annotation{
			Key: KeyIdleTimeout, Type: "duration", Default: "the cloud's", Example: "5m",
			Doc: "How long a connection without traffic stays open, in whole seconds. Changes apply to a live Service; each cloud says what it means for open connections.",
		},
		read: func(s *Service, value string) (err error) {
			s.IdleTimeout, err = parseSeconds(value, time.Second, maxIdle)
			return err
		},
	},
	{
		doc: Annotation{
			Key: KeyStaticAddresses, Type: "list of IP addresses or the cloud's IDs of addresses", Default: "chosen by the cloud", Example: "198.51.100.7",
			Doc: "Addresses that exist already and are to be used. Wins over the deprecated spec.loadBalancerIP. Where they are objects of your own in the cloud, they stay when the Service goes; an address that the manager took from a pool goes back to it. " +
				"Changing them on a live Service moves it to the new addresses, so clients must follow; where a cloud cannot move it, the change is refused.",
		},
		read: func(s *Service, value string) (err error) {
			s.StaticAddresses, err = parseNames(value)
			return err
		},
	},
	{
		doc: Annotation{
			Key: KeyTags, Type: "list of key=value", Default: "none", Example: "team=web,stage=prod",
			Doc: "Tags for every cloud object of the Service, beside our own, which always win. Changes apply to live objects; a tag that is removed here is removed there.",
		},
		read: func(s *Service, value string) (err error) {
			s.Tags, err = parseTags(value)
			return err
		},
	},
	{
		doc: Annotation{
			Key: KeySubnets, Type: "list of subnet IDs or names", Default: "chosen by the cloud", Example: "subnet-a,subnet-b",
			Doc: "The subnets in which the load balancer gets its addresses. Changes apply to a live Service where the cloud can do so; otherwise they are refused.",
		},
		read: func(s *Service, value string) (err error) {
			s.Subnets, err = parseNames(value)
			return err
		},
	},
}
