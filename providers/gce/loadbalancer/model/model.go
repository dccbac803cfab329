// Package model computes the objects that should exist for a Service.
package model

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

const (
	// nodePort and nodePath are the probe of kube-proxy, which all Services with externalTrafficPolicy: Cluster share.
	nodePort = 10256
	nodePath = "/healthz"
	// maxPorts is the number of ports that an internal forwarding rule lists; with more, it has all.
	maxPorts = 5
	// trafficPriority is the priority of the firewalls of external load balancers.
	trafficPriority int64 = 1000
)

// probe are the times of health checks. Larger ones that exist stay.
var probe = api.Probe{CheckInterval: 8, Timeout: 1, HealthyThreshold: 1, UnhealthyThreshold: 3}

// probeRanges are the sources of probes.
func probeRanges() []string {
	return []string{"130.211.0.0/22", "35.191.0.0/16", "209.85.152.0/22", "209.85.204.0/22"}
}

// Desired are the objects that should exist for one Service. The pool with its check is that of an external load
// balancer; backend service, check and groups are those of an internal one. A new field is omitted from JSON while it
// is zero: the status of Services has digests of it, which an upgrade must not change.
type Desired struct {
	// Internal is the scheme.
	Internal bool
	// Legacy is set in a network without subnets.
	Legacy bool `json:",omitzero"`
	Rule   api.ForwardingRule
	// Ports are the ports of the Service.
	Ports []string
	// Static is the address that the Service chooses: an IP address or a name.
	Static string
	// StaticField is where the Service chooses it.
	StaticField string
	// Tier is the requested network tier; "" leaves that of an existing load balancer.
	Tier string

	Pool      api.TargetPool
	PoolCheck api.HTTPHealthCheck
	Backend   api.BackendService
	Check     api.HealthCheck
	// SharedCheck is set for the health check of nodes.
	SharedCheck bool
	// PartialTags is set if existing firewalls keep their tags beside the wanted ones.
	PartialTags bool
	Groups      []Group
	// Unidentified stay in the pool or the groups. Untagged are the instances that no firewall can select.
	Unidentified Unidentified
	Untagged     []string

	// Firewall allows traffic, ProbeFirewall probes. Without destination, they are for the address of the load balancer
	// or, of a shared check, for all.
	Firewall, ProbeFirewall api.Firewall

	// Held are the differences that are not applied.
	Held []plan.Difference `json:"-"`

	Warnings []string
	// Fields are intent.Service.Fields.
	Fields map[string]string
}

// Instances returns the wanted members.
func (d Desired) Instances() []string {
	ids := slices.Clone(d.Pool.Instances)
	for _, g := range d.Groups {
		ids = append(ids, g.Members...)
	}
	return ids
}

// builder computes Desired.
type builder struct {
	link     func(*api.Call, api.Target) string
	key      lbcommon.Key
	in       intent.Service
	shared   SharedState
	options  annotation.Options
	problems intent.Problems
	out      Desired
}

// New returns the objects that should exist for a Service. It is pure.
func New(key lbcommon.Key, in intent.Service, nodes []Node, shared SharedState,
	link func(*api.Call, api.Target) string) (Desired, error) {
	b := builder{link: link, key: key, in: in, shared: shared, problems: in.NewProblems(), out: Desired{Fields: in.Fields}}
	b.options = annotation.Read(in, &b.problems)
	b.out.Warnings = append(b.out.Warnings, b.options.Warnings...)
	b.out.Internal = b.isInternal()
	b.checkFamilies()
	b.setStatic()
	protocol := b.protocol()
	b.setRule(protocol)
	b.setFirewalls(protocol)
	if b.out.Internal {
		b.setInternal(protocol)
		b.out.Groups, b.out.Warnings = GroupsOf(nodes, shared, b.out.Warnings)
	} else {
		b.setExternal()
		b.out.Pool.Instances, b.out.Warnings = PoolMembers(nodes, shared.Environment.Region, b.out.Warnings)
	}
	return b.out, b.problems.Err(in.Subject())
}

// ServiceName is the Service in descriptions.
func ServiceName(key lbcommon.Key) string { return key.Namespace + "/" + key.Name }

func (b *builder) name() string { return names.Balancer(string(b.key.UID)) }

// isInternal decides by the portable annotation and by that of the cloud.
func (b *builder) isInternal() bool {
	internal := annotation.IsInternal(b.options.Type)
	if _, portable := b.in.Annotations[intent.KeyScheme]; portable && b.options.Type != "" &&
		internal != (b.in.Scheme == intent.Internal) {
		b.problems.Conflict(intent.KeyScheme, annotation.KeyType)
	}
	return internal || b.in.Scheme == intent.Internal
}

