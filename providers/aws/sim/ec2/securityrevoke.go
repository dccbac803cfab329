package ec2

import (
	"slices"
	"strconv"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type revokeOutput struct {
	core.Done
	Unknown query.Items[permissionView] `xml:"unknownIpPermissionSet"`
	Revoked query.Items[ruleView]       `xml:"revokedSecurityGroupRuleSet"`
}

// revokeRules removes all rules of a request or none; in a VPC a missing rule is an error.
func (t *Tx) revokeRules(in rulesInput, egress bool) (out revokeOutput, err error) {
	g, err := t.findGroup(in.GroupID, in.GroupName)
	if err != nil {
		return out, err
	}
	list := g.rules(egress)
	revoked, err := t.findRules(*list, in)
	if err != nil {
		return out, err
	}
	for _, r := range revoked {
		v := t.viewRule(g, r, egress)
		v.Reference, v.ReferenceID = nil, r.Group
		out.Revoked.Item = append(out.Revoked.Item, v)
		t.RemoveRecords(r.id)
	}
	*list = slices.DeleteFunc(*list, func(r *Rule) bool { return slices.Contains(revoked, r) })
	out.Return = true
	return out, nil
}

func (t *Tx) findRules(rules []*Rule, in rulesInput) (revoked []*Rule, err error) {
	for _, id := range in.SecurityGroupRuleID {
		if err := ruleKind.Check(id); err != nil {
			return nil, err
		}
		i := slices.IndexFunc(rules, func(r *Rule) bool { return r.id == id })
		if i < 0 {
			return nil, ruleKind.NotFound(id)
		}
		revoked = append(revoked, rules[i])
	}
	if len(in.SecurityGroupRuleID) > 0 && len(in.IPPermissions) == 0 {
		return revoked, nil
	}
	wanted, err := t.parseRules(in)
	if err != nil {
		return nil, err
	}
	for _, want := range wanted {
		i := slices.IndexFunc(rules, func(r *Rule) bool { return r.key() == want.key() })
		if i < 0 {
			return nil, core.Refuse("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
		}
		revoked = append(revoked, rules[i])
	}
	return revoked, nil
}

// permissionView has the rules that share protocol and ports, as DescribeSecurityGroups shows them.
type permissionView struct {
	Protocol    string                    `xml:"ipProtocol" filter:"protocol"`
	From        *int32                    `xml:"fromPort" filter:"from-port"`
	To          *int32                    `xml:"toPort" filter:"to-port"`
	Groups      query.Items[groupPair]    `xml:"groups" filter:""`
	Ranges      query.Items[addressRange] `xml:"ipRanges" filter:""`
	Ranges6     query.Items[addressRange] `xml:"ipv6Ranges" filter:""`
	PrefixLists query.Items[addressRange] `xml:"prefixListIds" filter:""`
}

// viewPermissions groups rules by protocol and ports. Rules for all traffic show no ports.
func (t *Tx) viewPermissions(rules []*Rule) query.Items[permissionView] {
	var out []permissionView
	index := map[string]int{}
	for _, r := range rules {
		key := r.protocol + " " + strconv.Itoa(int(r.from)) + " " + strconv.Itoa(int(r.to))
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			v := permissionView{Protocol: r.protocol}
			if r.protocol != allProtocols {
				from, to := r.from, r.to
				v.From, v.To = &from, &to
			}
			out = append(out, v)
		}
		v := &out[i]
		switch {
		case r.CIDR4 != "":
			v.Ranges.Item = append(v.Ranges.Item, addressRange{CidrIP: r.CIDR4, Description: r.Description})
		case r.CIDR6 != "":
			v.Ranges6.Item = append(v.Ranges6.Item, addressRange{CidrIPv6: r.CIDR6, Description: r.Description})
		case r.Group != "":
			v.Groups.Item = append(v.Groups.Item, groupPair{
				UserID: t.Options.Account, GroupID: r.Group, GroupName: t.groupName(r.Group), Description: r.Description,
			})
		default:
			v.PrefixLists.Item = append(v.PrefixLists.Item, addressRange{PrefixListID: r.prefixList, Description: r.Description})
		}
	}
	return query.ItemsOf(out)
}

func (t *Tx) rules() core.Description[ruleView, ruleView] {
	all := map[string]ruleView{}
	for _, g := range t.Groups {
		if !t.Visible(g.ID) {
			continue
		}
		for _, r := range g.Ingress {
			all[r.id] = t.viewRule(g, r, false)
		}
		for _, r := range g.Egress {
			all[r.id] = t.viewRule(g, r, true)
		}
	}
	return core.Description[ruleView, ruleView]{Kind: ruleKind, All: all, View: func(v ruleView) ruleView { return v }}
}
