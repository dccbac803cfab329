package loadbalancer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Desired are the objects that should exist for one Service.
type Desired struct {
	// Name is the load balancer's, if it is made for this Service.
	Name string
	// Reference is the load balancer that the Service names.
	Reference    string
	LoadBalancer LoadBalancer
	MemberSubnet MemberSubnet
	// Ports in the order of the Service.
	Ports []Port
	// FloatingIP is nil for an internal load balancer.
	FloatingIP *FloatingIP
	// KeepFloatingIP says that it outlives the Service.
	KeepFloatingIP bool
	// Group is nil where security groups are not managed.
	Group *Group
	// Warnings are for the Service's owner, Reasons those of their Events where they have one of their own.
	Warnings []string
	Reasons  map[string]string

	features  features
	families  []v1.IPFamily
	maxShared int
	serial    bool
	// probedForLocal says that nobody asks for health monitors: they are there because of
	// externalTrafficPolicy: Local alone.
	probedForLocal bool
	// memberNote is what the Service's annotation says about the members of its pools: see seals.
	memberNote string
}

// LoadBalancer is how a load balancer is made.
type LoadBalancer struct {
	Description, Provider, FlavorID, Zone string
	SubnetID, NetworkID, PortID, Address  string
	Tags                                  []string
	// asked are those of the fields above that the Service itself asks for. Only they are a reason to
	// replace one that exists: a key of the configuration is for new ones.
	asked asked
	// from names who else asks for one of them: the Service's class, or a key of the configuration.
	from from
}

// MemberSubnet is the subnet from which members are reached, and the annotation or key that names it.
type MemberSubnet struct{ ID, From string }

// asked is what of a load balancer a Service itself names.
type asked struct{ subnet, network, port, address, flavor, zone bool }

// from is who asks for what of a load balancer, in words for the Service's owner; empty where nobody
// but the Service itself does.
type from struct{ subnet, network, flavor, zone string }

// place is a short hash of where the Service asks its load balancer to be, for a tag.
func (lb LoadBalancer) place() string {
	asked := fmt.Sprintf("%q %q %q %q %q %q %v", lb.SubnetID, lb.NetworkID, lb.PortID, lb.Address, lb.FlavorID, lb.Zone, lb.asked)
	sum := sha256.Sum256([]byte(asked))
	return hex.EncodeToString(sum[:8])
}

// Port is what makes one port of the Service: a listener with its pool, the pool's members and
// health monitor.
type Port struct {
	// Transport is TCP, UDP or SCTP.
	Transport string
	Number    int
	Listener  listeners.CreateOpts
	Pool      pools.CreateOpts
	Members   []api.Member
	// Monitor is nil where members are not probed.
	Monitor *monitors.CreateOpts
	// ListenerTags and PoolTags are those that the Service's annotations ask for.
	ListenerTags, PoolTags []string
}

// wisher works out what one Service asks for.
type wisher struct {
	key      lbcommon.Key
	in       intent.Service
	settings Settings
	around   SharedState
	serverID func(string) (string, error)

	options  annotation.Options
	class    Place
	internal bool
	problems intent.Problems
	// noted are the keys of problems that every port would note.
	noted    []string
	warnings []string
	reasons  map[string]string
}

