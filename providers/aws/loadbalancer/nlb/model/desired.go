package model

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Attributes of load balancers and listeners that we own.
const (
	AttributeCrossZone   = "load_balancing.cross_zone.enabled"
	AttributeLogs        = "access_logs.s3.enabled"
	AttributeLogBucket   = "access_logs.s3.bucket"
	AttributeLogPrefix   = "access_logs.s3.prefix"
	AttributeIdleTimeout = "tcp.idle_timeout.seconds"
)

// managedHandle identifies the managed security group in a plan before it exists.
const managedHandle plan.Handle = "managed security group"

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

// instanceIDs returns the instances of the nodes.
func (r Request) instanceIDs() []string {
	ids := make([]string, len(r.Nodes))
	for i, n := range r.Nodes {
		ids[i] = n.InstanceID
	}
	return ids
}

// WantedTarget is a target that should be registered.
type WantedTarget struct {
	Target
	// Keep is set if it stays while it is registered, but cannot be registered now: its instance is stopped, or has no
	// primary IPv6 address.
	Keep bool
}

// WantedGroup is a target group that should exist.
type WantedGroup struct {
	Name, Protocol          string
	Port                    int32
	TargetType, AddressType string
	// Health has a timeout of zero if AWS' default is accepted.
	Health HealthCheck
	// Attributes are those that the Service sets; others are not changed.
	Attributes map[string]string
	Targets    []WantedTarget
}

// WantedListener is a listener that should exist.
type WantedListener struct {
	Port             int32
	Protocol, Policy string
	// The first of Certificates is the default one.
	Certificates []string
	Group        WantedGroup
	// IdleTimeout is in seconds, zero if unset.
	IdleTimeout int32
}

// Datagrams reports whether a listener takes UDP.
func (l WantedListener) Datagrams() bool {
	return l.Protocol == protocolUDP || l.Protocol == protocolTCPUDP
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
	Listeners  []WantedListener
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
}

// Desire computes the objects that should exist for a Service. It is pure and returns all problems joined.
func Desire(r Request, settings Settings) (Desired, error) {
	b := &builder{Request: r, settings: settings, problems: r.Options.NewProblems(),
		creation: r.Options.NewProblems(), warnings: slices.Clone(r.Options.Warnings)}
	subject := "Service " + r.Service.Namespace + "/" + r.Service.Name
	o := r.Options
	o.Warnings = nil
	o.OnlyClassic(r.Service.Annotations)
	b.check()
	zones, zonesErr := b.zones()
	invalid := b.creation.Err(subject)
	if o.Subnets == nil {
		invalid, zonesErr = intent.Join(subject, invalid, zonesErr), nil // the user does not control discovery
	}
	d := Desired{
		Key: r.Key, Name: cmp.Or(o.Name, DefaultName(r.Key)), Scheme: b.scheme(), VPC: r.Shared.VPC,
		AddressType: string(types.IpAddressTypeIpv4), Zones: zones, Listed: o.Subnets != nil,
		Addressed: b.addressed(), Probes: b.probes(), Invalid: invalid,
		Attributes: loadBalancerAttributes(o),
		Tags:       tags.Wanted(r.Shared.Cluster.ID, r.Shared.Cluster.Legacy, r.Key, o.Tags),
		Secured:    b.settings.Managed, SecurityGroups: o.SecurityGroups, NodeGroups: b.nodeGroups(),
		NoNodeRules: b.settings.NoNodeRules,
	}
	d.NodeZones, d.ZoneOf = r.Shared.ZonesOf(r.instanceIDs()), r.Shared.ZonesOfSubnets()
	if b.dual {
		d.AddressType = string(types.IpAddressTypeDualstack)
	}
	d.Listeners = b.listeners()
	if len(d.Listeners) > 0 && d.Listeners[0].Group.Health.Path == "" {
		o.NoPath(r.Service.Annotations)
	}
	b.warnings = append(b.warnings, o.Warnings...)
	for _, l := range d.Listeners {
		d.SourceNAT = d.SourceNAT || b.dual && l.Datagrams()
	}
	d.UDPKeepsIPv4 = b.udpKeepsIPv4
	b.checkPrimaryIPv6()
	d.ByCIDR = b.byCIDR(d)
	d.Managed = b.managedGroup(d.Tags)
	d.Warnings, d.Reasons = slices.AppendSeq(b.warnings, maps.Keys(b.reasons)), b.reasons
	d.Record = d.AppliedRecord(r.Service.Fields)
	err := intent.Join(subject, b.problems.Err(subject), zonesErr)
	if err != nil {
		err = intent.Join(subject, d.Invalid, err, d.NodeGroups.Problem)
	}
	return d, err
}

// builder is the state of one Desire.
type builder struct {
	Request
	settings Settings
	// dual is set if the load balancer has addresses of both families.
	dual         bool
	udpKeepsIPv4 bool
	problems     intent.Problems
	// creation are problems that only prevent the creation of a load balancer.
	creation intent.Problems
	warnings []string
	// reasons are those of further warnings, by their texts.
	reasons map[string]events.Reason
	seen    map[string]bool
}

