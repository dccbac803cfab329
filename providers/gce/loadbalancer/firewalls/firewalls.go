// Package firewalls compares firewalls, and names the commands that change them.
package firewalls

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
)

// Name is the kind of firewalls in plans.
const Name = "firewall"

// defaultPriority is the priority of a firewall without one.
const defaultPriority = 1000

// Kind are the firewalls of traffic, and those of probes that one load balancer has.
var Kind = rows.Kind[*api.Firewall, *api.FirewallPatch]{
	Name: Name,
	Key:  func(f *api.Firewall) string { return f.Name },
	Rows: fields(false),
}

// NodeKind are the firewalls of the probes of nodes. Earlier managers gave them the address of one load
// balancer as the destination, which is corrected together with another change.
var NodeKind = rows.Kind[*api.Firewall, *api.FirewallPatch]{
	Name: Name, Key: Kind.Key, Rows: fields(true),
}

func fields(markDestination bool) []rows.Row[*api.Firewall, *api.FirewallPatch] {
	return []rows.Row[*api.Firewall, *api.FirewallPatch]{
		{
			Name: "priority", Value: rows.Of(showPriority, func(f *api.Firewall) **int64 { return &f.Priority }),
			Set: func(p *api.FirewallPatch, want *api.Firewall) { p.Priority = want.Priority },
			// Those of internal load balancers have none, so that one that was set by hand stays.
			Ignore: func(_, want *api.Firewall) bool { return want.Priority == nil },
		},
		{
			Name: "network", Value: rows.Of(api.Last, func(f *api.Firewall) *string { return &f.Network }),
			Effect: rows.Traffic("the firewall is replaced by one in another network"),
		},
		{
			Name: "sourceRanges", Value: rows.Of(showRanges, func(f *api.Firewall) *[]string { return &f.SourceRanges }),
			Set:    func(p *api.FirewallPatch, want *api.Firewall) { p.SourceRanges = rows.NonNil(want.SourceRanges) },
			Effect: rows.Traffic("source ranges leave the firewall"),
			Disrupts: func(have, want *api.Firewall) bool {
				return !slices.Contains(want.SourceRanges, "0.0.0.0/0") &&
					len(model.Without(normalized(have.SourceRanges), normalized(want.SourceRanges))) > 0
			},
		},
		{
			Name: "destinationRanges", Mark: markDestination,
			Value: rows.Of(showRanges, func(f *api.Firewall) *[]string { return &f.DestinationRanges }),
			Set: func(p *api.FirewallPatch, want *api.Firewall) {
				p.DestinationRanges = rows.NonNil(want.DestinationRanges)
			},
		},
		{
			// The tags follow the nodes unless they are configured.
			Name: "targetTags", Value: rows.Set(func(f *api.Firewall) *[]string { return &f.TargetTags }), Membership: true,
			Set:    func(p *api.FirewallPatch, want *api.Firewall) { p.TargetTags = rows.NonNil(want.TargetTags) },
			Ignore: func(_, want *api.Firewall) bool { return len(want.TargetTags) == 0 },
		},
		{
			Name: "allowed", Value: rows.Of(showPorts, func(f *api.Firewall) *[]api.Ports { return &f.Allowed }),
			Set:    func(p *api.FirewallPatch, want *api.Firewall) { p.Allowed = rows.NonNil(want.Allowed) },
			Effect: rows.Traffic("ports leave the firewall"),
			Disrupts: func(have, want *api.Firewall) bool {
				return len(model.Without(singlePorts(have.Allowed), singlePorts(want.Allowed))) > 0
			},
		},
		{
			Name: "description", Value: rows.Text(func(f *api.Firewall) *string { return &f.Description }),
			Mark:   markDestination,
			Set:    func(p *api.FirewallPatch, want *api.Firewall) { p.Description = &want.Description },
			Ignore: func(_, want *api.Firewall) bool { return want.Description == "" },
		},
	}
}

