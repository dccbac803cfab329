package annotation

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// These functions return the fields of a Service that determine a property of its load balancer, for
// plan.Effect.Causes.

// Zones returns the fields of subnets and addresses.
func Zones() plan.FieldSet {
	return plan.FieldSet{Name: "subnets and addresses", Fields: []string{
		KeySubnets, intent.KeySubnets, KeyAllocations, KeyPrivateIPv4, KeyIPv6, intent.KeyStaticAddresses,
		intent.FieldIPFamilies, KeyInternal, intent.KeyScheme,
	}}
}

// Ports returns the fields of ports.
func Ports() plan.FieldSet { return plan.FieldSet{Name: "ports", Fields: []string{intent.FieldPorts}} }

// Listeners returns the fields of listeners.
func Listeners() plan.FieldSet {
	return plan.FieldSet{Name: "ports and protocols", Fields: []string{
		intent.FieldPorts, KeyCertificates, KeyTLSPorts, KeyBackendProtocol, intent.KeyTLSCertificate, intent.KeyTLSPorts,
		intent.KeyForwardedHeaders,
	}}
}

// TargetGroups returns the fields of target groups, as far as they cannot change in place, beside those of listeners.
func TargetGroups() plan.FieldSet {
	return plan.FieldSet{Name: "targets and families", Fields: []string{
		intent.FieldIPFamilies, KeyTargetType, intent.FieldExternalTrafficPolicy, KeyHealthCheckProtocol,
		intent.KeyHealthCheckProtocol, KeyHealthCheckInterval, intent.KeyHealthCheckInterval,
	}}
}

// Groups returns the fields of the security groups of a load balancer.
func Groups() plan.FieldSet {
	return plan.FieldSet{Name: "security groups", Fields: []string{KeySecurityGroups, KeyExtraSecurityGroups}}
}

// HealthCheckPort returns the fields of the port of health checks.
func HealthCheckPort() plan.FieldSet {
	return plan.FieldSet{Name: "health check port", Fields: []string{
		intent.FieldHealthCheckNodePort, KeyHealthCheckPort, intent.KeyHealthCheckPort,
	}}
}

// ProxyProtocol returns the fields of the PROXY protocol.
func ProxyProtocol() plan.FieldSet {
	return plan.FieldSet{Name: "PROXY protocol", Fields: []string{
		KeyProxyProtocol, KeyGroupAttributes, intent.KeyProxyProtocol,
	}}
}

// TLSPolicy returns the fields of the TLS policy.
func TLSPolicy() plan.FieldSet {
	return plan.FieldSet{Name: "TLS policy", Fields: []string{KeyTLSPolicy}}
}

// Certificates returns the fields of certificates.
func Certificates() plan.FieldSet {
	return plan.FieldSet{Name: "certificates", Fields: []string{KeyCertificates, intent.KeyTLSCertificate}}
}

// TagFields returns the fields of tags, for plan.Change.Follows.
func TagFields() []string { return []string{KeyTags, intent.KeyTags} }
