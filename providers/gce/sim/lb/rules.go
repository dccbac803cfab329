package lb

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vpc"
)

// maxPorts is the most single ports of a forwarding rule, as the reference of the field ports documents.
const maxPorts = 5

// Rule is a regional forwarding rule.
type Rule struct {
	core.Meta

	Region              string            `json:"region"`
	IPAddress           string            `json:"IPAddress"`
	IPProtocol          string            `json:"IPProtocol" enum:"AH|ESP|ICMP|L3_DEFAULT|SCTP|TCP|UDP"`
	PortRange           string            `json:"portRange,omitempty"`
	Ports               []string          `json:"ports,omitempty"`
	AllPorts            bool              `json:"allPorts,omitempty"`
	Target              string            `json:"target,omitempty"`
	BackendService      string            `json:"backendService,omitempty"`
	LoadBalancingScheme string            `json:"loadBalancingScheme" enum:"EXTERNAL|EXTERNAL_MANAGED|INTERNAL|INTERNAL_MANAGED|INTERNAL_SELF_MANAGED|INVALID"`
	NetworkTier         string            `json:"networkTier" enum:"FIXED_STANDARD|PREMIUM|STANDARD|STANDARD_OVERRIDES_FIXED_STANDARD"`
	Network             string            `json:"network,omitempty"`
	Subnetwork          string            `json:"subnetwork,omitempty"`
	AllowGlobalAccess   bool              `json:"allowGlobalAccess,omitempty"`
	MirroringCollector  bool              `json:"isMirroringCollector,omitempty"`
	IPVersion           string            `json:"ipVersion,omitempty" enum:"IPV4|IPV6|UNSPECIFIED_VERSION"`
	ServiceLabel        string            `json:"serviceLabel,omitempty"`
	ServiceName         string            `json:"serviceName,omitempty"`
	SourceIPRanges      []string          `json:"sourceIpRanges,omitempty"`
	Labels              map[string]string `json:"labels,omitempty"`
	LabelFingerprint    string            `json:"labelFingerprint"`
	Fingerprint         string            `json:"fingerprint"`
}

// References implements core.Entity.
func (r *Rule) References() []string {
	var out []string
	for _, url := range []string{r.Target, r.BackendService, r.Network, r.Subnetwork} {
		if url != "" {
			out = append(out, url)
		}
	}
	return out
}

var rules = core.Collection[*State, *Rule]{Service: "forwardingRules", Name: "forwardingRules",
	Kind: "forwardingRule", Scope: "regions", New: func() *Rule { return &Rule{} }, Quota: core.QuotaForwardingRules,
	GetQuery: []string{"view"}, Patch: true, Insert: (*State).insertRule, Change: changeRule,
	Removed: func(s *State, r *Rule) { s.Release(r.network(), r.IPAddress, r.SelfLink) }}

func ruleMethods() []core.Method[*State] {
	return rules.Methods(
		core.Method[*State]{ID: "setTarget", Mutating: true, Permission: "setTarget", Do: setTarget},
		core.Method[*State]{ID: "setLabels", Mutating: true, Permission: "setLabels",
			Do: func(s *State, k *core.Call) (any, error) {
				r, err := rules.Find(s, k)
				if err != nil {
					return nil, err
				}
				return core.SetLabels(s.Core(), k, r, &r.Labels, &r.LabelFingerprint)
			}})
}

func (s *State) rules() []*Rule { return core.All[*Rule](s.Core(), "forwardingRules") }

// network returns the network in which the address is unique, "" for an external address.
func (r *Rule) network() string {
	if r.LoadBalancingScheme == schemeInternal {
		return r.Network
	}
	return ""
}

func (r *Rule) setFingerprint() {
	r.Fingerprint = ""
	r.Fingerprint = core.Fingerprint(r)
}