func showPriority(priority *int64) string {
	if priority == nil {
		return fmt.Sprint(defaultPriority)
	}
	return fmt.Sprint(*priority)
}

// normalized returns ranges with their lengths. Other texts stay as they are.
func normalized(ranges []string) []string {
	out := make([]string, len(ranges))
	for i, text := range ranges {
		out[i] = text
		if addr, err := netip.ParseAddr(text); err == nil {
			out[i] = netip.PrefixFrom(addr, addr.BitLen()).String()
		}
	}
	return out
}

// showRanges formats ranges without regard to their order and form.
func showRanges(ranges []string) string { return plan.ShowSet(normalized(ranges)) }

// showPorts formats ports by protocol. Ports that follow each other are one range, however they were written.
func showPorts(list []api.Ports) string {
	byProtocol := map[string][]string{}
	for _, p := range list {
		protocol := strings.ToLower(p.Protocol)
		byProtocol[protocol] = append(byProtocol[protocol], model.Expand(p.Ports)...)
		if len(p.Ports) == 0 {
			byProtocol[protocol] = append(byProtocol[protocol], "all")
		}
	}
	merged := map[string]string{}
	for protocol, ports := range byProtocol {
		if slices.Contains(ports, "all") {
			merged[protocol] = "all"
			continue
		}
		merged[protocol] = strings.Join(model.PortRanges(model.SortPorts(ports)), ",")
	}
	return plan.ShowMap(merged)
}

// singlePorts returns each port of a firewall, with its protocol.
func singlePorts(list []api.Ports) []string {
	var out []string
	for _, p := range list {
		for _, port := range model.Expand(p.Ports) {
			out = append(out, strings.ToLower(p.Protocol)+" "+port)
		}
	}
	return out
}

// KeptTags returns the wanted tags of a firewall, with all that it has while those of some nodes are not known. One
// never loses all of them: without tags, it would apply to all instances of its network.
func KeptTags(have, want []string, partial bool) []string {
	switch {
	case len(want) == 0:
		return have
	case !partial:
		return want
	}
	kept := slices.Concat(want, have)
	slices.Sort(kept)
	return slices.Compact(kept)
}

// CreateCommand returns the arguments of the command that creates a firewall.
func CreateCommand(f api.Firewall) string {
	return fmt.Sprintf("create %s --network %s --priority %s%s", f.Name, api.Last(f.Network), showPriority(f.Priority),
		arguments(f))
}

// UpdateCommand returns the arguments of the command that changes one.
func UpdateCommand(f api.Firewall) string { return "update " + f.Name + arguments(f) }

// arguments returns the arguments of a command that describe a firewall.
func arguments(f api.Firewall) string {
	var allowed []string
	for _, p := range f.Allowed {
		for _, port := range p.Ports {
			allowed = append(allowed, p.Protocol+":"+port)
		}
	}
	out := fmt.Sprintf(" --description '%s' --allow %s --source-ranges %s --target-tags %s", f.Description,
		strings.Join(allowed, ","), strings.Join(f.SourceRanges, ","), strings.Join(f.TargetTags, ","))
	if len(f.DestinationRanges) > 0 {
		out += " --destination-ranges " + strings.Join(f.DestinationRanges, ",")
	}
	return out
}

// Patch makes a change in the snapshot.
func Patch(f *api.Firewall, p api.FirewallPatch) {
	set := func(list *[]string, value *[]string) {
		if value != nil {
			*list = *value
		}
	}
	set(&f.SourceRanges, p.SourceRanges)
	set(&f.DestinationRanges, p.DestinationRanges)
	set(&f.TargetTags, p.TargetTags)
	if p.Allowed != nil {
		f.Allowed = *p.Allowed
	}
	if p.Priority != nil {
		f.Priority = p.Priority
	}
	if p.Description != nil {
		f.Description = *p.Description
	}
}
