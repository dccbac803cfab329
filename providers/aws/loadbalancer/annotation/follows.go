package annotation

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// These are the fields of a Service that kinds of objects follow from, for plan.Change.Follows.

// FollowsZones returns the fields of subnets and addresses.
func FollowsZones() []string {
	return []string{KeySubnets, intent.KeySubnets, KeyAllocations, KeyPrivateIPv4, KeyIPv6, intent.KeyStaticAddresses,
		intent.FieldIPFamilies, KeyInternal, intent.KeyScheme}
}

// FollowsListeners returns the fields of listeners.
func FollowsListeners() []string {
	return []string{intent.FieldPorts, KeyCertificates, KeyTLSPorts, KeyBackendProtocol, intent.KeyTLSCertificate,
		intent.KeyTLSPorts, intent.KeyForwardedHeaders}
}

// FollowsTargetGroups returns the fields of target groups, as far as they cannot change in place, and of listeners.
func FollowsTargetGroups() []string {
	return append(FollowsListeners(), intent.FieldIPFamilies, KeyTargetType, intent.FieldExternalTrafficPolicy,
		KeyHealthCheckProtocol, intent.KeyHealthCheckProtocol, KeyHealthCheckInterval, intent.KeyHealthCheckInterval)
}

// FollowsGroups returns the fields of the security groups of a load balancer.
func FollowsGroups() []string { return []string{KeySecurityGroups, KeyExtraSecurityGroups} }

// FollowsRules returns the fields of rules in security groups.
func FollowsRules() []string {
	return slices.Concat(FollowsTargetGroups(), FollowsZones(), FollowsGroups(), intent.RangeFields(),
		[]string{intent.FieldHealthCheckNodePort, KeyHealthCheckPort, intent.KeyHealthCheckPort})
}

// FollowsTags returns the fields of tags.
func FollowsTags() []string { return []string{KeyTags, intent.KeyTags} }

// FollowsProxyProtocol returns the fields of the PROXY protocol.
func FollowsProxyProtocol() []string {
	return []string{KeyProxyProtocol, KeyGroupAttributes, intent.KeyProxyProtocol}
}
