package model

import (
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
)

// recordedFields returns the names of the fields that a record has. The ports show that it is of a release that reads
// it, and the node selector whether an invalid one is new. The others are those of earlier releases: without them, the
// tags of each load balancer would be written once more.
func recordedFields() []string {
	return []string{
		annotation.KeyClass, annotation.KeyPortID, annotation.KeySubnetID, annotation.KeyNetworkID, annotation.KeyFlavorID,
		annotation.KeyAvailabilityZone, annotation.KeyInternal, intent.KeyScheme, intent.KeySubnets,
		intent.KeyStaticAddresses, intent.FieldLoadBalancerIP, intent.FieldIPFamilies, annotation.KeyFloatingNetworkID,
		annotation.KeyFloatingSubnetID, annotation.KeyFloatingSubnet, annotation.KeyFloatingSubnetTags,
		annotation.KeyXForwardedFor, annotation.KeyTLSContainer, annotation.KeyProxyProtocol, annotation.KeyMemberSubnetID,
		intent.KeyProxyProtocol, intent.KeyTLSCertificate, intent.KeyTLSPorts, intent.KeyForwardedHeaders, intent.FieldPorts,
		intent.KeySourceRanges, intent.KeyPortSourceRanges, intent.FieldSourceRanges,
		v1.AnnotationLoadBalancerSourceRangesKey, annotation.KeyNodeSelector,
	}
}
