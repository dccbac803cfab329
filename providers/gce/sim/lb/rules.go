package lb

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vpc"
)

// Rule is a regional forwarding rule.
type Rule struct {
	core.Meta
	core.Labels

	Region              string   `json:"region" set:"output"`
	IPAddress           string   `json:"IPAddress"`
	IPProtocol          string   `json:"IPProtocol" enum:"AH|ESP|ICMP|L3_DEFAULT|SCTP|TCP|UDP" default:"TCP"`
	PortRange           string   `json:"portRange,omitempty" format:"ports"`
	Ports               []string `json:"ports,omitempty" format:"port" most:"5"`
	AllPorts            bool     `json:"allPorts,omitempty"`
	Target              string   `json:"target,omitempty" link:"targetPools.use"`
	BackendService      string   `json:"backendService,omitempty" link:"backendServices.use"`
	LoadBalancingScheme string   `json:"loadBalancingScheme" enum:"EXTERNAL|EXTERNAL_MANAGED|INTERNAL|INTERNAL_MANAGED|INTERNAL_SELF_MANAGED|INVALID" default:"EXTERNAL" simulated:"EXTERNAL|INTERNAL"`
	NetworkTier         string   `json:"networkTier" enum:"FIXED_STANDARD|PREMIUM|STANDARD|STANDARD_OVERRIDES_FIXED_STANDARD" default:"PREMIUM" simulated:"PREMIUM|STANDARD"`
	Network             string   `json:"network,omitempty" link:"networks"`
	Subnetwork          string   `json:"subnetwork,omitempty" link:"subnetworks.use" named:"true"`
	AllowGlobalAccess   bool     `json:"allowGlobalAccess,omitempty"`
	MirroringCollector  bool     `json:"isMirroringCollector,omitempty"`
	IPVersion           string   `json:"ipVersion,omitempty" enum:"IPV4|IPV6|UNSPECIFIED_VERSION" simulated:"IPV4|UNSPECIFIED_VERSION"`
	ServiceLabel        string   `json:"serviceLabel,omitempty" format:"name"`
	ServiceName         string   `json:"serviceName,omitempty" set:"output"`
	SourceIPRanges      []string `json:"sourceIpRanges,omitempty" set:"never"`
	Fingerprint         string   `json:"fingerprint" set:"output"`
}

func (s *State) ruleCollection() core.Collection[*Rule] {
	return core.Collection[*Rule]{State: s.Core(), Name: "forwardingRules", Scope: "regions",
		Quota: core.QuotaForwardingRules, GetQuery: []string{"view"}, Insert: s.insertRule, Change: changeRule,
		Removed: func(r *Rule) { s.Release(r.network(), r.IPAddress, r.SelfLink) }}
}

// showBackends adds the forwarding rules that use a backend service.
func (s *State) showBackends(b *Backends) *Backends {
	view := *b
	view.UsedBy = nil
	for _, r := range s.rules() {
		if r.BackendService == b.SelfLink {
			view.UsedBy = append(view.UsedBy, UsedBy{r.SelfLink})
		}
	}
	return &view
}

func (s *State) changeBackends(_ *core.Call, old, b *Backends) error {
	for _, r := range s.rules() {
		if r.BackendService == old.SelfLink && !protocolsMatch(r.IPProtocol, b.Protocol) {
			return core.Invalid("resource.protocol", b.Protocol, "Forwarding rule '%s' has protocol %s.", r.Ref(),
				r.IPProtocol)
		}
	}
	return s.checkBackends(b)
}

func (s *State) rules() []*Rule { return core.All[*Rule](s.Core(), "forwardingRules") }

// network returns the network in which the address is unique, "" for an external address.
func (r *Rule) network() string {
	if r.isInternal() {
		return r.Network
	}
	return ""
}

func (r *Rule) isInternal() bool { return r.LoadBalancingScheme == schemeInternal }

// ip returns the address of a rule that exists.
func (r *Rule) ip() netip.Addr { return netip.MustParseAddr(r.IPAddress) }

func (s *State) insertRule(k *core.Call, r *Rule) error {
	if err := r.checkScheme(); err != nil {
		return err
	}
	if b, ok := core.At[*Backends](s.Core(), r.BackendService); ok {
		if err := r.checkBackends(b); err != nil {
			return err
		}
	}
	if err := r.checkPorts(); err != nil {
		return err
	}
	choose := s.externalAddress
	if r.isInternal() {
		choose = s.internalAddress
	}
	ip, err := choose(k, r)
	if err != nil {
		return err
	}
	r.IPAddress = ip.String()
	if err := s.checkConflicts(r, ip); err != nil {
		return err
	}
	s.Hold(r.network(), ip, r.NetworkTier, r.Ref().URL())
	return nil
}

