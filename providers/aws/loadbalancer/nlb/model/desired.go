package model

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// Protocols as the ELBv2 API writes them.
const (
	ProtocolTCP    = string(types.ProtocolEnumTcp)
	ProtocolTLS    = string(types.ProtocolEnumTls)
	protocolUDP    = string(types.ProtocolEnumUdp)
	protocolTCPUDP = string(types.ProtocolEnumTcpUdp)
	protocolHTTP   = string(types.ProtocolEnumHttp)
)

// Kinds of targets, and families of their addresses.
const (
	targetInstance = string(types.TargetTypeEnumInstance)
	targetIP       = string(types.TargetTypeEnumIp)
	AddressIPv4    = string(types.TargetGroupIpAddressTypeEnumIpv4)
	addressIPv6    = string(types.TargetGroupIpAddressTypeEnumIpv6)
)

// Attributes of load balancers and listeners that we own.
const (
	AttributeCrossZone   = "load_balancing.cross_zone.enabled"
	AttributeLogs        = "access_logs.s3.enabled"
	AttributeLogBucket   = "access_logs.s3.bucket"
	AttributeLogPrefix   = "access_logs.s3.prefix"
	AttributeIdleTimeout = "tcp.idle_timeout.seconds"
)

// NewAttributes returns the attributes of a new network load balancer in AWS, limited to those that we own.
func NewAttributes() map[string]string {
	return map[string]string{AttributeCrossZone: "false", AttributeLogs: "false", AttributeLogBucket: "",
		AttributeLogPrefix: ""}
}

// NewListenerAttributes returns the attributes of a new TCP listener in AWS, limited to those that we own.
func NewListenerAttributes() map[string]string { return map[string]string{AttributeIdleTimeout: "350"} }

// Node is a node as a target.
type Node struct {
	InstanceID string
	// Addresses are the internal ones.
	Addresses []string
}

// Request is the input of Desire.
type Request struct {
	Key     lbcommon.Key
	Service intent.Service
	Options annotation.Options
	// Nodes may receive traffic; those without the labels that the Service requires are already excluded.
	Nodes  []Node
	Shared vpc.SharedState
}

// InstanceIDs returns the instances of nodes.
func InstanceIDs(nodes []Node) []string {
	return api.Convert(nodes, func(n Node) string { return n.InstanceID })
}

// DesiredTarget is a target that should be registered.
type DesiredTarget struct {
	Target
	// Keep is set if it stays while it is registered, but cannot be registered now: its instance is stopped, or has no
	// primary IPv6 address.
	Keep bool
}

// DesiredGroup is a target group that should exist.
type DesiredGroup struct {
	Name, Protocol          string
	Port                    int32
	TargetType, AddressType string
	// Health has a timeout of zero if AWS' default is accepted.
	Health HealthCheck
	// Attributes are those that the Service sets; others are not changed.
	Attributes map[string]string
	Targets    []DesiredTarget
}

// DesiredListener is a listener that should exist.
type DesiredListener struct {
	Port             int32
	Protocol, Policy string
	// The first of Certificates is the default one.
	Certificates []string
	Group        DesiredGroup
	// KeepGroup is set if an existing listener keeps its target groups, of which Group is the one with traffic.
	KeepGroup bool `json:"-"`
	// IdleTimeout is in seconds, zero if unset.
	IdleTimeout int32
}

// Datagrams reports whether a listener takes UDP.
func (l DesiredListener) Datagrams() bool {
	return l.Protocol == protocolUDP || l.Protocol == protocolTCPUDP
}

// Place returns the place of a listener in its load balancer: the port.
func (l DesiredListener) Place() string { return strconv.Itoa(int(l.Port)) }

// Text returns what AWS can refuse of a listener.
func (l DesiredListener) Text() string {
	return strings.Join(append([]string{l.Protocol, l.Policy}, l.Certificates...), " ")
}

// Desired are the objects that should exist for one Service.
type Desired struct {
	Key lbcommon.Key
	// Name is that of a new load balancer.
	Name, Scheme, VPC string
	AddressType       string
	SourceNAT         bool
	// UDPKeepsIPv4 is set if the UDP ports of a Service with both families keep a new load balancer from having IPv6.
	UDPKeepsIPv4 bool `json:"-"`
	// Zones are in the order written. Listed is set if the user chose the subnets, Addressed if the user chose
	// addresses. Without either, an existing load balancer keeps its zones.
	Zones             []Zone
	Listed, Addressed bool
	// Probes are the source networks of health checks, of all subnets of the VPC.
	Probes map[string][]netip.Prefix `json:"-"`
	// Invalid are problems of the zones. They prevent the creation of a load balancer; an existing one keeps its
	// zones.
	Invalid error `json:"-"`
	// NodeZones are the zones of the nodes that receive traffic, ZoneOf those of the VPC's subnets.
	NodeZones []string
	ZoneOf    map[string]string
	// Attributes of the load balancer that we own.
	Attributes map[string]string
	Listeners  []DesiredListener
	Tags       map[string]string
	// Secured gives a new load balancer security groups: those that the user lists, or else Managed.
	Secured        bool
	SecurityGroups []string
	Managed        vpc.ManagedGroup
	// NodeGroups have rules on nodes; ByCIDR allows traffic if the load balancer has no security groups.
	NodeGroups  vpc.NodeGroups `json:"-"`
	NoNodeRules bool
	ByCIDR      vpc.ByCIDR
	// Record is the applied record of this state.
	Record lbcommon.AppliedRecord
	// Warnings are for the Service's author.
	Warnings []string
	// Reasons are the reasons of the Events about Warnings, for those with a reason other than the default.
	Reasons map[string]events.Reason `json:"-"`
	// Kept are differences whose existing values stay.
	Kept []plan.Difference `json:"-"`

	// request and settings are those of Desire.
	request  Request
	settings Settings
}

// Keeps reports whether the existing value of a field stays.
func (d Desired) Keeps(kind, object, field string) bool {
	place := plan.Difference{Kind: kind, Object: object, Field: field}
	return slices.ContainsFunc(d.Kept, place.SamePlace)
}

// Listener returns the index of the listener of a port, or -1.
func (d Desired) Listener(port int32) int {
	return slices.IndexFunc(d.Listeners, func(l DesiredListener) bool { return l.Port == port })
}