func (b *builder) checkFamilies() {
	switch {
	case !slices.Contains(b.in.Families, v1.IPv4Protocol):
		b.problems.Add(intent.FieldIPFamilies, fmt.Sprint(b.in.Families),
			"load balancers of this manager have IPv4 addresses "+
				"only: add IPv4, or have ingress-gce make the load balancer")
	case b.in.RequiresDualStack:
		b.problems.Add("spec.ipFamilyPolicy", string(v1.IPFamilyPolicyRequireDualStack),
			"load balancers of this manager have "+
				"IPv4 addresses only: write PreferDualStack")
	case len(b.in.Families) > 1:
		b.out.Warnings = append(b.out.Warnings, "the load balancer has an IPv4 address only")
	}
	isIPv4 := func(p netip.Prefix) bool { return p.Addr().Is4() }
	if len(b.in.SourceRanges) > 0 && !slices.ContainsFunc(b.in.SourceRanges, isIPv4) {
		// A firewall without source ranges admits everybody.
		b.problems.Add(intent.KeySourceRanges, fmt.Sprint(b.in.SourceRanges), "load balancers of this manager have IPv4 "+
			"addresses only: add the IPv4 ranges that may connect")
	}
}

// setStatic sets the address that the Service chooses.
func (b *builder) setStatic() {
	switch static := b.in.StaticAddresses; {
	case len(static) > 1:
		b.problems.Add(intent.KeyStaticAddresses, strings.Join(static, ","), "write one address: a load balancer has one")
	case len(static) == 1:
		b.out.Static, b.out.StaticField = static[0], b.problems.Sources.FieldOf(intent.KeyStaticAddresses)
	}
}

// protocol returns the protocol of all ports. A forwarding rule has one.
func (b *builder) protocol() string {
	protocol := b.in.Ports[0].Protocol
	for _, p := range b.in.Ports {
		if p.Protocol != protocol {
			b.problems.Add(intent.FieldPorts, "", "a load balancer of this cloud has one protocol: write a Service for each "+
				"protocol; both can have the same "+intent.FieldLoadBalancerIP)
			break
		}
	}
	return string(protocol)
}

