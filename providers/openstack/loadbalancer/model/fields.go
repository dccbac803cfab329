package model

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
)

// PlaceFields are the fields of a Service that place its load balancer: a change of one replaces it.
func PlaceFields() plan.FieldSet {
	return plan.FieldSet{Name: "place of the load balancer", Fields: []string{
		annotation.KeyClass, annotation.KeyPortID, annotation.KeySubnetID, annotation.KeyNetworkID, annotation.KeyFlavorID,
		annotation.KeyAvailabilityZone, annotation.KeyInternal, intent.KeyScheme, intent.KeySubnets,
		intent.KeyStaticAddresses, intent.FieldLoadBalancerIP, intent.FieldIPFamilies,
	}}
}

// FloatingFields are the fields of a Service that determine its floating IP.
func FloatingFields() plan.FieldSet {
	return plan.FieldSet{Name: "floating IP", Fields: []string{
		annotation.KeyClass, annotation.KeyFloatingNetworkID, annotation.KeyFloatingSubnetID, annotation.KeyFloatingSubnet,
		annotation.KeyFloatingSubnetTags, annotation.KeyInternal, intent.KeyScheme, intent.KeyStaticAddresses,
		intent.FieldLoadBalancerIP, intent.FieldIPFamilies,
	}}
}

// ProtocolFields are the fields of a Service that determine protocols and member subnets: a change of one
// replaces listeners and pools.
func ProtocolFields() plan.FieldSet {
	return plan.FieldSet{Name: "ports and protocols", Fields: []string{
		annotation.KeyClass, annotation.KeyXForwardedFor, annotation.KeyTLSContainer, annotation.KeyProxyProtocol,
		annotation.KeyMemberSubnetID, intent.KeyProxyProtocol, intent.KeyTLSCertificate, intent.KeyTLSPorts,
		intent.KeyForwardedHeaders, intent.FieldPorts,
	}}
}

// MonitorFields are the fields of a Service that determine whether its nodes are probed.
func MonitorFields() plan.FieldSet {
	return plan.FieldSet{Name: "health monitors", Fields: []string{
		annotation.KeyMonitor, intent.FieldExternalTrafficPolicy,
	}}
}

// TagFields are the fields of a Service that determine the tags of one kind of object: one annotation of this cloud,
// and the portable one.
func TagFields(annotation string) []string { return []string{annotation, intent.KeyTags} }

// recordedFields returns the names of the fields that a record has. The node selector is one of them, so that the
// members of a Service with an invalid one follow the nodes if the record shows that it is new.
func recordedFields() []string {
	fields := plan.Union(PlaceFields(), FloatingFields(), ProtocolFields(), intent.SourceRanges())
	return slices.Sorted(slices.Values(append(fields, annotation.KeyNodeSelector)))
}
