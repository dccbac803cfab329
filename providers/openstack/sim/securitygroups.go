package sim

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
)

type securityGroup struct {
	neutronObject
	Stateful bool            `json:"stateful"`
	Shared   bool            `json:"shared"`
	Rules    []*securityRule `json:"security_group_rules"`
}

type securityRule struct {
	neutronObject
	Group        string  `json:"security_group_id"`
	Direction    string  `json:"direction"`
	EtherType    string  `json:"ethertype"`
	Protocol     *string `json:"protocol"`
	PortMin      *int    `json:"port_range_min"`
	PortMax      *int    `json:"port_range_max"`
	RemoteIP     *string `json:"remote_ip_prefix"`
	RemoteGroup  *string `json:"remote_group_id"`
	AddressGroup *string `json:"remote_address_group_id"`
	Normalized   *string `json:"normalized_cidr"`
}

func securityGroupOperations() []operation {
	groups := neutronResource("SecurityGroup", "security_group", "security-groups",
		func(t *tx) map[string]*securityGroup { return t.groups }, (*tx).group)
	rules := neutronResource("SecurityGroupRule", "security_group_rule", "security-group-rules",
		func(t *tx) map[string]*securityRule { return t.rules }, (*tx).ruleByID)
	return append(groups.operations(
		create("CreateSecurityGroup", groups.path, (*tx).createGroup),
		change("UpdateSecurityGroup", groups.path+"/{id}", (*tx).updateGroup),
		remove("DeleteSecurityGroup", groups.path+"/{id}", (*tx).deleteGroup),
	), rules.operations(
		create("CreateSecurityGroupRule", rules.path, (*tx).createRules),
		remove("DeleteSecurityGroupRule", rules.path+"/{id}", func(t *tx) error {
			r, err := rules.get(t)
			if err == nil {
				t.removeRule(r)
			}
			return err
		}),
	)...)
}

func (t *tx) group(id string) (*securityGroup, error) {
	return lookup(t, t.groups, id, func(id string) error {
		return refuse(http.StatusNotFound, "SecurityGroupNotFound", "Security group %s does not exist", id)
	})
}

func (t *tx) ruleByID(id string) (*securityRule, error) {
	return lookup(t, t.rules, id, func(id string) error {
		return refuse(http.StatusNotFound, "SecurityGroupRuleNotFound", "Security group rule %s does not exist", id)
	})
}

type groupInput struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
	Stateful    *bool   `json:"stateful"`
	Project     string  `json:"project_id"`
	Tenant      string  `json:"tenant_id"`
}

func (t *tx) createGroup() (any, error) {
	in, err := decode[groupInput](t, "security_group")
	if err != nil {
		return nil, err
	}
	if in.Name != nil && *in.Name == defaultGroupName {
		return nil, conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
	}
	used := len(only(bySeq(t.groups), func(g *securityGroup) bool { return g.Project == t.call.project() }))
	if err := t.overQuota(QuotaGroups, used, 1); err != nil {
		return nil, err
	}
	g := t.newGroup(t.call.project(), "")
	set(&g.Name, in.Name)
	set(&g.Description, in.Description)
	set(&g.Stateful, in.Stateful)
	return map[string]any{"security_group": g}, nil
}

// defaultGroupName is the name of the group that every project has.
const defaultGroupName = "default"

// newGroup makes a group with the two rules that let everything out.
func (t *tx) newGroup(project, name string) *securityGroup {
	g := &securityGroup{neutronObject: t.newNeutron(project, name), Stateful: true, Rules: []*securityRule{}}
	t.groups[g.ID] = g
	for _, ether := range []string{"IPv4", "IPv6"} {
		t.addRule(g, &securityRule{Direction: "egress", EtherType: ether})
	}
	return g
}