func (s *State) insertRule(k *core.Call, r *Rule) error {
	r.Region, r.IPProtocol = regionURL(k), cmp.Or(r.IPProtocol, protocolTCP)
	r.LoadBalancingScheme = cmp.Or(r.LoadBalancingScheme, schemeExternal)
	r.NetworkTier, r.ServiceName = cmp.Or(r.NetworkTier, vpc.TierPremium), ""
	if err := checkUnsimulated(r); err != nil {
		return err
	}
	backends, err := s.resolveTarget(k, r)
	if err != nil {
		return err
	}
	if err := r.checkPorts(backends != nil); err != nil {
		return err
	}
	var ip netip.Addr
	if r.LoadBalancingScheme == schemeInternal {
		ip, err = s.internalAddress(k, r)
	} else {
		ip, err = s.externalAddress(k, r)
	}
	if err != nil {
		return err
	}
	r.IPAddress = ip.String()
	if err := s.checkConflicts(r, ip); err != nil {
		return err
	}
	r.LabelFingerprint = core.Fingerprint(r.Labels)
	r.setFingerprint()
	s.Hold(r.network(), ip, r.NetworkTier, r.Ref().URL())
	return nil
}

// checkUnsimulated refuses rules of products that are not simulated.
func checkUnsimulated(r *Rule) error {
	switch {
	case r.LoadBalancingScheme != schemeExternal && r.LoadBalancingScheme != schemeInternal:
		return core.Invalid("resource.loadBalancingScheme", r.LoadBalancingScheme,
			"Only passthrough load balancers are simulated: EXTERNAL and INTERNAL.")
	case r.NetworkTier != vpc.TierPremium && r.NetworkTier != vpc.TierStandard:
		return core.Invalid("resource.networkTier", r.NetworkTier, "Must be PREMIUM or STANDARD.")
	case r.IPVersion == "IPV6":
		return core.Invalid("resource.ipVersion", r.IPVersion, "IPv6 is not simulated for forwarding rules.")
	case len(r.SourceIPRanges) > 0:
		return core.Invalid("resource.sourceIpRanges", r.SourceIPRanges[0], "Traffic steering is not simulated.")
	case r.LoadBalancingScheme == schemeInternal && r.NetworkTier != vpc.TierPremium:
		return core.Invalid("resource.networkTier", r.NetworkTier, "Must be PREMIUM for the scheme INTERNAL.")
	case r.LoadBalancingScheme != schemeInternal && r.AllowGlobalAccess:
		return core.Invalid("resource.allowGlobalAccess", "true", "Requires the scheme INTERNAL.")
	case r.LoadBalancingScheme != schemeInternal && r.MirroringCollector:
		return core.Invalid("resource.isMirroringCollector", "true", "Requires the scheme INTERNAL.")
	}
	return nil
}

// resolveTarget resolves the target pool or the backend service of a rule, and returns the latter.
func (s *State) resolveTarget(k *core.Call, r *Rule) (*Backends, error) {
	switch {
	case r.Target != "" && r.BackendService != "":
		return nil, core.Invalid("resource.target", r.Target, "Cannot be set together with backendService.")
	case r.BackendService != "":
		return s.useBackends(k, r)
	case r.LoadBalancingScheme == schemeInternal:
		return nil, core.Required("resource.backendService")
	case r.Target == "":
		return nil, core.Required("resource.target")
	}
	p, err := s.usePool(k, r.Target)
	if err == nil {
		r.Target = p.SelfLink
	}
	return nil, err
}

func (s *State) usePool(k *core.Call, url string) (*Pool, error) {
	const field = "resource.target"
	ref, err := core.ResolveURL(field, url, "targetPools", k.Target)
	if err != nil {
		return nil, err
	}
	if ref.Scope != k.Scope() {
		return nil, core.Invalid(field, url, "The target must be in the region of the forwarding rule.")
	}
	if err := k.Permit("targetPools.use", ref); err != nil {
		return nil, err
	}
	return core.Use[*Pool](s.Core(), ref)
}

