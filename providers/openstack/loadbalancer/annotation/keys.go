// Package annotation knows the Service annotations that the OpenStack provider honours: it documents
// them, and reads them once into typed options, every problem named with its key, its value and
// what to write instead.
package annotation

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// Prefix begins the annotations that Services carry today. It can never change.
const Prefix = "loadbalancer.openstack.org/"

// ownPrefix begins what only this manager knows.
const ownPrefix = "openstack.unified-ccm.io/"

// The keys. They are in users' manifests and can never change.
const (
	KeyInternal = "service.beta.kubernetes.io/openstack-internal-load-balancer"

	// KeyLoadBalancerID and KeyLoadBalancerAddress are written by the manager too.
	KeyLoadBalancerID      = Prefix + "load-balancer-id"
	KeyLoadBalancerAddress = Prefix + "load-balancer-address"

	// KeyMembers is written by the manager only, and is its own.
	KeyMembers = ownPrefix + "members"

	KeyClass              = Prefix + "class"
	KeyFloatingNetworkID  = Prefix + "floating-network-id"
	KeyFloatingSubnetID   = Prefix + "floating-subnet-id"
	KeyFloatingSubnet     = Prefix + "floating-subnet"
	KeyFloatingSubnetTags = Prefix + "floating-subnet-tags"
	KeyKeepFloatingIP     = Prefix + "keep-floatingip"
	KeySubnetID           = Prefix + "subnet-id"
	KeyNetworkID          = Prefix + "network-id"
	KeyMemberSubnetID     = Prefix + "member-subnet-id"
	KeyPortID             = Prefix + "port-id"
	KeyHostname           = Prefix + "hostname"
	KeyFlavorID           = Prefix + "flavor-id"
	KeyAvailabilityZone   = Prefix + "availability-zone"

	KeyConnectionLimit = Prefix + "connection-limit"
	KeyMethod          = Prefix + "lb-method"
	KeyProxyProtocol   = Prefix + "proxy-protocol"
	KeyXForwardedFor   = Prefix + "x-forwarded-for"
	KeyClientTimeout   = Prefix + "timeout-client-data"
	KeyConnectTimeout  = Prefix + "timeout-member-connect"
	KeyMemberTimeout   = Prefix + "timeout-member-data"
	KeyInspectTimeout  = Prefix + "timeout-tcp-inspect"
	KeyTLSContainer    = Prefix + "default-tls-container-ref"

	KeyMonitor        = Prefix + "enable-health-monitor"
	KeyMonitorDelay   = Prefix + "health-monitor-delay"
	KeyMonitorTimeout = Prefix + "health-monitor-timeout"
	KeyMonitorRetries = Prefix + "health-monitor-max-retries"
	KeyMonitorDown    = Prefix + "health-monitor-max-retries-down"

	KeyNodeSelector     = Prefix + "node-selector"
	KeyLoadBalancerTags = Prefix + "load-balancer-tags"
	KeyListenerTags     = Prefix + "listener-tags"
	KeyPoolTags         = Prefix + "pool-tags"
)

// Keys are the keys of Documentation.
func Keys() []string {
	var keys []string
	for _, e := range table() {
		keys = append(keys, e.doc.Key)
	}
	return keys
}

// Prefixes are how the provider's own annotations begin.
func Prefixes() []string {
	return []string{Prefix, "service.beta.kubernetes.io/openstack-", ownPrefix}
}

// Portable are the portable annotations that the provider honours: all of them.
func Portable() []string { return slices.Clone(intent.Keys()) }