// defaultGroup returns a project's group for ports that name none. Neutron makes it when it is first needed.
func (t *tx) defaultGroup(project string) *securityGroup {
	for _, g := range t.groups {
		if g.Project == project && g.Name == defaultGroupName {
			return g
		}
	}
	g := t.newGroup(project, defaultGroupName)
	g.Description = "Default security group"
	for _, ether := range []string{"IPv4", "IPv6"} {
		t.addRule(g, &securityRule{Direction: "ingress", EtherType: ether, RemoteGroup: &g.ID})
	}
	return g
}

func (t *tx) addRule(g *securityGroup, r *securityRule) {
	r.neutronObject, r.Group = t.newNeutron(g.Project, ""), g.ID
	t.rules[r.ID] = r
	g.Rules = append(g.Rules, r)
	t.markUpdated(&g.neutronObject)
}

func (t *tx) removeRule(r *securityRule) {
	g := t.groups[r.Group]
	g.Rules = only(g.Rules, func(x *securityRule) bool { return x != r })
	delete(t.rules, r.ID)
	t.markUpdated(&g.neutronObject)
}

func (t *tx) updateGroup() (any, error) {
	g, err := t.group(t.call.params["id"])
	if err != nil {
		return nil, err
	}
	in, err := decode[groupInput](t, "security_group")
	if err != nil {
		return nil, err
	}
	if err := t.ifMatch(&g.neutronObject); err != nil {
		return nil, err
	}
	set(&g.Name, in.Name)
	set(&g.Description, in.Description)
	t.markUpdated(&g.neutronObject)
	return map[string]any{"security_group": g}, nil
}

func (t *tx) deleteGroup() error {
	g, err := t.group(t.call.params["id"])
	if err != nil {
		return err
	}
	if err := t.ifMatch(&g.neutronObject); err != nil {
		return err
	}
	if g.Name == defaultGroupName && !t.call.admin() {
		return conflict("SecurityGroupCannotRemoveDefault", "Insufficient rights for removing default security group.")
	}
	for _, p := range t.ports {
		if contains(p.Groups, g.ID) {
			return conflict("SecurityGroupInUse", "Security Group %s in use.", g.ID)
		}
	}
	for _, r := range bySeq(t.rules) {
		if r.Group == g.ID || r.RemoteGroup != nil && *r.RemoteGroup == g.ID {
			t.removeRule(r)
		}
	}
	delete(t.groups, g.ID)
	return nil
}

type ruleInput struct {
	Group       string          `json:"security_group_id"`
	Direction   string          `json:"direction"`
	EtherType   string          `json:"ethertype"`
	Protocol    json.RawMessage `json:"protocol"`
	PortMin     *int            `json:"port_range_min"`
	PortMax     *int            `json:"port_range_max"`
	RemoteIP    *string         `json:"remote_ip_prefix"`
	RemoteGroup *string         `json:"remote_group_id"`
	Description string          `json:"description"`
	Project     string          `json:"project_id"`
	Tenant      string          `json:"tenant_id"`
}

// createRules makes one rule, or all of a list or none.
func (t *tx) createRules() (any, error) {
	bulk := bytes.Contains(t.call.body, []byte(`"security_group_rules"`))
	var list []ruleInput
	var err error
	if bulk {
		list, err = decode[[]ruleInput](t, "security_group_rules")
	} else {
		list = make([]ruleInput, 1)
		list[0], err = decode[ruleInput](t, "security_group_rule")
	}
	if err != nil {
		return nil, err
	}
	used := len(only(bySeq(t.rules), func(r *securityRule) bool { return r.Project == t.call.project() }))
	if err := t.overQuota(QuotaRules, used, len(list)); err != nil {
		return nil, err
	}
	made := make([]*securityRule, 0, len(list))
	for _, in := range list {
		r, err := t.rule(in)
		if err != nil {
			return nil, err
		}
		for _, other := range append(slices.Clone(t.groups[in.Group].Rules), made...) {
			if same(other, r) && (other.Group == in.Group) {
				return nil, conflict("SecurityGroupRuleExists", "Security group rule already exists. Rule id is %s.", other.ID)
			}
		}
		r.Group = in.Group
		made = append(made, r)
	}
	for _, r := range made {
		description := r.Description
		t.addRule(t.groups[r.Group], r)
		r.Description = description
	}
	if bulk {
		return map[string]any{"security_group_rules": made}, nil
	}
	return map[string]any{"security_group_rule": made[0]}, nil
}