func (s *State) useBackends(k *core.Call, r *Rule) (*Backends, error) {
	const field = "resource.backendService"
	ref, err := core.ResolveURL(field, r.BackendService, "backendServices", k.Target)
	if err != nil {
		return nil, err
	}
	if ref.Scope != k.Scope() {
		return nil, core.Invalid(field, r.BackendService, "The backend service must be in the region of the rule.")
	}
	if err := k.Permit("regionBackendServices.use", ref); err != nil {
		return nil, err
	}
	b, err := core.Use[*Backends](s.Core(), ref)
	if err != nil {
		return nil, err
	}
	r.BackendService = b.SelfLink
	switch {
	case b.LoadBalancingScheme != r.LoadBalancingScheme:
		return nil, core.Invalid(field, r.BackendService, "Its load balancing scheme is %s.", b.LoadBalancingScheme)
	case !protocolsMatch(r.IPProtocol, b.Protocol):
		return nil, core.Invalid("resource.IPProtocol", r.IPProtocol, "The protocol of the backend service is %s.",
			b.Protocol)
	}
	return b, nil
}

// protocolsMatch reports whether a rule of a protocol can have a backend service of a protocol.
func protocolsMatch(rule, backends string) bool {
	if backends == "UNSPECIFIED" {
		return rule == protocolTCP || rule == "UDP" || rule == "L3_DEFAULT"
	}
	return rule == backends
}

// checkPorts checks the three ways to choose ports, which exclude each other. A rule without any has all ports.
func (r *Rule) checkPorts(withBackends bool) error {
	ways := 0
	for _, isSet := range []bool{r.PortRange != "", len(r.Ports) > 0, r.AllPorts} {
		if isSet {
			ways++
		}
	}
	switch {
	case ways > 1:
		return core.Invalid("resource.ports", strings.Join(r.Ports, ","), "ports, portRange and allPorts exclude each other.")
	case r.LoadBalancingScheme == schemeInternal && r.PortRange != "":
		return core.Invalid("resource.portRange", r.PortRange, "Internal passthrough load balancers have ports or allPorts.")
	case r.LoadBalancingScheme == schemeInternal && ways == 0:
		return core.Invalid("resource.ports", "", "Ports must be specified for the scheme INTERNAL.")
	}
	return r.parsePorts(withBackends)
}

// parsePorts checks the ports for the protocol, and writes a range as the API shows it.
func (r *Rule) parsePorts(withBackends bool) error {
	hasPorts := slices.Contains([]string{protocolTCP, "UDP", "SCTP"}, r.IPProtocol)
	switch {
	case r.AllPorts && !withBackends:
		return core.Invalid("resource.allPorts", "true", "Requires a backend service.")
	case (r.PortRange != "" || len(r.Ports) > 0) && !hasPorts:
		return core.Invalid("resource.IPProtocol", r.IPProtocol, "Ports require TCP, UDP or SCTP.")
	case r.IPProtocol == "L3_DEFAULT" && !r.AllPorts:
		return core.Invalid("resource.allPorts", "false", "L3_DEFAULT requires allPorts.")
	case len(r.Ports) > maxPorts:
		return core.Invalid("resource.ports", strings.Join(r.Ports, ","), "At most %d ports can be specified.", maxPorts)
	}
	for _, text := range r.Ports {
		if _, err := strconv.Atoi(text); err != nil {
			return core.Invalid("resource.ports", text, "Must be a port.")
		}
		if _, err := vpc.ParsePorts("resource.ports", text); err != nil {
			return err
		}
	}
	if !hasPorts || len(r.Ports) > 0 || r.AllPorts {
		return nil
	}
	ports, err := vpc.ParsePorts("resource.portRange", cmp.Or(r.PortRange, "1-65535"))
	r.PortRange = strconv.Itoa(ports.First) + "-" + strconv.Itoa(ports.Last)
	return err
}

// ranges returns the ports of a rule.
func (r *Rule) ranges() []vpc.Ports {
	if r.PortRange == "" && len(r.Ports) == 0 {
		return []vpc.Ports{{First: 0, Last: 65535}}
	}
	var out []vpc.Ports
	for _, text := range append(slices.Clone(r.Ports), r.PortRange) {
		if ports, err := vpc.ParsePorts("", text); err == nil {
			out = append(out, ports)
		}
	}
	return out
}

// address returns the address that the field names: an IP address, or an address resource.
func (s *State) address(k *core.Call, r *Rule) (netip.Addr, error) {
	if ip, err := netip.ParseAddr(r.IPAddress); err == nil {
		if !ip.Is4() {
			return ip, core.Invalid("resource.IPAddress", r.IPAddress, "IPv6 is not simulated for forwarding rules.")
		}
		return ip, nil
	}
	return s.AddressNamed(k, "resource.IPAddress", r.IPAddress)
}

