package model

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// UntaggedWarning returns the warning about instances that firewalls cannot select, with what to do.
func UntaggedWarning(instances []string) string {
	return "firewalls of load balancers cannot select the instances " + strings.Join(intent.Limit(instances), ", ") +
		": they have no network tag with which their names begin; add one to each of them, or set node-tags in section " +
		"[global] to the tag that all nodes have"
}

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
