// Package model has the desired state of a load balancer, and the features of Octavia.
package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	commonnodes "github.com/unified-ccm/unified-ccm/pkg/common/nodes"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Desired are the objects that should exist for one Service.
type Desired struct {
	// Name is the load balancer's, if it is created for this Service.
	Name string
	// Reference is the load balancer that the Service names.
	Reference    string
	LoadBalancer LoadBalancer
	MemberSubnet MemberSubnet
	// Ports in the order of the Service.
	Ports []Port
	// Internal is set if the Service or the configuration requests a load balancer without a floating IP.
	Internal bool
	// FloatingIP is nil for an internal load balancer, and if there is no external network.
	FloatingIP *FloatingIP
	// Group is nil if security groups are not managed.
	Group *Group
	// Warnings are for the Service's author, Reasons the reasons of their Events if they have their own.
	Warnings []string
	Reasons  map[string]events.Reason

	Features  Features
	Families  []v1.IPFamily
	MaxShared int
	// Serial creates one object with each call.
	Serial bool
	// ProbedForLocal is set if neither Service nor configuration enables health monitors: they exist only
	// because of externalTrafficPolicy: Local.
	ProbedForLocal bool
	// MemberNote is the annotation with the checksums of the members: see observe.Checksums.
	MemberNote string
	// FailoverRefused is the annotation with the ID of the load balancer of which Octavia refused the failover.
	FailoverRefused string
	// Fields are the Service's: see intent.Service.Fields.
	Fields map[string]string
	// Sources are the fields and annotations that set the options, for problems found later.
	Sources intent.Sources
}

// LoadBalancer has the settings of a new load balancer.
type LoadBalancer struct {
	Description, Provider, FlavorID, Zone string
	SubnetID, NetworkID, PortID, Address  string
	Tags                                  []string
	// Explicit are the fields above that the Service itself sets. Only they are a reason to replace an existing
	// load balancer: a key of the configuration is for new ones.
	Explicit Explicit
	// From is the source of the others: the Service's class, or a key of the configuration.
	From From
}

// MemberSubnet is the subnet from which members are reached, and the annotation or key that names it.
type MemberSubnet struct {
	ID, From string
	// Explicit is set if the Service or its class names the subnet.
	Explicit bool
}

// Explicit are the settings of a load balancer that a Service itself names.
type Explicit struct{ Subnet, Network, Port, Address, Flavor, Zone bool }

// From is the other source of a setting of a load balancer: the Service's class or a key of the
// configuration. Empty for the Service itself.
type From struct{ Subnet, Network, Flavor, Zone string }

// Port has the objects of one port of the Service: a listener with its pool, the pool's members and health
// monitor.
type Port struct {
	// Transport is TCP, UDP or SCTP.
	Transport string
	Number    int
	Listener  listeners.CreateOpts
	Pool      pools.CreateOpts
	Members   []api.Member
	// Unowned are the members for nodes of other clouds and regions, and nodes without a provider ID, if another
	// manager added them.
	Unowned []api.Member
	// Monitor is nil if members are not probed.
	Monitor *monitors.CreateOpts
	// ListenerTags and PoolTags are those of the Service's annotations.
	ListenerTags, PoolTags []string
}

// HasUnowned reports whether nodes of other clouds and regions may be members.
func (d Desired) HasUnowned() bool {
	return slices.ContainsFunc(d.Ports, func(p Port) bool { return len(p.Unowned) > 0 })
}

// builder computes the desired state of one Service.
type builder struct {
	key      lbcommon.Key
	in       intent.Service
	settings Settings
	shared   SharedState
	serverID func(string) (string, error)

	options  annotation.Options
	class    Place
	internal bool
	unowned  []node
	problems intent.Problems
	// reported are the keys of problems that every port would report.
	reported []string
	warnings []string
	reasons  map[string]events.Reason
}

// Input is the input of Build.
type Input struct {
	Key      lbcommon.Key
	Service  intent.Service
	Settings Settings
	Shared   SharedState
	// ServerID returns the server of a provider ID.
	ServerID func(string) (string, error)
	Nodes    []*v1.Node
}

// Build returns the objects that should exist for a Service. It is pure.
func Build(i Input) (Desired, error) {
	b := builder{key: i.Key, in: i.Service, settings: i.Settings, shared: i.Shared, serverID: i.ServerID}
	return b.build(i.Nodes)
}