// checkScheme checks what a load balancing scheme excludes or requires.
func (r *Rule) checkScheme() error {
	switch {
	case r.Target != "" && r.BackendService != "":
		return core.Invalid("resource.target", r.Target, "Cannot be set together with backendService.")
	case r.isInternal() && r.BackendService == "":
		return core.Required("resource.backendService")
	case r.Target == "" && r.BackendService == "":
		return core.Required("resource.target")
	case r.isInternal() && r.NetworkTier != vpc.TierPremium:
		return core.Invalid("resource.networkTier", r.NetworkTier, "Must be PREMIUM for the scheme INTERNAL.")
	case !r.isInternal() && r.AllowGlobalAccess:
		return core.Invalid("resource.allowGlobalAccess", "true", "Requires the scheme INTERNAL.")
	case !r.isInternal() && r.MirroringCollector:
		return core.Invalid("resource.isMirroringCollector", "true", "Requires the scheme INTERNAL.")
	case !r.isInternal() && r.Subnetwork != "":
		return core.Invalid("resource.subnetwork", r.Subnetwork, "Requires the scheme INTERNAL or IPv6.")
	}
	return nil
}

// checkBackends checks that a backend service is one for the rule.
func (r *Rule) checkBackends(b *Backends) error {
	switch {
	case b.LoadBalancingScheme != r.LoadBalancingScheme:
		return core.Invalid("resource.backendService", r.BackendService, "Its load balancing scheme is %s.",
			b.LoadBalancingScheme)
	case !protocolsMatch(r.IPProtocol, b.Protocol):
		return core.Invalid("resource.IPProtocol", r.IPProtocol, "The protocol of the backend service is %s.", b.Protocol)
	}
	return nil
}

// protocolsMatch reports whether a rule of a protocol can have a backend service of a protocol.
func protocolsMatch(rule, backends string) bool {
	if backends == "UNSPECIFIED" {
		return rule == protocolTCP || rule == "UDP" || rule == "L3_DEFAULT"
	}
	return rule == backends
}

// checkPorts checks the three ways to choose ports, which exclude each other.
func (r *Rule) checkPorts() error {
	ways := core.CountTrue(r.PortRange != "", len(r.Ports) > 0, r.AllPorts)
	switch {
	case ways > 1:
		return core.Invalid("resource.ports", strings.Join(r.Ports, ","), "ports, portRange and allPorts exclude each other.")
	case r.isInternal() && r.PortRange != "":
		return core.Invalid("resource.portRange", r.PortRange, "Internal passthrough load balancers have ports or allPorts.")
	case r.isInternal() && ways == 0:
		return core.Invalid("resource.ports", "", "Ports must be specified for the scheme INTERNAL.")
	case r.AllPorts && r.BackendService == "":
		return core.Invalid("resource.allPorts", "true", "Requires a backend service.")
	case r.IPProtocol == "L3_DEFAULT" && !r.AllPorts:
		return core.Invalid("resource.allPorts", "false", "L3_DEFAULT requires allPorts.")
	}
	hasPorts := slices.Contains([]string{protocolTCP, "UDP", "SCTP"}, r.IPProtocol)
	if ways > 0 && !r.AllPorts && !hasPorts {
		return core.Invalid("resource.IPProtocol", r.IPProtocol, "Ports require TCP, UDP or SCTP.")
	}
	r.showRange(ways == 0 && hasPorts)
	return nil
}

// showRange writes a range as the API shows it: 80-80. A rule without ports has all.
func (r *Rule) showRange(all bool) {
	if all {
		r.PortRange = "1-65535"
	}
	if ports, ok := core.ParsePorts(r.PortRange); ok {
		r.PortRange = ports.String()
	}
}

// ranges returns the ports of a rule.
func (r *Rule) ranges() []core.Ports {
	if r.PortRange == "" && len(r.Ports) == 0 {
		return []core.Ports{{First: 0, Last: core.MaxPort}}
	}
	return core.ParseAllPorts(append(slices.Clone(r.Ports), r.PortRange))
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
	for _, url := range s.Users(r.network(), ip) {
		other, isRule := core.At[*Rule](s.Core(), url)
		if !isRule || r.isInternal() && !s.IsShared(r.network(), ip) || r.overlaps(other) {
			return core.InvalidLate("resource.IPAddress", r.IPAddress,
				"Specified IP address is in-use and would result in a conflict.")
		}
	}
	return nil
}

// overlaps reports whether two rules have a port of a protocol in common.
func (r *Rule) overlaps(other *Rule) bool {
	return other.IPProtocol == r.IPProtocol && slices.ContainsFunc(r.ranges(), func(ports core.Ports) bool {
		return slices.ContainsFunc(other.ranges(), ports.Overlaps)
	})
}

// changeRule allows to patch what the service lets change: global access of an internal rule.
func changeRule(_ *core.Call, old, r *Rule) error {
	want := *old
	want.AllowGlobalAccess = r.AllowGlobalAccess
	if core.Fingerprint(want) != core.Fingerprint(r) {
		return core.Invalid("resource", r.Name, "Only allowGlobalAccess can be patched.")
	}
	return r.checkScheme()
}

type targetReference struct {
	Target string `json:"target" set:"required" link:"targetPools.use"`
}

// setTarget changes the target pool. The new target is of the type of the old one.
func (s *State) setTarget(k *core.Call, r *Rule, in *targetReference) (any, error) {
	if r.Target == "" {
		return nil, core.Invalid("resource.target", in.Target, "The forwarding rule has a backend service.")
	}
	return s.Start(k, r, "setTarget", false, func() {
		r.Target = in.Target
		core.SetFingerprint(r)
	})
}