// desire is the pure function from what a Service asks to what should exist.
func (w *wisher) desire(nodes []*v1.Node) (Desired, error) {
	var err error
	w.options, err = annotation.Read(w.in)
	w.internal = w.settings.Internal || w.options.Internal != nil && *w.options.Internal
	if w.options.Class != "" {
		class, ok := w.settings.Classes[w.options.Class]
		if !ok {
			w.problems.Add(annotation.KeyClass, w.options.Class, "the configuration has no section [LoadBalancerClass \""+w.options.Class+"\"]: write one that it has, or add it")
		}
		w.class = class
	}
	d := Desired{
		Name: names.LoadBalancer(w.key.ClusterName, serviceOf(w.key)), Reference: w.options.LoadBalancerID,
		features: w.around.features, families: w.in.Families, maxShared: w.settings.MaxShared, serial: w.settings.Serial,
		probedForLocal: w.probedForLocal(),
		KeepFloatingIP: w.options.KeepFloatingIP, memberNote: w.in.Annotations[annotation.KeyMembers],
	}
	d.LoadBalancer = w.loadBalancer()
	d.FloatingIP = w.floatingIP()
	d.MemberSubnet = w.memberSubnet(d.LoadBalancer)
	members := w.members(nodes, d.MemberSubnet.ID)
	for i, port := range w.in.Ports {
		d.Ports = append(d.Ports, w.port(d.Name, i, port, members))
	}
	w.check()
	if w.settings.ManageSecurityGroups {
		d.Group = w.group(d.Ports, members)
	}
	d.Warnings, d.Reasons = w.warnings, w.reasons
	return d, intent.Join(w.subject(), err, w.problems.Err(w.subject()))
}

func (w *wisher) subject() string { return "Service " + w.in.Namespace + "/" + w.in.Name }

func (w *wisher) warnf(format string, args ...any) {
	w.warnings = append(w.warnings, fmt.Sprintf(format, args...))
}

// warnAs is warnf with the reason that the Event has always had, for alerts that look for it.
func (w *wisher) warnAs(reason, format string, args ...any) {
	w.warnf(format, args...)
	if w.reasons == nil {
		w.reasons = map[string]string{}
	}
	w.reasons[w.warnings[len(w.warnings)-1]] = reason
}

// first returns the first text that says something: a pointer to an empty one says that there is none.
func first(given *string, others ...string) (value string, own bool) {
	if given != nil {
		return *given, *given != ""
	}
	return cmp.Or(others...), false
}

// loadBalancer says where the load balancer is and how it is made.
func (w *wisher) loadBalancer() LoadBalancer {
	f := w.around.features
	lb := LoadBalancer{
		Description: names.LoadBalancerDescription(w.key.ClusterName, serviceOf(w.key)), Provider: w.settings.Provider,
		PortID: w.options.PortID,
	}
	if lb.PortID != "" {
		lb.asked.port = true
	} else {
		w.place(&lb)
	}
	lb.FlavorID, lb.asked.flavor = first(w.options.FlavorID, w.settings.FlavorID)
	if lb.FlavorID != "" && !f.flavors() {
		w.unsupported(lb.asked.flavor, annotation.KeyFlavorID, lb.FlavorID)
		lb.FlavorID, lb.asked.flavor = "", false
	}
	lb.Zone, lb.asked.zone = first(w.options.AvailabilityZone, w.settings.AvailabilityZone)
	if lb.Zone != "" && !f.zones() {
		if lb.asked.zone {
			w.warnAs(eventZonesIgnored, "%s", w.unsupportedText(annotation.KeyAvailabilityZone, lb.Zone))
		}
		lb.Zone, lb.asked.zone = "", false
	}
	if lb.FlavorID != "" && !lb.asked.flavor {
		lb.from.flavor = inConfiguration("flavor-id")
	}
	if lb.Zone != "" && !lb.asked.zone {
		lb.from.zone = inConfiguration("availability-zone")
	}
	lb.Address = w.vipAddress()
	lb.asked.address = lb.Address != ""
	if f.tags() {
		lb.Tags = w.options.LoadBalancerTags
	}
	return lb
}

// overrule takes what the class says, if it says anything.
func overrule(class string, value *string, asked *bool) {
	if class != "" {
		*value, *asked = class, false
	}
}

// placedByClass notes what of the place the Service's class asks for.
func (w *wisher) placedByClass(lb *LoadBalancer) {
	class := annotation.KeyClass + " " + intent.Quote(w.options.Class)
	if lb.SubnetID != "" && lb.SubnetID == w.class.SubnetID && !lb.asked.subnet {
		lb.from.subnet = class
	}
	if lb.NetworkID != "" && lb.NetworkID == w.class.NetworkID && !lb.asked.network {
		lb.from.network = class
	}
}