func (b *builder) build(nodes []*v1.Node) (Desired, error) {
	var err error
	b.options, err = annotation.Read(b.in)
	b.problems = b.options.NewProblems()
	b.internal = b.settings.Internal || b.options.Internal != nil && *b.options.Internal
	if b.options.Class != "" {
		class, ok := b.settings.Classes[b.options.Class]
		if !ok {
			b.problems.Add(annotation.KeyClass, b.options.Class, "the configuration has no section [LoadBalancerClass "+
				"\""+b.options.Class+"\"]: write one that it has, or add it")
		}
		b.class = class
	}
	d := Desired{
		Name: names.LoadBalancer(b.key.ClusterName, b.service()), Reference: b.options.LoadBalancerID,
		Features: b.shared.Features, Families: b.in.Families, MaxShared: b.settings.MaxShared, Serial: b.settings.Serial,
		ProbedForLocal: b.probedForLocal(),
		Internal:       b.internal, MemberNote: b.in.Annotations[annotation.KeyMembers],
		FailoverRefused: b.in.Annotations[annotation.KeyFailoverRefused],
		Fields:          b.in.Fields,
		Sources:         b.options.Sources,
	}
	d.LoadBalancer = b.loadBalancer()
	d.FloatingIP = b.floatingIP()
	d.MemberSubnet = b.memberSubnet(d.LoadBalancer)
	members := b.members(nodes, d.MemberSubnet.ID)
	b.unowned = b.withAddress(commonnodes.WithLabels(b.shared.Unowned, b.selector()), d.MemberSubnet.ID)
	for i, port := range b.in.Ports {
		d.Ports = append(d.Ports, b.port(d.Name, i, port, members))
	}
	b.check()
	if b.settings.ManageSecurityGroups {
		d.Group = b.group(d.Ports, members)
	}
	d.Warnings, d.Reasons = b.warnings, b.reasons
	return d, intent.Join(b.subject(), err, b.problems.Err(b.subject()))
}

func (b *builder) service() types.NamespacedName {
	return types.NamespacedName{Namespace: b.key.Namespace, Name: b.key.Name}
}

func (b *builder) subject() string { return "Service " + b.in.Namespace + "/" + b.in.Name }

