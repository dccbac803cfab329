package model

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// group computes the managed security group. Connections come from the subnets of members, or, with the provider ovn,
// from the clients themselves, which have addresses of the members' family. Probes come from the subnets.
func (b *builder) group(ports []Port, nodes []node) *Group {
	g := &Group{
		Name:        names.SecurityGroup(b.key.UID, b.service()),
		Description: names.SecurityGroupDescription(b.key.ClusterName, b.service()),
		CIDRs:       map[string]string{},
	}
	for id, subnet := range b.shared.Subnets {
		g.CIDRs[id] = subnet.CIDR
	}
	b.addNodes(g, nodes)
	for i, port := range ports {
		nodePort := int(b.in.Ports[i].NodePort)
		switch {
		case nodePort == 0:
		case b.shared.Features.OVN:
			for _, prefix := range b.in.AllowedAt(b.in.Ports[i], b.in.Families[0]) {
				g.Rules = append(g.Rules, newRule(strings.ToLower(port.Transport), nodePort, prefix.String()))
			}
		default:
			g.FromSubnets = append(g.FromSubnets, newRule(strings.ToLower(port.Transport), nodePort, ""))
		}
	}
	if probe := int(b.in.HealthCheck.Port); probe != 0 {
		g.FromSubnets = append(g.FromSubnets, newRule("tcp", probe, ""))
	}
	return g
}

// addNodes adds the ports and servers of nodes to a group, and the subnets from which they are reached.
func (b *builder) addNodes(g *Group, nodes []node) {
	for _, n := range nodes {
		if n.server != "" {
			g.Servers = append(g.Servers, n.server)
		}
		port, subnet := PortOfMember(b.shared.NodePorts[n.server], n.address, n.subnet)
		if port.ID == "" {
			b.warnf("node %s has no port with the address %s, so that its node ports cannot be opened for the load balancer",
				n.name, n.address)
			continue
		}
		if subnet = cmp.Or(n.subnet, subnet); !slices.Contains(g.Subnets, subnet) {
			g.Subnets = append(g.Subnets, subnet)
		}
		if port.PortSecurity == nil || *port.PortSecurity {
			g.Ports = append(g.Ports, port)
		}
	}
	sorting.Func(g.Ports, func(a, b api.Port) int { return cmp.Compare(a.ID, b.ID) })
	g.Ports = slices.CompactFunc(g.Ports, func(a, b api.Port) bool { return a.ID == b.ID })
}

// RulesFrom returns the rules of the group, with those for members that are reached from other subnets than new ones:
// existing members keep their subnet. unknown are the subnets that cannot be read.
func (g Group) RulesFrom(subnets []string) (list []rules.CreateOpts, unknown []string) {
	list = slices.Clone(g.Rules)
	subnets = slices.Concat(g.Subnets, subnets)
	slices.Sort(subnets)
	for _, id := range slices.Compact(subnets) {
		cidr, ok := g.CIDRs[id]
		if !ok {
			unknown = append(unknown, id)
			continue
		}
		for _, r := range g.FromSubnets {
			list = append(list, newRule(string(r.Protocol), r.PortRangeMin, cidr))
		}
	}
	return sortRules(list), unknown
}

// GroupPorts returns the ports of nodes that receive the traffic of members.
func (i Input) GroupPorts(members []api.Member) []api.Port {
	subnets := map[netip.Addr]string{}
	for _, m := range members {
		if address, err := netip.ParseAddr(m.Address); err == nil {
			subnets[address.Unmap()] = m.SubnetID
		}
	}
	b := builder{in: i.Service, serverID: i.ServerID}
	var ports []api.Port
	for _, n := range b.nodesWithAddress(i.Nodes, "") {
		address, err := netip.ParseAddr(n.address)
		subnet, isMember := subnets[address.Unmap()]
		if err != nil || !isMember {
			continue
		}
		port, _ := PortOfMember(i.Shared.NodePorts[n.server], n.address, subnet)
		if port.ID != "" && (port.PortSecurity == nil || *port.PortSecurity) {
			ports = append(ports, port)
		}
	}
	return ports
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