// place finds subnet and network. The Service's win over those of its class, except for an external
// load balancer, which has always been made where the class says.
func (w *wisher) place(lb *LoadBalancer) {
	p := w.options.Place
	lb.SubnetID, lb.asked.subnet = first(p.SubnetID, w.class.SubnetID, w.settings.SubnetID)
	lb.NetworkID, lb.asked.network = first(p.NetworkID, w.class.NetworkID, w.settings.NetworkID)
	if !w.internal {
		overrule(w.class.SubnetID, &lb.SubnetID, &lb.asked.subnet)
		overrule(w.class.NetworkID, &lb.NetworkID, &lb.asked.network)
	}
	// A network that the Service or its class names is not meant to go with the configured subnet, nor
	// their subnet with the configured network.
	if w.class.SubnetID == "" && p.SubnetID == nil && (lb.asked.network || w.class.NetworkID != "") {
		lb.SubnetID = ""
	}
	if w.class.NetworkID == "" && p.NetworkID == nil && lb.SubnetID != "" && lb.SubnetID != w.settings.SubnetID {
		lb.NetworkID = ""
	}
	w.placedByClass(lb)
	if lb.SubnetID != "" || lb.NetworkID != "" {
		return
	}
	if lb.SubnetID = w.around.nodeSubnet; lb.SubnetID == "" {
		w.problems.Add(annotation.KeySubnetID, "", "nobody says where the load balancer gets its address, and no node's port shows it: set the annotation, or subnet-id in section [LoadBalancer] of the configuration")
	}
}

// unsupported warns about a setting that this Octavia cannot do.
func (w *wisher) unsupported(own bool, key, value string) {
	if own {
		w.warnf("%s", w.unsupportedText(key, value))
	}
}

func (w *wisher) unsupportedText(key, value string) string {
	return fmt.Sprintf("%s is %s: Octavia's provider %s, with version %s of its API, does not support it, so it has no effect; remove it",
		key, intent.Quote(value), w.settings.Provider, w.around.features.version)
}

// inConfiguration names a key of the configuration in a text for the Service's owner.
func inConfiguration(key string) string {
	return key + " in section [LoadBalancer] of the configuration"
}

// vipAddress is the address of the load balancer itself that the Service asks for.
func (w *wisher) vipAddress() string {
	for _, text := range w.options.StaticAddresses {
		family := familyOf(text)
		if family == "" {
			w.problems.Add(intent.KeyStaticAddresses, text, "write an IP address")
			continue
		}
		if family == w.in.Families[0] && (w.internal || family == v1.IPv6Protocol) {
			return text
		}
	}
	return ""
}

// memberSubnet is the subnet from which members are reached. The configured subnet of addresses
// stands in for the configured one of members, before the Service's own.
func (w *wisher) memberSubnet(lb LoadBalancer) MemberSubnet {
	subnet, own := first(w.options.Place.MemberSubnetID, w.class.MemberSubnetID, w.settings.MemberSubnetID, w.settings.SubnetID, lb.SubnetID)
	from := inConfiguration("member-subnet-id")
	switch {
	case own:
		from = annotation.KeyMemberSubnetID
	case subnet == w.class.MemberSubnetID:
		from = annotation.KeyClass + " " + intent.Quote(w.options.Class)
	}
	return MemberSubnet{ID: subnet, From: from}
}

