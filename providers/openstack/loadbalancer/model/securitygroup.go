package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// group computes the managed security group. Connections come from the members' subnets, or, with the provider ovn,
// from the clients themselves.
func (b *builder) group(ports []Port, nodes []node) *Group {
	g := &Group{
		Name:        names.SecurityGroup(b.key.UID, b.service()),
		Description: names.SecurityGroupDescription(b.key.ClusterName, b.service()),
	}
	var subnets []string
	for _, n := range nodes {
		port, subnet := PortWithAddress(b.shared.NodePorts[n.server], n.address)
		if port.ID == "" {
			b.warnf("node %s has no port with the address %s, so that its node ports cannot be opened for the load balancer",
				n.name, n.address)
			continue
		}
		if n.subnet != "" {
			subnet = n.subnet
		}
		if !slices.Contains(subnets, subnet) {
			subnets = append(subnets, subnet)
		}
		if port.PortSecurity == nil || *port.PortSecurity {
			g.Ports = append(g.Ports, port)
		}
	}
	sorting.Func(g.Ports, func(a, b api.Port) int { return cmp.Compare(a.ID, b.ID) })
	g.Ports = slices.CompactFunc(g.Ports, func(a, b api.Port) bool { return a.ID == b.ID })
	var subnetCIDRs []string
	for _, id := range subnets {
		if s, ok := b.shared.Subnets[id]; ok {
			subnetCIDRs = append(subnetCIDRs, s.CIDR)
		}
	}
	slices.Sort(subnetCIDRs)
	for i, port := range ports {
		nodePort := int(b.in.Ports[i].NodePort)
		if nodePort == 0 {
			continue
		}
		sources := subnetCIDRs
		if b.shared.Features.OVN {
			sources = b.allowedCIDRs(b.in.Ports[i])
		}
		for _, cidr := range sources {
			g.Rules = append(g.Rules, newRule(strings.ToLower(port.Transport), nodePort, cidr))
		}
	}
	if probe := int(b.in.HealthCheck.Port); probe != 0 {
		for _, cidr := range subnetCIDRs {
			g.Rules = append(g.Rules, newRule("tcp", probe, cidr))
		}
	}
	g.Rules = sortRules(g.Rules)
	return g
}

func newRule(protocol string, port int, cidr string) rules.CreateOpts {
	etherType := rules.EtherType4
	if strings.Contains(cidr, ":") {
		etherType = rules.EtherType6
	}
	return rules.CreateOpts{Direction: rules.DirIngress, EtherType: etherType, Protocol: rules.RuleProtocol(protocol),
		PortRangeMin: port, PortRangeMax: port, RemoteIPPrefix: cidr}
}

func sortRules(list []rules.CreateOpts) []rules.CreateOpts {
	sorting.Func(list, func(a, b rules.CreateOpts) int { return cmp.Compare(ShowRule(a), ShowRule(b)) })
	return slices.Compact(list)
}

// ShowRule formats a rule for users, with the fields that identify it.
func ShowRule(r rules.CreateOpts) string {
	return fmt.Sprintf("%s %s %d-%d from %s", r.EtherType, r.Protocol, r.PortRangeMin, r.PortRangeMax,
		cmp.Or(r.RemoteIPPrefix, r.RemoteGroupID, "everywhere"))
}

// RuleOf returns the options to create a rule. Neutron keeps protocols as they were sent.
func RuleOf(r api.SecurityGroupRule) rules.CreateOpts {
	return rules.CreateOpts{
		EtherType: rules.RuleEtherType(r.EtherType), Protocol: rules.RuleProtocol(strings.ToLower(r.Protocol)),
		PortRangeMin: r.PortRangeMin, PortRangeMax: r.PortRangeMax, RemoteIPPrefix: r.RemoteIPPrefix,
		RemoteGroupID: r.RemoteGroupID,
	}
}
