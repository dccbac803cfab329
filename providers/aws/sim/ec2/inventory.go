package ec2

import (
	"strconv"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// Inventory returns the instances that are not terminated, security groups and their rules, routes and addresses.
func (t *Tx) Inventory() []world.Object {
	var out []world.Object
	for id, i := range t.Instances {
		if t.StateOf(i) != StateTerminated {
			out = append(out, world.NewObject("instance", i.NodeName, id, t.viewInstance(i)))
		}
	}
	for id, g := range t.Groups {
		out = append(out, world.NewObject("security group", g.Name, id, map[string]string{
			"groupName": g.Name, "groupDescription": g.description, "vpcId": g.VPC,
		}, map[string]any{"tags": t.Tags[id]}))
		for _, rule := range g.Ingress {
			out = append(out, rule.object(g, "ingress"))
		}
		for _, rule := range g.Egress {
			out = append(out, rule.object(g, "egress"))
		}
	}
	for id, table := range t.Tables {
		for _, r := range table.Routes {
			out = append(out, world.NewObject("route", r.Destination.String(), id+"/"+r.Destination.String(),
				map[string]string{"destinationCidrBlock": r.Destination.String(), "networkInterfaceId": r.Iface,
					"gatewayId": r.Gateway, "origin": r.Origin}))
		}
	}
	for id, a := range t.Addresses {
		out = append(out, world.NewObject("address", a.IP.String(), id, t.viewAddress(a)))
	}
	return out
}

func (r *Rule) object(g *SecurityGroup, direction string) world.Object {
	return world.NewObject("security group rule", g.Name+" "+direction, r.id, map[string]string{
		"groupId": g.ID, "ipProtocol": r.protocol, "fromPort": strconv.Itoa(int(r.from)), "toPort": strconv.Itoa(int(r.to)),
		"cidrIpv4": r.CIDR4, "cidrIpv6": r.CIDR6, "referencedGroupId": r.Group, "prefixListId": r.prefixList,
		"description": r.Description,
	})
}
