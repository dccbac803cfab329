package api

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/document"
)

// Resource are the fields that all objects have.
type Resource struct {
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	SelfLink    string `json:"selfLink,omitempty"`

	// document is what was read.
	document json.RawMessage
}

func (r *Resource) resource() *Resource { return r }

// Common returns the fields that all objects have.
func (r Resource) Common() Resource { return r }

// Object is a kind of object.
type Object[T any] interface {
	*T
	resource() *Resource
}

// Parse returns the object of a document.
func Parse[T any, P Object[T]](document []byte) (T, error) {
	var out T
	if err := json.Unmarshal(document, &out); err != nil {
		return out, fmt.Errorf("the response cannot be parsed: %w", err)
	}
	if r := P(&out).resource(); r.Name == "" {
		return out, fmt.Errorf("the response has an object without a name: %.100s", document)
	}
	P(&out).resource().document = bytes.Clone(document)
	return out, nil
}

// ParseAll returns the objects of a list.
func ParseAll[T any, P Object[T]](documents []json.RawMessage) ([]T, error) {
	out := make([]T, 0, len(documents))
	for _, document := range documents {
		object, err := Parse[T, P](document)
		if err != nil {
			return nil, err
		}
		out = append(out, object)
	}
	return out, nil
}

// Encode returns the document of an object: the one that was read, with the changes since. Fields that the types of
// this package do not have stay, at every depth.
func Encode[T any, P Object[T]](object T) (json.RawMessage, error) {
	content, err := json.Marshal(object)
	read := P(&object).resource().document
	if err != nil || read == nil {
		return content, err
	}
	before, err := Parse[T, P](read)
	if err != nil {
		return nil, err
	}
	known, err := json.Marshal(before)
	if err != nil {
		return nil, err
	}
	return document.Merge(read, known, content, "group")
}

// ForwardingRule is the front of a load balancer. Its target is a pool or, with a backend service, another kind.
type ForwardingRule struct {
	Resource

	IPAddress         string   `json:"IPAddress,omitempty"`
	IPProtocol        string   `json:"IPProtocol,omitempty"`
	PortRange         string   `json:"portRange,omitempty"`
	Ports             []string `json:"ports,omitempty"`
	AllPorts          bool     `json:"allPorts,omitempty"`
	Target            string   `json:"target,omitempty"`
	BackendService    string   `json:"backendService,omitempty"`
	Scheme            string   `json:"loadBalancingScheme,omitempty"`
	NetworkTier       string   `json:"networkTier,omitempty"`
	Network           string   `json:"network,omitempty"`
	Subnetwork        string   `json:"subnetwork,omitempty"`
	AllowGlobalAccess bool     `json:"allowGlobalAccess,omitempty"`
	Fingerprint       string   `json:"fingerprint,omitempty"`
}

// ForwardingRulePatch is a change of a forwarding rule in place.
type ForwardingRulePatch struct {
	AllowGlobalAccess *bool  `json:"allowGlobalAccess,omitempty"`
	Fingerprint       string `json:"fingerprint,omitempty"`
}

// The schemes of load balancers.
const (
	SchemeExternal = "EXTERNAL"
	SchemeInternal = "INTERNAL"
)

// The network tiers.
const (
	TierPremium  = "PREMIUM"
	TierStandard = "STANDARD"
)

// Address is a static address.
type Address struct {
	Resource

	Address     string   `json:"address,omitempty"`
	AddressType string   `json:"addressType,omitempty"`
	Purpose     string   `json:"purpose,omitempty"`
	NetworkTier string   `json:"networkTier,omitempty"`
	Subnetwork  string   `json:"subnetwork,omitempty"`
	Status      string   `json:"status,omitempty"`
	Users       []string `json:"users,omitempty"`
}

// PurposeShared is the purpose of an internal address that several forwarding rules can have.
const PurposeShared = "SHARED_LOADBALANCER_VIP"

// TargetPool is the pool of an external load balancer.
type TargetPool struct {
	Resource

	Instances       []string `json:"instances,omitempty"`
	HealthChecks    []string `json:"healthChecks,omitempty"`
	SessionAffinity string   `json:"sessionAffinity,omitempty"`
	// BackupPool is the URL of the pool that takes over.
	BackupPool string `json:"backupPool,omitempty"`
}

// BackendService is the back of an internal load balancer.
type BackendService struct {
	Resource

	Protocol        string    `json:"protocol,omitempty"`
	Scheme          string    `json:"loadBalancingScheme,omitempty"`
	SessionAffinity string    `json:"sessionAffinity,omitempty"`
	HealthChecks    []string  `json:"healthChecks,omitempty"`
	Backends        []Backend `json:"backends,omitempty"`
	Fingerprint     string    `json:"fingerprint,omitempty"`
}

// Backend is an instance group of a backend service.
type Backend struct {
	Group string `json:"group,omitempty"`
}

// The values of session affinity.
const (
	AffinityNone     = "NONE"
	AffinityClientIP = "CLIENT_IP"
)

// HTTPHealthCheck is a health check of target pools.
type HTTPHealthCheck struct {
	Resource
	Probe

	Port        int64  `json:"port,omitempty"`
	RequestPath string `json:"requestPath,omitempty"`
}

// Probe are the times of a health check, in seconds, and the numbers of probes that decide.
type Probe struct {
	CheckInterval      int64 `json:"checkIntervalSec,omitempty"`
	Timeout            int64 `json:"timeoutSec,omitempty"`
	HealthyThreshold   int64 `json:"healthyThreshold,omitempty"`
	UnhealthyThreshold int64 `json:"unhealthyThreshold,omitempty"`
}