func (b *builder) warnf(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

// warnAs is warnf with an Event reason of earlier managers, for existing alerts.
func (b *builder) warnAs(reason events.Reason, format string, args ...any) {
	b.warnf(format, args...)
	if b.reasons == nil {
		b.reasons = map[string]events.Reason{}
	}
	b.reasons[b.warnings[len(b.warnings)-1]] = reason
}

// first returns the first text that is set: a pointer to an empty one means none.
func first(given *string, others ...string) (value string, own bool) {
	if given != nil {
		return *given, *given != ""
	}
	return cmp.Or(others...), false
}

// loadBalancer computes the place and settings of a new load balancer.
func (b *builder) loadBalancer() LoadBalancer {
	f := b.shared.Features
	lb := LoadBalancer{
		Description: names.LoadBalancerDescription(b.key.ClusterName, b.service()), Provider: b.settings.Provider,
		PortID: b.options.PortID,
	}
	if lb.PortID != "" {
		lb.Explicit.Port = true
	} else {
		b.place(&lb)
	}
	lb.FlavorID, lb.Explicit.Flavor = first(b.options.FlavorID, b.settings.FlavorID)
	if lb.FlavorID != "" && !f.Flavors() {
		b.unsupported(lb.Explicit.Flavor, annotation.KeyFlavorID, lb.FlavorID)
		lb.FlavorID, lb.Explicit.Flavor = "", false
	}
	lb.Zone, lb.Explicit.Zone = first(b.options.AvailabilityZone, b.settings.AvailabilityZone)
	if lb.Zone != "" && !f.Zones() {
		if lb.Explicit.Zone {
			b.warnAs(events.LoadBalancerAvailabilityZonesIgnored, "%s",
				b.unsupportedText(annotation.KeyAvailabilityZone, lb.Zone))
		}
		lb.Zone, lb.Explicit.Zone = "", false
	}
	if lb.FlavorID != "" && !lb.Explicit.Flavor {
		lb.From.Flavor = InConfiguration("flavor-id")
	}
	if lb.Zone != "" && !lb.Explicit.Zone {
		lb.From.Zone = InConfiguration("availability-zone")
	}
	lb.Address = b.vipAddress()
	lb.Explicit.Address = lb.Address != ""
	if f.Tags() {
		lb.Tags = b.options.LoadBalancerTags
	}
	return lb
}

// overrule replaces a value by the class's, if the class sets it.
func overrule(class string, value *string, explicit *bool) {
	if class != "" {
		*value, *explicit = class, false
	}
}

// placedByClass records which settings of the place come from the Service's class.
func (b *builder) placedByClass(lb *LoadBalancer) {
	class := annotation.KeyClass + " " + intent.Quote(b.options.Class)
	if lb.SubnetID != "" && lb.SubnetID == b.class.SubnetID && !lb.Explicit.Subnet {
		lb.From.Subnet = class
	}
	if lb.NetworkID != "" && lb.NetworkID == b.class.NetworkID && !lb.Explicit.Network {
		lb.From.Network = class
	}
}

// place finds subnet and network. The Service's override those of its class, except for an external load
// balancer, which has always used the class's.
func (b *builder) place(lb *LoadBalancer) {
	p := b.options.Place
	lb.SubnetID, lb.Explicit.Subnet = cmp.Or(p.SubnetID, b.class.SubnetID, b.settings.SubnetID), p.SubnetID != ""
	lb.NetworkID, lb.Explicit.Network = cmp.Or(p.NetworkID, b.class.NetworkID, b.settings.NetworkID), p.NetworkID != ""
	if !b.internal {
		overrule(b.class.SubnetID, &lb.SubnetID, &lb.Explicit.Subnet)
		overrule(b.class.NetworkID, &lb.NetworkID, &lb.Explicit.Network)
	}
	// A network of the Service or its class must not be combined with the configured subnet, nor their subnet
	// with the configured network.
	if b.class.SubnetID == "" && p.SubnetID == "" && (lb.Explicit.Network || b.class.NetworkID != "") {
		lb.SubnetID = ""
	}
	if b.class.NetworkID == "" && p.NetworkID == "" && lb.SubnetID != "" && lb.SubnetID != b.settings.SubnetID {
		lb.NetworkID = ""
	}
	b.placedByClass(lb)
	if lb.SubnetID != "" || lb.NetworkID != "" {
		return
	}
	if lb.SubnetID = b.shared.NodeSubnets[b.in.Families[0]]; lb.SubnetID == "" {
		b.problems.Addf(annotation.KeySubnetID, "", "no subnet is set for the load balancer's address, and no node has a "+
			"port with an %s address: set the annotation, or subnet-id in section [LoadBalancer] of the configuration",
			b.in.Families[0])
	}
}

// unsupported warns about a setting that this Octavia does not support.
func (b *builder) unsupported(own bool, key, value string) {
	if own {
		b.warnf("%s", b.unsupportedText(key, value))
	}
}

func (b *builder) unsupportedText(key, value string) string {
	return fmt.Sprintf("%s is %s: Octavia's provider %s, with version %s of its API, does not support it, so it has no "+
		"effect; remove it",
		key, intent.Quote(value), b.settings.Provider, b.shared.Features.Version)
}

// InConfiguration returns the name of a key of the configuration in a message for the Service's author.
func InConfiguration(key string) string {
	return key + " in section [LoadBalancer] of the configuration"
}

// vipAddress returns the address of the load balancer itself that the Service requests.
func (b *builder) vipAddress() string {
	for _, text := range b.options.StaticAddresses {
		family := FamilyOf(text)
		if family == "" {
			b.problems.Add(intent.KeyStaticAddresses, text, "write an IP address")
			continue
		}
		if family == b.in.Families[0] && (b.internal || family == v1.IPv6Protocol) {
			return text
		}
	}
	return ""
}

// memberSubnet returns the subnet from which members are reached. The configured subnet of addresses replaces
// an unset configured one of members, before the Service's own.
func (b *builder) memberSubnet(lb LoadBalancer) MemberSubnet {
	own := b.options.Place.MemberSubnetID
	subnet := cmp.Or(own, b.class.MemberSubnetID, b.settings.MemberSubnetID, b.settings.SubnetID, lb.SubnetID)
	switch {
	case own != "":
		return MemberSubnet{ID: subnet, From: annotation.KeyMemberSubnetID, Explicit: true}
	case subnet == b.class.MemberSubnetID && subnet != "":
		return MemberSubnet{ID: subnet, From: annotation.KeyClass + " " + intent.Quote(b.options.Class), Explicit: true}
	}
	return MemberSubnet{ID: subnet, From: InConfiguration("member-subnet-id")}
}

// check validates combinations of settings.
func (b *builder) check() {
	tcp := slices.ContainsFunc(b.in.Ports, func(p intent.Port) bool { return p.Protocol == v1.ProtocolTCP })
	for _, c := range []struct {
		key string
		on  bool
	}{
		{annotation.KeyProxyProtocol, b.options.ProxyProtocol != 0}, {annotation.KeyXForwardedFor, b.options.XForwardedFor},
		{annotation.KeyTLSContainer, b.tlsContainer() != ""}, {intent.KeyForwardedHeaders, b.in.AddsForwardedHeaders()},
	} {
		key := c.key
		_, own := b.in.Annotations[key]
		value := b.in.Annotations[b.problems.Sources.Where(key)]
		switch {
		case !c.on:
		case b.shared.Features.OVN:
			b.problems.Addf(key, value, "Octavia's provider ovn only passes connections on: remove it, or use another provider")
		case !tcp && own:
			b.problems.Add(key, value, "it works for TCP, and the Service has no TCP port: remove it")
		}
	}
	if b.in.TLS.Ports != nil && b.tlsContainer() == "" {
		b.warnf("%s has no effect without a certificate: set %s, or remove it", intent.KeyTLSPorts, intent.KeyTLSCertificate)
	}
	b.checkVersion()
	b.checkFeatures()
	if ref := b.tlsContainer(); ref != "" && b.settings.ContainerStore == ContainerStoreBarbican {
		if _, err := annotation.ParseContainer(ref); err != nil {
			b.problems.Add(annotation.KeyTLSContainer, ref, err.Error())
		}
	}
}

// checkVersion validates settings against the version of Octavia's API.
func (b *builder) checkVersion() {
	f := b.shared.Features
	if !f.SCTP() && slices.ContainsFunc(b.in.Ports, func(p intent.Port) bool { return p.Protocol == v1.ProtocolSCTP }) {
		b.problems.Addf("spec.ports", "", "version %s of Octavia's API has no SCTP, which came with %s: use TCP or UDP",
			f.Version, versionSCTP)
	}
	if f.OVN && !f.SourceIPPort() {
		b.problems.Addf(InConfiguration("lb-provider"), ProviderOVN, "version %s of Octavia's API lacks the algorithm of "+
			"this provider, which came with %s: use another provider", f.Version, versionSourceIPPort)
	}
	if b.options.ProxyProtocol == 2 && !f.PROXYv2() {
		b.problems.Addf(annotation.KeyProxyProtocol, "v2", "version %s of Octavia's API lacks version 2 of the PROXY "+
			"protocol, which came with %s: write v1", f.Version, versionPROXYv2)
	}
	if len(b.in.Families) > 1 && !f.AdditionalVIPs() {
		b.warnf("the load balancer has an %s address only: Octavia's provider %s, with version %s of its API, has no "+
			"additional VIPs", b.in.Families[0], b.settings.Provider, f.Version)
	}
}

// checkFeatures warns about settings without effect with this Octavia and its provider.
func (b *builder) checkFeatures() {
	f := b.shared.Features
	if !f.Timeouts() {
		for _, key := range []string{annotation.KeyClientTimeout, annotation.KeyConnectTimeout, annotation.KeyMemberTimeout,
			annotation.KeyInspectTimeout, intent.KeyIdleTimeout} {
			value := strings.TrimSpace(b.in.Annotations[key])
			b.unsupported(value != "", key, value)
		}
	}
	filtered := f.AllowedCIDRs() || f.OVN && b.settings.ManageSecurityGroups
	if len(b.in.SourceRanges) > 0 && !filtered {
		b.warnAs(events.LoadBalancerSourceRangesIgnored, "spec.loadBalancerSourceRanges has no effect: Octavia's provider "+
			"%s, with "+
			"version %s of its API, cannot restrict who connects; set manage-security-groups in the configuration where the "+
			"provider is ovn",
			b.settings.Provider, f.Version)
	}
	if b.in.RestrictsPorts() && !filtered {
		b.problems.Addf(intent.KeyPortSourceRanges, b.in.Annotations[intent.KeyPortSourceRanges], "Octavia's provider %s, "+
			"with version %s of its API, cannot restrict who connects: remove it, or set manage-security-groups in the "+
			"configuration where the provider is ovn", b.settings.Provider, f.Version)
	}
	if b.settings.Internal && b.options.Internal != nil && !*b.options.Internal {
		b.warnAs(events.LoadBalancerForcedInternal, "%s is \"false\", but internal-lb in the configuration makes every "+
			"load balancer "+
			"internal", annotation.KeyInternal)
	}
}

// selector returns the labels that a node needs to receive traffic.
func (b *builder) selector() map[string]string {
	if b.options.HasNodeLabels {
		return b.options.NodeLabels
	}
	labels, _ := annotation.ParseNodeLabels(b.settings.NodeSelector) // the configuration is valid
	return labels
}

// tlsContainer returns the certificate for TLS termination at the load balancer; empty for none.
func (b *builder) tlsContainer() string {
	ref, _ := first(b.options.TLSContainer, b.settings.TLSContainer)
	return strings.TrimSpace(ref)
}

// tlsContainerAt returns the certificate of a port; empty for none.
func (b *builder) tlsContainerAt(port intent.Port) string {
	if !b.in.TLS.At(port) {
		return ""
	}
	return b.tlsContainer()
}

// CreationDigest is a hash of everything that a creation sets except the members, which change with the
// nodes.
func (d Desired) CreationDigest() string {
	type port struct {
		Listener listeners.CreateOpts
		Pool     pools.CreateOpts
	}
	ports := make([]port, len(d.Ports))
	for i, p := range d.Ports {
		ports[i] = port{p.Listener, p.Pool}
	}
	text, err := json.Marshal([]any{d.LoadBalancer, ports, d.MemberSubnet.ID})
	if err != nil {
		return "" // plain values can always be encoded
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