// check finds what no single setting shows.
func (w *wisher) check() {
	tcp := slices.ContainsFunc(w.in.Ports, func(p intent.Port) bool { return p.Protocol == v1.ProtocolTCP })
	for _, c := range []struct {
		key string
		on  bool
	}{
		{annotation.KeyProxyProtocol, w.options.ProxyProtocol != 0}, {annotation.KeyXForwardedFor, w.options.XForwardedFor}, {annotation.KeyTLSContainer, w.tlsContainer() != ""},
	} {
		key := c.key
		value, own := w.in.Annotations[key]
		switch {
		case !c.on:
		case w.around.features.ovn:
			w.problems.Addf(key, value, "Octavia's provider ovn only passes connections on: remove it, or use another provider")
		case !tcp && own:
			w.problems.Add(key, value, "it works for TCP, and the Service has no TCP port: remove it")
		}
	}
	w.checkFeatures()
	if ref := w.tlsContainer(); ref != "" && w.settings.ContainerStore == ContainerStoreBarbican {
		if _, err := annotation.ParseContainer(ref); err != nil {
			w.problems.Add(annotation.KeyTLSContainer, ref, err.Error())
		}
	}
}

// checkFeatures finds what this Octavia or its provider cannot do.
func (w *wisher) checkFeatures() {
	f := w.around.features
	if !f.sctp() && slices.ContainsFunc(w.in.Ports, func(p intent.Port) bool { return p.Protocol == v1.ProtocolSCTP }) {
		w.problems.Addf("spec.ports", "", "version %s of Octavia's API has no SCTP, which came with %s: use TCP or UDP", f.version, versionSCTP)
	}
	if !f.timeouts() {
		for _, key := range []string{annotation.KeyClientTimeout, annotation.KeyConnectTimeout, annotation.KeyMemberTimeout, annotation.KeyInspectTimeout, intent.KeyIdleTimeout} {
			value := strings.TrimSpace(w.in.Annotations[key])
			w.unsupported(value != "", key, value)
		}
	}
	filtered := f.allowedCIDRs() || f.ovn && w.settings.ManageSecurityGroups
	if len(w.in.SourceRanges) > 0 && !filtered {
		w.warnAs(eventSourceRangesIgnored, "spec.loadBalancerSourceRanges has no effect: Octavia's provider %s, with version %s of its API, cannot restrict who connects; set manage-security-groups in the configuration where the provider is ovn",
			w.settings.Provider, f.version)
	}
	if w.settings.Internal && w.options.Internal != nil && !*w.options.Internal {
		w.warnAs(eventForcedInternal, "%s is \"false\", but internal-lb in the configuration makes every load balancer internal", annotation.KeyInternal)
	}
}

// allowedCIDRs are who may connect: everyone of each family where the Service names nobody.
func (w *wisher) allowedCIDRs() []string {
	var texts []string
	for _, family := range w.in.Families {
		for _, prefix := range w.in.AllowedFrom(family) {
			texts = append(texts, prefix.String())
		}
	}
	return texts
}

// ofFamilies keeps the ranges of the families that a load balancer has: Octavia refuses the others.
func ofFamilies(cidrs []string, families []v1.IPFamily) []string {
	kept := []string{}
	for _, text := range cidrs {
		if prefix, err := netip.ParsePrefix(text); err == nil && slices.Contains(families, familyOf(prefix.Addr().String())) {
			kept = append(kept, text)
		}
	}
	return kept
}

// vipFamilies are the families of a load balancer's addresses.
func vipFamilies(lb api.LoadBalancer) []v1.IPFamily {
	families := []v1.IPFamily{familyOf(lb.VipAddress)}
	for _, vip := range lb.AdditionalVips {
		if f := familyOf(vip.IPAddress); !slices.Contains(families, f) {
			families = append(families, f)
		}
	}
	return families
}

// selector is which labels a node needs to receive traffic.
func (w *wisher) selector() map[string]string {
	if w.options.HasNodeLabels {
		return w.options.NodeLabels
	}
	return annotation.ParseNodeLabels(w.settings.NodeSelector)
}

// tlsContainer is the certificate with which TLS ends at the load balancer; empty for none.
func (w *wisher) tlsContainer() string {
	ref, _ := first(w.options.TLSContainer, w.settings.TLSContainer)
	return strings.TrimSpace(ref)
}
