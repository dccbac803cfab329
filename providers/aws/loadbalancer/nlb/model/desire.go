package model

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// managedHandle identifies the managed security group in a plan before it exists.
const managedHandle plan.Handle = "managed security group"

// Desire computes the objects that should exist for a Service. It is pure and returns all problems joined.
func Desire(r Request, settings Settings) (Desired, error) {
	b := &builder{Request: r, settings: settings, problems: r.Options.NewProblems(),
		creation: r.Options.NewProblems(), warnings: slices.Clone(r.Options.Warnings)}
	subject := r.Service.Subject()
	o := r.Options
	o.Warnings = nil
	o.WarnClassicOnly(r.Service.Annotations)
	b.check()
	zones, zonesErr := b.zones()
	b.checkPrimaryIPv6()
	invalid := b.creation.Err(subject)
	if o.Subnets == nil {
		invalid, zonesErr = intent.Join(subject, invalid, zonesErr), nil // the user does not control discovery
	}
	d := Desired{
		Key: r.Key, Name: cmp.Or(o.Name, DefaultName(r.Key)), Scheme: b.scheme(), VPC: r.Shared.VPC,
		AddressType: string(types.IpAddressTypeIpv4), Zones: zones, Listed: o.Subnets != nil,
		Addressed: b.addressed(), Probes: b.probes(), Invalid: invalid,
		Attributes: loadBalancerAttributes(o),
		Tags:       tags.Desired(r.Shared.Cluster.ID, r.Shared.Cluster.Legacy, r.Key, o.Tags),
		Secured:    b.settings.Managed, SecurityGroups: o.SecurityGroups, NodeGroups: b.nodeGroups(),
		NoNodeRules: b.settings.NoNodeRules, request: r, settings: settings,
	}
	d.NodeZones, d.ZoneOf = r.Shared.ZonesOf(InstanceIDs(r.Nodes)), r.Shared.ZonesOfSubnets()
	if b.dual {
		d.AddressType = string(types.IpAddressTypeDualstack)
	}
	d.Listeners = b.listeners()
	if len(d.Listeners) > 0 && d.Listeners[0].Group.Health.Path == "" {
		o.WarnUnusedPath(r.Service.Annotations)
	}
	b.warnings = append(b.warnings, o.Warnings...)
	for _, l := range d.Listeners {
		d.SourceNAT = d.SourceNAT || b.dual && l.Datagrams()
	}
	d.UDPKeepsIPv4 = b.udpKeepsIPv4
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

// check refuses settings that a network load balancer does not support.
func (b *builder) check() {
	o, annotations := b.Options, b.Service.Annotations
	b.checkGroups()
	tags.Check(b.Shared.Cluster.ID, o.Tags, b.Service.Tags, annotation.KeyTags, &b.problems)
	b.warnings = append(b.warnings, tags.Warnings(o.Tags, annotation.KeyTags)...)
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

// checkGroups checks settings that depend on security groups that this manager does not write.
func (b *builder) checkGroups() {
	listed := len(b.Options.SecurityGroups) > 0
	if listed && !b.settings.Managed {
		b.warnf("%s: no effect, because a network load balancer gets security groups only with NLBSecurityGroupMode=Managed "+
			"in the cloud configuration; set that, or remove the annotation", annotation.KeySecurityGroups)
	}
	if err := b.Options.SecurityGroupsErr; err != nil && b.settings.Managed {
		b.problems.Add(annotation.KeySecurityGroups, b.Service.Annotations[annotation.KeySecurityGroups], err.Error())
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

// nodeGroups returns the security groups in which the load balancer needs rules.
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
	// The default name, even if the Service chose another one: the rules must be found without the load balancer.
	rules := vpc.ByCIDR{LoadBalancer: DefaultName(b.Key)}
	for _, p := range b.Service.Ports {
		sources := b.Service.AllowedAt(p, b.packetFamily())
		rules.Traffic = append(rules.Traffic, vpc.Port{Protocol: vpc.Transport(p), Port: p.NodePort, Sources: sources})
		rules.Sources = append(rules.Sources, sources...)
	}
	rules.Health = healthPorts(d.Listeners)
	return rules
}

// clientFamilies returns the families that clients can use.
func (b *builder) clientFamilies() []v1.IPFamily {
	if b.dual {
		return []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
	}
	return []v1.IPFamily{v1.IPv4Protocol}
}

// managedGroup returns the load balancer's own security group.
func (b *builder) managedGroup(desired map[string]string) vpc.ManagedGroup {
	return vpc.ManagedGroup{
		Name:        names.ManagedGroupName(b.Key.ClusterName, tags.Service(b.Key), b.Key.UID),
		Description: names.ManagedGroupDescription,
		Tags:        desired, Handle: managedHandle,
		Rules: vpc.ClientRules(b.Service, b.clientFamilies()),
	}
}