func (b *builder) setRule(protocol string) {
	numbers := make([]int, len(b.in.Ports))
	for i, p := range b.in.Ports {
		numbers[i] = int(p.Port)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	for _, n := range numbers {
		b.out.Ports = append(b.out.Ports, strconv.Itoa(n))
	}
	r := &b.out.Rule
	r.Name, r.Description, r.IPProtocol = b.name(), names.Description(ServiceName(b.key)), protocol
	if !b.out.Internal {
		r.Scheme, r.PortRange = api.SchemeExternal, fmt.Sprintf("%d-%d", numbers[0], numbers[len(numbers)-1])
		b.out.Tier = b.options.Tier
		r.NetworkTier = cmp.Or(b.options.Tier, api.TierPremium)
		if b.options.Subnet != "" || len(b.in.Subnets) > 0 {
			b.out.Warnings = append(b.out.Warnings, "the chosen subnet has no effect: external load balancers are in none")
		}
		return
	}
	r.Scheme, r.Network = api.SchemeInternal, b.shared.Environment.Network
	r.Ports = b.out.Ports
	if len(r.Ports) > maxPorts {
		r.Ports, r.AllPorts = nil, true
	}
	b.setNetwork()
}

// setNetwork sets the subnet and the access of an internal load balancer.
func (b *builder) setNetwork() {
	subnet := b.options.Subnet
	if len(b.in.Subnets) > 1 {
		b.problems.Add(intent.KeySubnets, strings.Join(b.in.Subnets, ","),
			"write one subnet: a load balancer has one address")
	} else if len(b.in.Subnets) == 1 {
		intent.Merge(&b.problems, &subnet, b.in.Subnets[0], intent.KeySubnets, annotation.KeySubnet)
	}
	if b.out.Legacy = b.shared.Legacy; b.out.Legacy {
		if subnet != "" || b.options.GlobalAccess {
			b.out.Warnings = append(b.out.Warnings, "subnet and global access of the load balancer have no effect: the network "+
				"has no subnets")
		}
		return
	}
	b.out.Rule.AllowGlobalAccess = b.options.GlobalAccess
	b.out.Rule.Subnetwork = b.shared.Subnetwork
	if subnet != "" {
		b.out.Rule.Subnetwork = b.link(api.SubnetworksList, api.Target{Name: api.Last(subnet)})
	}
}

// setFirewalls sets the firewalls, without their destinations.
func (b *builder) setFirewalls(protocol string) {
	traffic := &b.out.Firewall
	traffic.Name, traffic.Network = names.Firewall(b.name()), b.shared.Environment.Network
	traffic.TargetTags = b.shared.NodeTags
	traffic.SourceRanges = sourceRanges(b.in)
	traffic.Allowed = []api.Ports{{Protocol: strings.ToLower(protocol), Ports: PortRanges(b.out.Ports)}}
	if !b.out.Internal {
		priority := trafficPriority
		traffic.Priority = &priority
	}
	probes := &b.out.ProbeFirewall
	probes.Network, probes.TargetTags, probes.SourceRanges = traffic.Network, traffic.TargetTags, probeRanges()
	probes.Priority = traffic.Priority
	probes.Allowed = []api.Ports{{Protocol: "tcp", Ports: []string{strconv.Itoa(int(b.probePort()))}}}
	b.out.SharedCheck, b.out.PartialTags = !b.in.LocalTraffic, b.shared.PartialTags
	if b.out.Untagged = b.shared.Untagged; len(b.out.Untagged) > 0 {
		b.out.Warnings = append(b.out.Warnings, UntaggedWarning(b.out.Untagged))
	}
}

// probePort returns the port of probes: of nodes or, with externalTrafficPolicy: Local, of the Service.
func (b *builder) probePort() int64 {
	if b.in.LocalTraffic {
		return int64(b.in.HealthCheck.Port)
	}
	return nodePort
}

func (b *builder) probePath() string {
	if b.in.LocalTraffic {
		return b.in.HealthCheck.Path
	}
	return nodePath
}

// setExternal sets the pool with its check.
func (b *builder) setExternal() {
	check, name := &b.out.PoolCheck, b.name()
	check.Name, b.out.ProbeFirewall.Name = name, names.PoolHealthFirewall(name)
	if b.out.SharedCheck {
		check.Name = names.NodeHealthCheck(b.shared.ClusterID)
		b.out.ProbeFirewall.Name = names.NodePoolHealthFirewall(b.shared.ClusterID)
		b.out.ProbeFirewall.Description = names.ClusterDescription(b.shared.ClusterID)
	}
	check.Description = names.Description(check.Name)
	check.Probe, check.Port, check.RequestPath = probe, b.probePort(), b.probePath()
	pool := &b.out.Pool
	pool.Name, pool.Description = name, names.Description(ServiceName(b.key))
	pool.SessionAffinity = api.AffinityNone
	if b.in.ClientIPAffinity > 0 {
		pool.SessionAffinity = api.AffinityClientIP
	}
	pool.HealthChecks = []string{b.link(api.HTTPHealthChecksGet, api.Target{Name: check.Name})}
	b.out.Rule.Target = b.link(api.TargetPoolsDelete, api.Target{Name: name})
}

// setInternal sets the backend service with its check.
func (b *builder) setInternal(protocol string) {
	check, name := &b.out.Check, b.name()
	check.Name, check.Description = name, names.Description(ServiceName(b.key))
	if b.out.SharedCheck {
		check.Name, check.Description = names.NodeHealthCheck(b.shared.ClusterID), ""
	}
	b.out.ProbeFirewall.Name = names.BackendHealthFirewall(check.Name)
	check.Probe, check.Type = probe, api.HealthCheckHTTP
	check.HTTP = &api.HTTPProbe{Port: b.probePort(), RequestPath: b.probePath()}
	backend := &b.out.Backend
	backend.Name, backend.Description = name, names.Description(ServiceName(b.key))
	affinity := v1.ServiceAffinityNone
	backend.SessionAffinity = api.AffinityNone
	if b.in.ClientIPAffinity > 0 {
		affinity, backend.SessionAffinity = v1.ServiceAffinityClientIP, api.AffinityClientIP
	}
	if b.options.BackendShare && b.out.SharedCheck {
		backend.Name, backend.Description = names.SharedBackend(b.shared.ClusterID, protocol, string(affinity)), ""
	}
	backend.Protocol, backend.Scheme = protocol, api.SchemeInternal
	backend.HealthChecks = []string{b.link(api.HealthChecksGet, api.Target{Name: check.Name})}
	b.out.Rule.BackendService = b.link(api.BackendServicesGet, api.Target{Name: backend.Name})
}

// sourceRanges returns the clients that may connect.
func sourceRanges(in intent.Service) []string {
	var out []string
	for _, prefix := range in.SourceRanges {
		if prefix.Addr().Is4() {
			out = append(out, prefix.String())
		}
	}
	if len(out) == 0 {
		return []string{netip.PrefixFrom(netip.IPv4Unspecified(), 0).String()}
	}
	return out
}

// Without returns the items of a list that another one lacks.
func Without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(item string) bool { return slices.Contains(other, item) })
}
