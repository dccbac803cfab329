package model

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// NormalizedRanges returns ranges with their lengths. Other texts stay as they are.
func NormalizedRanges(ranges []string) []string {
	out := make([]string, len(ranges))
	for i, text := range ranges {
		out[i] = text
		if addr, err := netip.ParseAddr(text); err == nil {
			out[i] = netip.PrefixFrom(addr, addr.BitLen()).String()
		}
	}
	return out
}

// ShowRanges formats ranges without regard to their order and form.
func ShowRanges(ranges []string) string { return plan.ShowSet(NormalizedRanges(ranges)) }

// ShowPorts formats ports by protocol. Ports that follow each other are one range, however they were written.
func ShowPorts(list []api.Ports) string {
	byProtocol := map[string][]string{}
	for _, p := range list {
		protocol := strings.ToLower(p.Protocol)
		byProtocol[protocol] = append(byProtocol[protocol], Expand(p.Ports)...)
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
		merged[protocol] = strings.Join(PortRanges(SortPorts(ports)), ",")
	}
	return plan.ShowMap(merged)
}

// SinglePorts returns each port of a firewall, with its protocol.
func SinglePorts(list []api.Ports) []string {
	var out []string
	for _, p := range list {
		for _, port := range Expand(p.Ports) {
			out = append(out, strings.ToLower(p.Protocol)+" "+port)
		}
	}
	return out
}

// KeptTags returns the wanted tags of a firewall, with all that it has while those of some nodes are not known.
func KeptTags(have, want []string, partial bool) []string {
	if !partial || len(want) == 0 {
		return want
	}
	kept := slices.Concat(want, have)
	slices.Sort(kept)
	return slices.Compact(kept)
}

// CommandArguments returns the arguments of a command that describe a firewall.
func CommandArguments(f api.Firewall) string {
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

// PatchFirewall makes a change in the snapshot.
func PatchFirewall(f *api.Firewall, p api.FirewallPatch) {
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