// HealthCheck is a health check of backend services.
type HealthCheck struct {
	Resource
	Probe

	Type string     `json:"type,omitempty"`
	HTTP *HTTPProbe `json:"httpHealthCheck,omitempty"`
}

// HTTPProbe is the request of a health check.
type HTTPProbe struct {
	Port        int64  `json:"port,omitempty"`
	RequestPath string `json:"requestPath,omitempty"`
}

// HealthCheckHTTP is the type of health checks.
const HealthCheckHTTP = "HTTP"

// Firewall is a rule of a network.
type Firewall struct {
	Resource

	Network           string   `json:"network,omitempty"`
	Priority          *int64   `json:"priority,omitempty"`
	SourceRanges      []string `json:"sourceRanges,omitempty"`
	DestinationRanges []string `json:"destinationRanges,omitempty"`
	TargetTags        []string `json:"targetTags,omitempty"`
	Allowed           []Ports  `json:"allowed,omitempty"`
	Denied            []Ports  `json:"denied,omitempty"`
}

// Ports are the ports of a protocol in a firewall; none for all.
type Ports struct {
	Protocol string   `json:"IPProtocol,omitempty"`
	Ports    []string `json:"ports,omitempty"`
}

// FirewallPatch is a change of a firewall. Lists that are not nil replace those of the rule.
type FirewallPatch struct {
	Description       *string   `json:"description,omitempty"`
	Network           string    `json:"network,omitempty"`
	Priority          *int64    `json:"priority,omitempty"`
	SourceRanges      *[]string `json:"sourceRanges,omitempty"`
	DestinationRanges *[]string `json:"destinationRanges,omitempty"`
	TargetTags        *[]string `json:"targetTags,omitempty"`
	Allowed           *[]Ports  `json:"allowed,omitempty"`
}

// InstanceGroup is a group of instances in a zone.
type InstanceGroup struct {
	Resource

	Zone       string `json:"zone,omitempty"`
	Network    string `json:"network,omitempty"`
	Subnetwork string `json:"subnetwork,omitempty"`
}

// InstanceReference names an instance in requests.
type InstanceReference struct {
	Instance string `json:"instance"`
}

// InstanceList is the request that adds instances to a pool or group, or removes them.
type InstanceList struct {
	Instances []InstanceReference `json:"instances"`
}

// HealthCheckReference names a health check in requests.
type HealthCheckReference struct {
	HealthCheck string `json:"healthCheck"`
}

// HealthCheckList is the request that adds health checks to a pool, or removes them.
type HealthCheckList struct {
	HealthChecks []HealthCheckReference `json:"healthChecks"`
}

// Instance is a virtual machine.
type Instance struct {
	Resource

	ID          string             `json:"id,omitempty"`
	Zone        string             `json:"zone,omitempty"`
	MachineType string             `json:"machineType,omitempty"`
	Status      string             `json:"status,omitempty"`
	Interfaces  []NetworkInterface `json:"networkInterfaces,omitempty"`
	Tags        struct {
		Items []string `json:"items,omitempty"`
	} `json:"tags,omitzero"`
}

// NetworkInterface is an interface of an instance.
type NetworkInterface struct {
	Name              string         `json:"name,omitempty"`
	Network           string         `json:"network,omitempty"`
	Subnetwork        string         `json:"subnetwork,omitempty"`
	NetworkIP         string         `json:"networkIP,omitempty"`
	IPv6Address       string         `json:"ipv6Address,omitempty"`
	IPv6AccessType    string         `json:"ipv6AccessType,omitempty"`
	AccessConfigs     []AccessConfig `json:"accessConfigs,omitempty"`
	IPv6AccessConfigs []AccessConfig `json:"ipv6AccessConfigs,omitempty"`
	AliasIPRanges     []AliasIPRange `json:"aliasIpRanges,omitempty"`
}

// AccessConfig is an external address of an interface.
type AccessConfig struct {
	NatIP                    string `json:"natIP,omitempty"`
	ExternalIPv6             string `json:"externalIpv6,omitempty"`
	ExternalIPv6PrefixLength int64  `json:"externalIpv6PrefixLength,omitempty"`
}

// AliasIPRange is a range of addresses of an interface.
type AliasIPRange struct {
	Range string `json:"ipCidrRange,omitempty"`
	// Subnetwork range name.
	RangeName string `json:"subnetworkRangeName,omitempty"`
}

// Route is a route of a network.
type Route struct {
	Resource

	Network         string   `json:"network,omitempty"`
	DestRange       string   `json:"destRange,omitempty"`
	Priority        *int64   `json:"priority,omitempty"`
	NextHopInstance string   `json:"nextHopInstance,omitempty"`
	Tags            []string `json:"tags,omitempty"`
	Created         string   `json:"creationTimestamp,omitempty"`
}

// Network is a network. One with an IPv4 range is of the legacy kind.
type Network struct {
	Resource

	IPv4Range             string `json:"IPv4Range,omitempty"`
	AutoCreateSubnetworks bool   `json:"autoCreateSubnetworks,omitempty"`
}

// Subnetwork is a subnet in a region.
type Subnetwork struct {
	Resource

	Network     string `json:"network,omitempty"`
	IPCIDRRange string `json:"ipCidrRange,omitempty"`
	Purpose     string `json:"purpose,omitempty"`
}

// ZoneResource is a zone.
type ZoneResource struct {
	Resource

	Region string `json:"region,omitempty"`
}
