package vpc

import (
	"cmp"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
)

// Firewall is a firewall rule of a network.
type Firewall struct {
	core.Meta

	Network           string       `json:"network"`
	Priority          *int         `json:"priority"`
	Direction         string       `json:"direction" enum:"EGRESS|INGRESS"`
	Disabled          bool         `json:"disabled"`
	Allowed           []Permitted  `json:"allowed,omitempty"`
	Denied            []Permitted  `json:"denied,omitempty"`
	SourceRanges      []string     `json:"sourceRanges,omitempty"`
	DestinationRanges []string     `json:"destinationRanges,omitempty"`
	SourceTags        []string     `json:"sourceTags,omitempty"`
	TargetTags        []string     `json:"targetTags,omitempty"`
	SourceAccounts    []string     `json:"sourceServiceAccounts,omitempty"`
	TargetAccounts    []string     `json:"targetServiceAccounts,omitempty"`
	LogConfig         *FirewallLog `json:"logConfig,omitempty"`
}

// Permitted is a protocol with ports.
type Permitted struct {
	IPProtocol string   `json:"IPProtocol"`
	Ports      []string `json:"ports,omitempty"`
}

// FirewallLog is whether connections are logged.
type FirewallLog struct {
	Enable   bool   `json:"enable"`
	Metadata string `json:"metadata,omitempty" enum:"EXCLUDE_ALL_METADATA|INCLUDE_ALL_METADATA"`
}

// References implements core.Entity.
func (f *Firewall) References() []string { return []string{f.Network} }

var firewalls = core.Collection[*State, *Firewall]{Service: "firewalls", Name: "firewalls", Kind: "firewall",
	Scope: core.ScopeGlobal, New: func() *Firewall { return &Firewall{} }, Quota: core.QuotaFirewalls,
	Insert: (*State).checkFirewall, Patch: true, Update: true, ListKindAggregated: "-",
	Change: func(s *State, k *core.Call, old, changed *Firewall) error {
		if changed.Network == "" {
			changed.Network = old.Network
		}
		if err := s.checkFirewall(k, changed); err != nil {
			return err
		}
		if changed.Network != old.Network {
			return core.Invalid("resource.network", changed.Network, "The network of a firewall rule cannot be changed.")
		}
		if changed.Direction != old.Direction {
			return core.Invalid("resource.direction", changed.Direction, "The direction cannot be changed.")
		}
		return nil
	}}

func firewallMethods() []core.Method[*State] { return firewalls.Methods() }

const (
	defaultPriority = 1000
	maxPriority     = 65535
	directionIn     = "INGRESS"
	// maxTags are the most target tags of a rule.
	maxTags = 70
)

// checkFirewall checks a rule and sets defaults.
func (s *State) checkFirewall(k *core.Call, f *Firewall) error {
	if f.Network == "" {
		f.Network = "global/networks/default"
	}
	n, err := s.UseNetwork(k, "resource.network", f.Network)
	if err != nil {
		return err
	}
	if err := k.Permit("networks.updatePolicy", n.Ref()); err != nil {
		return err
	}
	f.Network, f.Direction = n.SelfLink, cmp.Or(f.Direction, directionIn)
	if f.Priority == nil {
		f.Priority = new(defaultPriority)
	}
	if f.LogConfig == nil {
		f.LogConfig = &FirewallLog{}
	}
	switch {
	case *f.Priority < 0 || *f.Priority > maxPriority:
		return core.Invalid("resource.priority", strconv.Itoa(*f.Priority), "Must be between 0 and 65535.")
	case len(f.Allowed) == 0 && len(f.Denied) == 0:
		return core.Required("resource.allowed")
	case len(f.Allowed) > 0 && len(f.Denied) > 0:
		return core.Invalid("resource.denied", "", "A rule either allows or denies.")
	case len(f.TargetTags) > maxTags:
		return core.Invalid("resource.targetTags", strconv.Itoa(len(f.TargetTags)), "At most %d are possible.", maxTags)
	}
	return f.checkParts()
}

// checkParts checks the lists of a rule.
func (f *Firewall) checkParts() error {
	for _, p := range slices.Concat(f.Allowed, f.Denied) {
		if err := p.check(); err != nil {
			return err
		}
	}
	if err := checkRanges(f); err != nil {
		return err
	}
	for _, tag := range slices.Concat(f.TargetTags, f.SourceTags) {
		if err := core.CheckName("resource.targetTags", tag); err != nil {
			return err
		}
	}
	return nil
}

// checkRanges checks source and destination ranges. A rule has ranges of one family.
func checkRanges(f *Firewall) error {
	if f.Direction == directionIn && len(f.SourceRanges)+len(f.SourceTags)+len(f.SourceAccounts) == 0 {
		f.SourceRanges = []string{"0.0.0.0/0"}
	}
	if f.Direction != directionIn && len(f.SourceTags) > 0 {
		return core.Invalid("resource.sourceTags", f.SourceTags[0], "Egress rules have no source tags.")
	}
	families := map[bool]bool{}
	for field, list := range map[string][]string{"resource.sourceRanges": f.SourceRanges,
		"resource.destinationRanges": f.DestinationRanges} {
		for i, text := range list {
			p, err := parseRange(text)
			if err != nil {
				return core.Invalid(field, text, "Must be a CIDR block.")
			}
			list[i], families[p.Addr().Is4()] = p.String(), true
			if p.IsSingleIP() && !strings.Contains(text, "/") {
				list[i] = text
			}
		}
	}
	if len(families) > 1 {
		return core.Invalid("resource.sourceRanges", strings.Join(f.SourceRanges, ","),
			"A rule has either IPv4 or IPv6 ranges.")
	}
	return nil
}

