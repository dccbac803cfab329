package vpc

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
)

// Firewall is a firewall rule of a network.
type Firewall struct {
	core.Meta

	Network           string       `json:"network" default:"global/networks/default" set:"once" link:"networks"`
	Priority          *int         `json:"priority" default:"1000" range:"0-65535"`
	Direction         string       `json:"direction" enum:"EGRESS|INGRESS" default:"INGRESS"`
	Disabled          bool         `json:"disabled"`
	Allowed           []Permitted  `json:"allowed,omitempty"`
	Denied            []Permitted  `json:"denied,omitempty"`
	SourceRanges      []string     `json:"sourceRanges,omitempty"`
	DestinationRanges []string     `json:"destinationRanges,omitempty"`
	SourceTags        []string     `json:"sourceTags,omitempty" format:"name"`
	TargetTags        []string     `json:"targetTags,omitempty" format:"name" most:"70"`
	SourceAccounts    []string     `json:"sourceServiceAccounts,omitempty"`
	TargetAccounts    []string     `json:"targetServiceAccounts,omitempty"`
	LogConfig         *FirewallLog `json:"logConfig,omitempty" default:"{}"`
}

// Permitted is a protocol with ports.
type Permitted struct {
	IPProtocol string   `json:"IPProtocol" set:"required" format:"protocol"`
	Ports      []string `json:"ports,omitempty" format:"ports"`
}

// FirewallLog is whether connections are logged.
type FirewallLog struct {
	Enable   bool   `json:"enable"`
	Metadata string `json:"metadata,omitempty" enum:"EXCLUDE_ALL_METADATA|INCLUDE_ALL_METADATA"`
}

func (s *State) firewalls() core.Collection[*Firewall] {
	return core.Collection[*Firewall]{State: s.State, Name: "firewalls", Scope: core.ScopeGlobal,
		Quota: core.QuotaFirewalls, Insert: checkFirewall, Update: true, Aggregated: "-",
		Change: func(k *core.Call, old, changed *Firewall) error {
			if changed.Direction != old.Direction {
				return core.Invalid("resource.direction", changed.Direction, "The direction cannot be changed.")
			}
			return checkFirewall(k, changed)
		}}
}

const directionIn = "INGRESS"

// checkFirewall checks what depends on several fields of a rule.
func checkFirewall(k *core.Call, f *Firewall) error {
	if err := k.Permit("networks.updatePolicy", core.ParseURL(f.Network)); err != nil {
		return err
	}
	switch {
	case len(f.Allowed) == 0 && len(f.Denied) == 0:
		return core.Required("resource.allowed")
	case len(f.Allowed) > 0 && len(f.Denied) > 0:
		return core.Invalid("resource.denied", "", "A rule either allows or denies.")
	case len(f.SourceAccounts)+len(f.TargetAccounts) > 0 && len(f.SourceTags)+len(f.TargetTags) > 0:
		return core.Invalid("resource.targetServiceAccounts", "", "A rule has either service accounts or tags.")
	case f.Direction != directionIn && len(f.SourceTags) > 0:
		return core.Invalid("resource.sourceTags", f.SourceTags[0], "Egress rules have no source tags.")
	}
	for _, p := range slices.Concat(f.Allowed, f.Denied) {
		if len(p.Ports) > 0 && !slices.Contains([]string{"tcp", "udp", "sctp", "6", "17", "132"}, p.protocol()) {
			return core.Invalid("resource.allowed.ports", p.Ports[0], "Ports can only be specified for TCP, UDP and SCTP.")
		}
	}
	return checkRanges(f)
}

// checkRanges checks source and destination ranges. A rule has ranges of one family.
func checkRanges(f *Firewall) error {
	if f.Direction == directionIn && len(f.SourceRanges)+len(f.SourceTags)+len(f.SourceAccounts) == 0 {
		f.SourceRanges = []string{"0.0.0.0/0"}
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

// protocol returns the protocol as names are compared.
func (p Permitted) protocol() string { return strings.ToLower(p.IPProtocol) }

// opensPort reports whether a port of a protocol is among the permitted ones.
func (p Permitted) opensPort(protocol string, port int) bool {
	if p.protocol() != "all" && !strings.EqualFold(p.IPProtocol, protocol) {
		return false
	}
	one := core.Ports{First: port, Last: port}
	return len(p.Ports) == 0 || slices.ContainsFunc(core.ParseAllPorts(p.Ports), one.Overlaps)
}

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
	return slices.ContainsFunc(list, func(p Permitted) bool { return p.opensPort(w.Protocol, w.Port) })
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
func (f *Firewall) PortsFor(address, protocol string) []core.Ports {
	if f.Disabled || !slices.ContainsFunc(f.DestinationRanges, func(text string) bool {
		p, err := parseRange(text)
		return err == nil && p.IsSingleIP() && p.Addr().String() == address
	}) {
		return nil
	}
	var out []core.Ports
	for _, p := range f.Allowed {
		if strings.EqualFold(p.IPProtocol, protocol) {
			out = append(out, core.ParseAllPorts(p.Ports)...)
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
