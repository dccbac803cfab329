package annotation

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Options are what a Service's own OpenStack annotations and the portable ones ask for together.
// Nil pointers mean that the configuration decides. A pointer to an empty text means that the
// Service wants none of what the configuration names.
type Options struct {
	// Internal is without a floating IP.
	Internal *bool
	// LoadBalancerID is a load balancer to use, the Service's own or one that it shares.
	LoadBalancerID string
	// Class is the name of a section of the configuration.
	Class string
	Place Place
	// PortID is a Neutron port to use for the address.
	PortID string
	// KeepFloatingIP says that a floating IP outlives the Service.
	KeepFloatingIP bool
	// Hostname replaces addresses in the status.
	Hostname string
	// FlavorID and AvailabilityZone are Octavia's.
	FlavorID, AvailabilityZone *string

	// Method is Octavia's name of an algorithm.
	Method *string
	// ProxyProtocol is 0, 1 or 2.
	ProxyProtocol int
	XForwardedFor bool
	// ConnectionLimit is -1 for none.
	ConnectionLimit *int
	Timeouts        Timeouts
	// TLSContainer is the reference to a certificate in Barbican; empty for no TLS.
	TLSContainer *string

	Monitor Monitor
	// NodeLabels are what a node needs to receive traffic: every key, with the value where that is not empty.
	NodeLabels map[string]string
	// HasNodeLabels says that the Service itself names them.
	HasNodeLabels bool

	// Tags for one kind of object each. Those of the portable annotation are in all three.
	LoadBalancerTags, ListenerTags, PoolTags []string

	// StaticAddresses of the Service, whatever they are: the address of the VIP of an internal
	// load balancer, or that of a floating IP.
	StaticAddresses []string
}

// Place is where addresses come from. IDs, except for FloatingSubnet (a pattern) and
// FloatingSubnetTags (an expression).
type Place struct {
	FloatingNetworkID, FloatingSubnetID, FloatingSubnet, FloatingSubnetTags *string
	SubnetID, NetworkID, MemberSubnetID                                     *string
}

// Timeouts in milliseconds; nil for the default.
type Timeouts struct{ Client, Connect, Member, Inspect *int }

// Monitor says how members are probed. Nil pointers and zeros mean the default.
type Monitor struct {
	Enabled *bool
	// Protocol, Port and Path are those of the portable annotations.
	Protocol       string
	Port           int32
	Path           string
	Delay, Timeout *time.Duration
	Retries, Down  *int
}

// ParseNodeLabels reads key=value,key: a key alone demands that the label exists. What follows a
// second equal sign has never counted.
func ParseNodeLabels(text string) map[string]string {
	labels := map[string]string{}
	for item := range strings.SplitSeq(text, ",") {
		parts := strings.Split(strings.TrimSpace(item), "=")
		key := strings.TrimSpace(parts[0])
		if key == "" {
			continue
		}
		labels[key] = ""
		if len(parts) > 1 {
			labels[key] = strings.TrimSpace(parts[1])
		}
	}
	return labels
}

// ShowNodeLabels is the inverse of ParseNodeLabels.
func ShowNodeLabels(labels map[string]string) string {
	var items []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		item := key
		if labels[key] != "" {
			item += "=" + labels[key]
		}
		items = append(items, item)
	}
	return strings.Join(items, ",")
}