func parseRange(text string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err
}

var (
	validPorts    = regexp.MustCompile(`^\d+(-\d+)?$`)
	namedProtocol = []string{"all", "tcp", "udp", "icmp", "esp", "ah", "ipip", "sctp"}
)

func (p Permitted) check() error {
	const field = "resource.allowed.IPProtocol"
	n, err := strconv.Atoi(p.IPProtocol)
	name := strings.ToLower(p.IPProtocol)
	switch {
	case p.IPProtocol == "":
		return core.Required(field)
	case (err != nil || n < 0 || n > 255) && !slices.Contains(namedProtocol, name):
		return core.Invalid(field, p.IPProtocol, "Must be a protocol name or number.")
	case len(p.Ports) > 0 && !slices.Contains([]string{"tcp", "udp", "sctp", "6", "17", "132"}, name):
		return core.Invalid("resource.allowed.ports", p.Ports[0], "Ports can only be specified for TCP, UDP and SCTP.")
	}
	for _, text := range p.Ports {
		if _, err := ParsePorts("resource.allowed.ports", text); err != nil {
			return err
		}
	}
	return nil
}

// Ports is a range of ports.
type Ports struct{ First, Last int }

// ParsePorts parses a port, or a range such as 80-90.
func ParsePorts(field, text string) (Ports, error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	a, _ := strconv.Atoi(first)
	b, _ := strconv.Atoi(last)
	if !validPorts.MatchString(text) || a < 1 || b > maxPriority || a > b {
		return Ports{}, core.Invalid(field, text, "Must be a port or a range of ports from 1 to 65535.")
	}
	return Ports{a, b}, nil
}

// Overlaps reports whether ranges have a port in common.
func (p Ports) Overlaps(other Ports) bool { return p.First <= other.Last && other.First <= p.Last }

// Flow is traffic to a destination, of any source.
type Flow struct {
	Network string
	// Destination is the address in the packets.
	Destination netip.Addr
	Protocol    string
	Port        int
	// Tags are the network tags of the instance that receives it.
	Tags []string
}

// opens reports whether a rule applies to a flow.
func (f *Firewall) opens(list []Permitted, w Flow) bool {
	if f.Disabled || f.Direction != directionIn || f.Network != w.Network || !f.covers(w.Destination) || !f.hasTarget(w) {
		return false
	}
	return slices.ContainsFunc(list, func(p Permitted) bool {
		protocol := strings.ToLower(p.IPProtocol)
		if protocol != "all" && protocol != strings.ToLower(w.Protocol) {
			return false
		}
		return len(p.Ports) == 0 || slices.ContainsFunc(p.Ports, func(text string) bool {
			ports, err := ParsePorts("", text)
			return err == nil && ports.Overlaps(Ports{w.Port, w.Port})
		})
	})
}

// hasTarget reports whether the receiver of a flow has one of the rule's tags, or the rule has none.
func (f *Firewall) hasTarget(w Flow) bool {
	return len(f.TargetTags) == 0 ||
		slices.ContainsFunc(f.TargetTags, func(tag string) bool { return slices.Contains(w.Tags, tag) })
}

func (f *Firewall) covers(ip netip.Addr) bool {
	return len(f.DestinationRanges) == 0 || slices.ContainsFunc(f.DestinationRanges, func(text string) bool {
		p, err := parseRange(text)
		return err == nil && p.Contains(ip)
	})
}

// PortsFor returns the ports of a protocol that a rule allows to an address that it names.
func (f *Firewall) PortsFor(address, protocol string) []Ports {
	if f.Disabled || !slices.ContainsFunc(f.DestinationRanges, func(text string) bool {
		p, err := parseRange(text)
		return err == nil && p.IsSingleIP() && p.Addr().String() == address
	}) {
		return nil
	}
	var out []Ports
	for _, p := range f.Allowed {
		for _, text := range p.Ports {
			if ports, err := ParsePorts("", text); err == nil && strings.EqualFold(p.IPProtocol, protocol) {
				out = append(out, ports)
			}
		}
	}
	return out
}

// Rules returns the rules of a network for an address in the order of their precedence: denying ones come before others
// of the same priority.
func (s *State) Rules(network, address string) []*Firewall {
	ip, err := netip.ParseAddr(address)
	list := slices.DeleteFunc(core.All[*Firewall](s.State, "firewalls"), func(f *Firewall) bool {
		return err != nil || f.Network != network || !f.covers(ip)
	})
	sorting.Func(list, func(a, b *Firewall) int {
		return cmp.Or(cmp.Compare(*a.Priority, *b.Priority), cmp.Compare(len(b.Denied), len(a.Denied)))
	})
	return list
}

// Sources returns the source ranges from which rules allow a flow, sorted.
func Sources(rules []*Firewall, w Flow) []string {
	var out []string
	for _, f := range rules {
		if f.opens(f.Denied, w) && slices.Contains(f.SourceRanges, "0.0.0.0/0") {
			break
		}
		if f.opens(f.Allowed, w) {
			out = append(out, f.SourceRanges...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// AllowsFrom reports whether rules allow a flow from an address.
func AllowsFrom(rules []*Firewall, w Flow, source netip.Addr) bool {
	return slices.ContainsFunc(Sources(rules, w), func(text string) bool {
		p, err := parseRange(text)
		return err == nil && p.Contains(source)
	})
}