func same(a, b *securityRule) bool {
	return a.Direction == b.Direction && a.EtherType == b.EtherType && equal(a.Protocol, b.Protocol) &&
		equal(a.PortMin, b.PortMin) &&
		equal(a.PortMax, b.PortMax) && equal(a.RemoteIP, b.RemoteIP) && equal(a.RemoteGroup, b.RemoteGroup)
}

func equal[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// rule validates a requested rule.
func (t *tx) rule(in ruleInput) (*securityRule, error) {
	if _, err := t.group(in.Group); err != nil {
		return nil, err
	}
	r := &securityRule{Direction: in.Direction, EtherType: cmp.Or(in.EtherType, "IPv4"), PortMin: in.PortMin,
		PortMax: in.PortMax, RemoteGroup: in.RemoteGroup}
	r.Description = in.Description
	if !contains([]string{"ingress", "egress"}, in.Direction) {
		return nil, badRequest("HTTPBadRequest", "Invalid input for direction. Reason: %s is not in valid_values.",
			in.Direction)
	}
	if !contains([]string{"IPv4", "IPv6"}, r.EtherType) {
		return nil, badRequest("SecurityGroupRuleInvalidEtherType",
			"Security group rule for ethertype '%s' not supported. Allowed values are ['IPv4', 'IPv6'].", r.EtherType)
	}
	r.Protocol = protocolOf(in.Protocol)
	if err := r.checkPorts(); err != nil {
		return nil, err
	}
	if in.RemoteIP != nil && *in.RemoteIP != "" {
		p, err := netip.ParsePrefix(*in.RemoteIP)
		if addr, bad := netip.ParseAddr(*in.RemoteIP); err != nil && bad == nil {
			p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, badRequest("HTTPBadRequest",
				"Invalid input for remote_ip_prefix. Reason: '%s' is not a valid IP subnet.", *in.RemoteIP)
		}
		if p.Addr().Is4() != (r.EtherType == "IPv4") {
			return nil, badRequest("SecurityGroupRuleParameterConflict", "Conflicting value ethertype %s for CIDR %s",
				r.EtherType, *in.RemoteIP)
		}
		text, normalized := p.String(), p.Masked().String()
		r.RemoteIP, r.Normalized = &text, &normalized
	}
	if in.RemoteGroup != nil {
		if r.RemoteIP != nil {
			return nil, badRequest("SecurityGroupMultipleRemoteEntites",
				"Only remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.")
		}
		if _, err := t.group(*in.RemoteGroup); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// protocolOf returns a protocol's name; a number is written as text, and what is empty or null is any protocol.
func protocolOf(raw json.RawMessage) *string {
	text := string(bytes.Trim(raw, `"`))
	if text == "" || text == "null" || text == "any" {
		return nil
	}
	return &text
}

func (r *securityRule) checkPorts() error {
	if r.PortMin == nil && r.PortMax == nil {
		return nil
	}
	switch {
	case r.Protocol == nil:
		return badRequest("SecurityGroupProtocolRequiredWithPorts", "Must also specify protocol if port range is given.")
	case r.PortMin == nil || r.PortMax == nil, *r.PortMin > *r.PortMax:
		return badRequest("SecurityGroupInvalidPortRange", "For TCP/UDP protocols, port_range_min must be <= port_range_max")
	case *r.PortMin < 1 && *r.Protocol != "icmp", *r.PortMax > 65535:
		return badRequest("SecurityGroupInvalidPortValue", "Invalid value for port %d", *r.PortMin)
	}
	return nil
}