func (b *builder) warnf(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// check refuses settings that a network load balancer does not support.
func (b *builder) check() {
	o, annotations := b.Options, b.Service.Annotations
	b.checkGroups()
	tags.Check(o.Tags, b.Service.Tags, annotation.KeyTags, &b.problems)
	if o.BackendProtocol != "" && o.BackendProtocol != "ssl" && o.BackendProtocol != "tcp" {
		b.warnf("%s: network load balancers forward bytes, so %s has no effect; write ssl to encrypt to the nodes, or "+
			"remove it", annotation.KeyBackendProtocol, intent.Quote(o.BackendProtocol))
	}
	if o.GroupAttributes[annotation.AttributePreserveClientIP] == "false" {
		for _, p := range b.Service.Ports {
			if p.Protocol == v1.ProtocolUDP {
				b.problems.Addf(annotation.KeyGroupAttributes, annotation.AttributePreserveClientIP+"=false",
					"UDP port %d always shows the client's address: remove the attribute, or the port", p.Port)
			}
		}
	}
	if b.settings.Shared != nil && !b.Service.LocalTraffic {
		for _, key := range []string{annotation.KeyHealthCheckProtocol, annotation.KeyHealthCheckPort,
			annotation.KeyHealthCheckPath} {
			if annotations[key] != "" {
				b.warnf("%s: no effect, because the configuration probes kube-proxy instead "+
					"(ClusterServiceLoadBalancerHealthProbeMode=Shared); remove it", key)
			}
		}
	}
}

// checkGroups checks what follows from security groups that this manager does not write.
func (b *builder) checkGroups() {
	listed := len(b.Options.SecurityGroups) > 0
	if listed && !b.settings.Managed {
		b.warnf("%s: no effect, because a network load balancer gets security groups only with NLBSecurityGroupMode=Managed "+
			"in the cloud configuration; set that, or remove the annotation", annotation.KeySecurityGroups)
	}
	switch {
	case b.settings.Managed && listed:
		b.reasons = vpc.CheckRanges(b.Service, annotation.KeySecurityGroups, &b.problems)
	case !b.settings.Managed && b.settings.NoNodeRules:
		b.reasons = vpc.CheckRanges(b.Service, "the nodes' security groups (DisableSecurityGroupIngress in the cloud "+
			"configuration)", &b.problems)
	}
}

func (b *builder) scheme() string {
	if b.Options.Internal {
		return string(types.LoadBalancerSchemeEnumInternal)
	}
	return string(types.LoadBalancerSchemeEnumInternetFacing)
}

// nodeGroups are the security groups in which the load balancer needs rules.
func (b *builder) nodeGroups() vpc.NodeGroups {
	if b.settings.NoNodeRules {
		return vpc.NodeGroups{}
	}
	var ids []string
	for _, n := range b.Nodes {
		// A terminated instance has lost its groups, and must not block the others.
		if _, keep := instanceState(b.Shared.Instances[n.InstanceID]); keep {
			ids = append(ids, n.InstanceID)
		}
	}
	return vpc.NodeGroupsOf(b.Shared, ids)
}

// loadBalancerAttributes returns the attributes that are restored whenever another client changes them.
func loadBalancerAttributes(o annotation.Options) map[string]string {
	attributes := map[string]string{AttributeCrossZone: fmt.Sprint(o.CrossZone),
		AttributeLogs: fmt.Sprint(o.AccessLog.Enabled)}
	if o.AccessLog.Enabled {
		attributes[AttributeLogBucket], attributes[AttributeLogPrefix] = o.AccessLog.Bucket, o.AccessLog.Prefix
	}
	return attributes
}

// packetFamily returns the family of packets to targets: that of the targets, regardless of clients.
func (b *builder) packetFamily() v1.IPFamily {
	if b.targetFamily() == addressIPv6 {
		return v1.IPv6Protocol
	}
	return v1.IPv4Protocol
}

// probes returns the source networks of health checks for each subnet of the VPC.
func (b *builder) probes() map[string][]netip.Prefix {
	networks := make(map[string][]netip.Prefix, len(b.Shared.Subnets))
	for _, s := range b.Shared.Subnets {
		switch {
		case b.packetFamily() == v1.IPv6Protocol:
			networks[s.ID] = s.CIDR6
		case s.CIDR4.IsValid():
			networks[s.ID] = []netip.Prefix{s.CIDR4}
		}
	}
	return networks
}

// byCIDR returns the rules on nodes for a load balancer without security groups. differ.reconcileZones adds the
// subnets: they are those of the load balancer.
func (b *builder) byCIDR(d Desired) vpc.ByCIDR {
	rules := vpc.ByCIDR{LoadBalancer: DefaultName(b.Key)} // also if it has another name: they must be found without it
	for _, p := range b.Service.Ports {
		sources := b.Service.AllowedAt(p, b.packetFamily())
		rules.Traffic = append(rules.Traffic, vpc.Port{Protocol: vpc.Transport(p), Port: p.NodePort, Sources: sources})
		rules.Sources = append(rules.Sources, sources...)
	}
	for _, l := range d.Listeners {
		rules.Health = append(rules.Health, healthPort(l.Group))
	}
	slices.Sort(rules.Health)
	rules.Health = slices.Compact(rules.Health)
	return rules
}

// clientFamilies are the families that clients can use.
func (b *builder) clientFamilies() []v1.IPFamily {
	if b.dual {
		return []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
	}
	return []v1.IPFamily{v1.IPv4Protocol}
}

// managedGroup is the load balancer's own security group.
func (b *builder) managedGroup(desired map[string]string) vpc.ManagedGroup {
	return vpc.ManagedGroup{
		Name:        names.ManagedGroupName(b.Key.ClusterName, tags.Service(b.Key), b.Key.UID),
		Description: names.ManagedGroupDescription,
		Tags:        desired, Handle: managedHandle,
		Rules: vpc.ClientRules(b.Service, b.clientFamilies()),
	}
}

// instanceState classifies instances by whether they can be registered; an unknown one can.
func instanceState(i *ec2types.Instance) (can, keep bool) {
	if i == nil || i.State == nil {
		return true, true
	}
	switch i.State.Name {
	case ec2types.InstanceStateNameTerminated, ec2types.InstanceStateNameShuttingDown:
		return false, false
	case ec2types.InstanceStateNameStopped, ec2types.InstanceStateNameStopping:
		return false, true
	default:
		return true, true
	}
}
