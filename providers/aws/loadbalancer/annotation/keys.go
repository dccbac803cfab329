package annotation

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// Prefix is the prefix of the annotations of cloud-provider-aws. It can never change.
const Prefix = "service.beta.kubernetes.io/aws-load-balancer-"

// OwnPrefix is the prefix of annotations that only this manager reads. Services of other managers don't have
// them, so taking over a load balancer never changes it. It can never change.
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
)

// noEffectHere begins the advice about annotations of the AWS Load Balancer Controller.
const noEffectHere = "only the AWS Load Balancer Controller reads it, so it has no effect here; "

// Portable returns the keys of the portable annotations that the provider supports: all of them.
func Portable() []string {
	// Its load balancers have one algorithm each.
	return slices.DeleteFunc(intent.Keys(), func(key string) bool { return key == intent.KeyAlgorithm })
}

// Prefixes returns the prefixes of the provider's own annotations.
func Prefixes() []string { return []string{Prefix, OwnPrefix} }

// Advice maps annotations of the AWS Load Balancer Controller, which have no effect here, to instructions.
func Advice() map[string]string {
	advice := map[string]string{
		"scheme":              "for a load balancer that only the VPC reaches, write " + KeyInternal + ": \"true\"",
		"name":                "write " + KeyName,
		"nlb-target-type":     "write " + KeyTargetType + ", which registers nodes by instance or by address",
		"ip-address-type":     "the address type follows spec.ipFamilies",
		"ipv6-addresses":      "write " + KeyIPv6,
		"attributes":          "write the annotation of the attribute, such as " + KeyCrossZone,
		"listener-attributes": "for the idle timeout of TCP, write " + intent.KeyIdleTimeout,
		"enable-prefix-for-ipv6-source-nat": "it is enabled automatically if a dual-stack load balancer needs it; " +
			"remove it",
		"enable-tcp-udp-listener": "a Service with TCP and UDP on one port gets such a listener automatically; remove it",
	}
	for _, name := range []string{
		"alpn-policy", "manage-backend-security-group-rules", "inbound-sg-rules-on-private-link-traffic",
		"security-group-prefix-lists", "minimum-load-balancer-capacity", "source-nat-ipv6-prefixes",
		"multi-cluster-target-group", "disable-nlb-sg", "enable-icmp-for-path-mtu-discovery", "quic-enabled-ports",
	} {
		advice[name] = "remove it"
	}
	out := make(map[string]string, len(advice))
	for name, text := range advice {
		out[Prefix+name] = noEffectHere + text
	}
	return out
}
