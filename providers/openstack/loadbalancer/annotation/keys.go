// Package annotation documents the Service annotations of the OpenStack provider and parses them once
// into typed options. Problems name the annotation, its value and what to write instead.
package annotation

// Prefix is the prefix of the annotations of openstack-cloud-controller-manager. It can never change.
const Prefix = "loadbalancer.openstack.org/"

// ownPrefix is the prefix of annotations that only this manager reads.
const ownPrefix = "openstack.unified-ccm.io/"

// The keys. They are in users' manifests and can never change.
const (
	KeyInternal = "service.beta.kubernetes.io/openstack-internal-load-balancer"

	// KeyLoadBalancerID and KeyLoadBalancerAddress are written by the manager too.
	KeyLoadBalancerID      = Prefix + "load-balancer-id"
	KeyLoadBalancerAddress = Prefix + "load-balancer-address"

	// KeyGuests are the Services that may share the load balancer.
	KeyGuests = ownPrefix + "guests"

	// KeyMembers and KeyFailoverRefused are written by the manager only.
	KeyMembers         = ownPrefix + "members"
	KeyFailoverRefused = ownPrefix + "failover-refused"

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
