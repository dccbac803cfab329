package annotation

import "github.com/unified-ccm/unified-ccm/pkg/common/intent"

// Prefix begins the annotations that Services carry today. It can never change.
const Prefix = "service.beta.kubernetes.io/aws-load-balancer-"

// OwnPrefix begins what only this manager reads. A Service cannot have used such a key before, so
// that taking over a load balancer never changes it. It can never change.
const OwnPrefix = "aws.unified-ccm.io/"

// The keys. They are in users' manifests and can never change.
const (
	KeyType                 = Prefix + "type"
	KeyInternal             = Prefix + "internal"
	KeySubnets              = Prefix + "subnets"
	KeySecurityGroups       = Prefix + "security-groups"
	KeyExtraSecurityGroups  = Prefix + "extra-security-groups"
	KeyAllocations          = Prefix + "eip-allocations"
	KeyPrivateIPv4          = Prefix + "private-ipv4-addresses"
	KeyTags                 = Prefix + "additional-resource-tags"
	KeyCertificates         = Prefix + "ssl-cert"
	KeyTLSPorts             = Prefix + "ssl-ports"
	KeyTLSPolicy            = Prefix + "ssl-negotiation-policy"
	KeyBackendProtocol      = Prefix + "backend-protocol"
	KeyProxyProtocol        = Prefix + "proxy-protocol"
	KeyCrossZone            = Prefix + "cross-zone-load-balancing-enabled"
	KeyAccessLog            = Prefix + "access-log-enabled"
	KeyAccessLogInterval    = Prefix + "access-log-emit-interval"
	KeyAccessLogBucket      = Prefix + "access-log-s3-bucket-name"
	KeyAccessLogPrefix      = Prefix + "access-log-s3-bucket-prefix"
	KeyDraining             = Prefix + "connection-draining-enabled"
	KeyDrainTimeout         = Prefix + "connection-draining-timeout"
	KeyIdleTimeout          = Prefix + "connection-idle-timeout"
	KeyHealthCheckProtocol  = Prefix + "healthcheck-protocol"
	KeyHealthCheckPort      = Prefix + "healthcheck-port"
	KeyHealthCheckPath      = Prefix + "healthcheck-path"
	KeyHealthCheckHealthy   = Prefix + "healthcheck-healthy-threshold"
	KeyHealthCheckUnhealthy = Prefix + "healthcheck-unhealthy-threshold"
	KeyHealthCheckTimeout   = Prefix + "healthcheck-timeout"
	KeyHealthCheckInterval  = Prefix + "healthcheck-interval"
	KeyGroupAttributes      = Prefix + "target-group-attributes"
	KeyNodeLabels           = Prefix + "target-node-labels"
	KeyName                 = OwnPrefix + "load-balancer-name"
	KeyTargetType           = OwnPrefix + "target-type"
	KeyIPv6                 = OwnPrefix + "ipv6-addresses"
	controllerName          = "the AWS Load Balancer Controller"
	onlyThere               = "it is read by " + controllerName + " alone and has no effect here; "
)

// Keys are the keys of Documentation.
func Keys() []string {
	var keys []string
	for _, e := range table() {
		keys = append(keys, e.doc.Key)
	}
	return keys
}

// Portable are the portable annotations that the provider honours: all of them.
func Portable() []string { return intent.Keys() }

// Prefixes are how the provider's own annotations begin; a key that begins so and is not in Keys is taken for a slip.
func Prefixes() []string { return []string{Prefix, OwnPrefix} }

// Advice says what to do about annotations that people know from elsewhere and that have no effect here, by key.
func Advice() map[string]string {
	remove := onlyThere + "remove it"
	return map[string]string{
		Prefix + "scheme":                                   onlyThere + "for a load balancer that only the VPC reaches, write " + KeyInternal + ": \"true\"",
		Prefix + "name":                                     onlyThere + "write " + KeyName,
		Prefix + "nlb-target-type":                          onlyThere + "write " + KeyTargetType + ", which registers nodes by instance or by address",
		Prefix + "ip-address-type":                          onlyThere + "the address type follows spec.ipFamilies",
		Prefix + "ipv6-addresses":                           onlyThere + "write " + KeyIPv6,
		Prefix + "attributes":                               onlyThere + "write the annotation of the attribute, such as " + KeyCrossZone,
		Prefix + "listener-attributes":                      onlyThere + "for the idle timeout of TCP, write " + intent.KeyIdleTimeout,
		Prefix + "alpn-policy":                              remove,
		Prefix + "manage-backend-security-group-rules":      remove,
		Prefix + "inbound-sg-rules-on-private-link-traffic": remove,
		Prefix + "security-group-prefix-lists":              remove,
		Prefix + "minimum-load-balancer-capacity":           remove,
		Prefix + "enable-prefix-for-ipv6-source-nat":        onlyThere + "it is switched on by itself where a dual-stack load balancer needs it; remove it",
		Prefix + "source-nat-ipv6-prefixes":                 remove,
		Prefix + "multi-cluster-target-group":               remove,
		Prefix + "disable-nlb-sg":                           remove,
		Prefix + "enable-icmp-for-path-mtu-discovery":       remove,
		Prefix + "enable-tcp-udp-listener":                  onlyThere + "a Service with TCP and UDP on one port gets such a listener by itself; remove it",
		Prefix + "quic-enabled-ports":                       remove,
	}
}
