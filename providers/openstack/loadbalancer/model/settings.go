package model

import (
	"cmp"
	"time"

	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
)

// ProviderOVN is Octavia's provider without machines of its own, and with fewer features.
const ProviderOVN = "ovn"

// ContainerStoreBarbican is the container-store with references that are checked before use.
const ContainerStoreBarbican = "barbican"

// Place selects the networks and subnets of addresses: a section of the configuration.
type Place = annotation.Place

// Settings are the configuration of load balancers.
type Settings struct {
	// Provider is Octavia's provider.
	Provider string
	// Method is Octavia's algorithm; the provider ovn has only one, which replaces the default ROUND_ROBIN.
	Method string
	Place
	// Classes by name.
	Classes map[string]Place
	// Internal makes every load balancer internal.
	Internal             bool
	ManageSecurityGroups bool
	// CreateMonitor reports whether nodes are probed if the Service does not set it.
	CreateMonitor                          bool
	MonitorDelay, MonitorTimeout           time.Duration
	MonitorMaxRetries, MonitorMaxRetryDown int
	// NodeSelector limits the nodes that receive traffic: label=value,label.
	NodeSelector string
	// NoCascade deletes load balancers part by part.
	NoCascade bool
	// FlavorID and AvailabilityZone are Octavia's.
	FlavorID, AvailabilityZone string
	// IngressHostname puts a host name, of address and suffix, into the status if the PROXY protocol is used.
	IngressHostname       bool
	IngressHostnameSuffix string
	// TLSContainer is used if the Service does not set one.
	TLSContainer   string
	ContainerStore string
	// MaxShared is the maximum number of Services that share a load balancer; nil for the default.
	MaxShared *int
	// Serial creates one object with each call.
	Serial bool
}

// WithDefaults sets the defaults of unset keys of the configuration.
func (s Settings) WithDefaults() Settings {
	s.Provider = cmp.Or(s.Provider, "amphora")
	s.MaxShared = cmp.Or(s.MaxShared, ptr.To(2))
	s.MonitorDelay = cmp.Or(s.MonitorDelay, 5*time.Second)
	s.MonitorTimeout = cmp.Or(s.MonitorTimeout, 3*time.Second)
	s.MonitorMaxRetries = cmp.Or(s.MonitorMaxRetries, 1)
	s.MonitorMaxRetryDown = cmp.Or(s.MonitorMaxRetryDown, 3)
	s.ContainerStore = cmp.Or(s.ContainerStore, ContainerStoreBarbican)
	s.IngressHostnameSuffix = cmp.Or(s.IngressHostnameSuffix, "nip.io")
	return s
}