// externalAddress returns the address of an external rule: a new ephemeral one, or one of the region and the tier.
func (s *State) externalAddress(k *core.Call, r *Rule) (netip.Addr, error) {
	if r.Subnetwork != "" {
		return netip.Addr{}, core.Invalid("resource.subnetwork", r.Subnetwork, "Requires the scheme INTERNAL or IPv6.")
	}
	r.Network = ""
	if r.IPAddress == "" {
		return s.FreeExternal(r.NetworkTier)
	}
	ip, err := s.address(k, r)
	if err != nil {
		return ip, err
	}
	return ip, s.ClaimExternal("resource.IPAddress", k.Params["region"], ip, r.NetworkTier)
}

// internalAddress returns the address of an internal rule in its subnet, whose network is that of the rule.
func (s *State) internalAddress(k *core.Call, r *Rule) (netip.Addr, error) {
	subnet, err := s.SubnetworkFor(k, r.Network, r.Subnetwork)
	if err != nil {
		return netip.Addr{}, err
	}
	r.Network, r.Subnetwork = subnet.Network, subnet.SelfLink
	if r.ServiceLabel != "" {
		r.ServiceName = r.ServiceLabel + "." + r.Name + ".il4." + k.Params["region"] + ".lb." + k.Project() + ".internal"
	}
	if r.IPAddress == "" {
		return s.FreeInternal(subnet)
	}
	ip, err := s.address(k, r)
	if err != nil {
		return ip, err
	}
	return ip, s.ClaimInternal("resource.IPAddress", subnet, ip)
}

// checkConflicts checks that no other resource has the address, except rules with other ports or protocols. Internal
// rules share an address only if it is reserved for that.
func (s *State) checkConflicts(r *Rule, ip netip.Addr) error {
	conflict := core.InvalidLate("resource.IPAddress", r.IPAddress,
		"Specified IP address is in-use and would result in a conflict.")
	for _, url := range s.Users(r.network(), ip) {
		other, err := core.Get[*Rule](s.Core(), core.ParseURL(url))
		if err != nil {
			return conflict // an instance
		}
		if r.LoadBalancingScheme == schemeInternal && !s.IsShared(r.network(), ip) {
			return conflict
		}
		if other.IPProtocol != r.IPProtocol {
			continue
		}
		for _, a := range r.ranges() {
			if slices.ContainsFunc(other.ranges(), a.Overlaps) {
				return conflict
			}
		}
	}
	return nil
}

// changeRule allows to patch what the service lets change: global access and the tier, if the address has it.
func changeRule(_ *State, k *core.Call, old, r *Rule) error {
	if k.Has("fingerprint") && r.Fingerprint != old.Fingerprint {
		return core.ErrFingerprint()
	}
	want := *old
	want.Meta, want.Fingerprint, want.AllowGlobalAccess = r.Meta, r.Fingerprint, r.AllowGlobalAccess
	if core.Fingerprint(want) != core.Fingerprint(r) || r.Description != old.Description {
		return core.Invalid("resource", r.Name, "Only allowGlobalAccess can be patched.")
	}
	if err := checkUnsimulated(r); err != nil {
		return err
	}
	r.setFingerprint()
	return nil
}

// setTarget changes the target pool. The new target is of the type of the old one.
func setTarget(s *State, k *core.Call) (any, error) {
	r, err := rules.Find(s, k)
	if err != nil {
		return nil, err
	}
	var in struct {
		Target string `json:"target"`
	}
	if err := core.Decode(k, &in); err != nil {
		return nil, err
	}
	if r.Target == "" {
		return nil, core.Invalid("resource.target", in.Target, "The forwarding rule has a backend service.")
	}
	p, err := s.usePool(k, in.Target)
	if err != nil {
		return nil, err
	}
	return s.Start(k, r, "setTarget", false, func() {
		r.Target = p.SelfLink
		r.setFingerprint()
	})
}
