package neutron

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

func (t *Tx) group(id string) (*SecurityGroup, error) {
	return lookup(t, t.Groups, id, func(id string) error {
		return core.Refuse(http.StatusNotFound, "SecurityGroupNotFound", "Security group %s does not exist", id)
	})
}

func (t *Tx) ruleByID(id string) (*securityRule, error) {
	return lookup(t, t.Rules, id, func(id string) error {
		return core.Refuse(http.StatusNotFound, "SecurityGroupRuleNotFound", "Security group rule %s does not exist", id)
	})
}

type groupInput struct {
	Name        *string `json:"name"`
	Description *string `json:"description"`
	Stateful    *bool   `json:"stateful"`
	Project     string  `json:"project_id"`
	Tenant      string  `json:"tenant_id"`
}

func (t *Tx) createGroup() (any, error) {
	in, err := core.Decode[groupInput](t.Base(), "security_group")
	if err != nil {
		return nil, err
	}
	if in.Name != nil && *in.Name == DefaultGroupName {
		return nil, conflict("SecurityGroupDefaultAlreadyExists", "Default security group already exists.")
	}
	if err := checkQuota(t, core.QuotaGroups, t.Groups, 1); err != nil {
		return nil, err
	}
	g := t.newGroup(t.Call.Project(), "")
	core.Assign(g, in)
	return map[string]any{"security_group": g}, nil
}

// DefaultGroupName is the name of the group that every project has.
const DefaultGroupName = "default"

// newGroup creates a group with the two rules that allow all egress.
func (t *Tx) newGroup(project, name string) *SecurityGroup {
	g := &SecurityGroup{Base: t.newBase(project, name), Stateful: true, Rules: []*securityRule{}}
	t.Groups[g.ID] = g
	for _, ether := range []string{"IPv4", "IPv6"} {
		t.addRule(g, &securityRule{Direction: "egress", EtherType: ether})
	}
	return g
}

// DefaultGroup returns a project's group for ports without one. Neutron creates it on first use.
func (t *Tx) DefaultGroup(project string) *SecurityGroup {
	for _, g := range t.Groups {
		if g.Project == project && g.Name == DefaultGroupName {
			return g
		}
	}
	g := t.newGroup(project, DefaultGroupName)
	g.Description = "Default security group"
	for _, ether := range []string{"IPv4", "IPv6"} {
		t.addRule(g, &securityRule{Direction: "ingress", EtherType: ether, RemoteGroup: &g.ID})
	}
	return g
}

func (t *Tx) addRule(g *SecurityGroup, r *securityRule) {
	r.Base, r.Group = t.newBase(g.Project, ""), g.ID
	t.Rules[r.ID] = r
	g.Rules = append(g.Rules, r)
	t.MarkUpdated(&g.Base)
}

func (t *Tx) removeRule(r *securityRule) {
	g := t.Groups[r.Group]
	g.Rules = core.Only(g.Rules, func(other *securityRule) bool { return other != r })
	delete(t.Rules, r.ID)
	t.MarkUpdated(&g.Base)
}

func (t *Tx) deleteGroup(g *SecurityGroup) error {
	if g.Name == DefaultGroupName && !t.Call.Admin() {
		return conflict("SecurityGroupCannotRemoveDefault", "Insufficient rights for removing default security group.")
	}
	for _, p := range t.Ports {
		if slices.Contains(p.Groups, g.ID) {
			return conflict("SecurityGroupInUse", "Security Group %s in use.", g.ID)
		}
	}
	for _, r := range core.BySeq(t.Rules) {
		if r.Group == g.ID || core.Deref(r.RemoteGroup) == g.ID {
			t.removeRule(r)
		}
	}
	delete(t.Groups, g.ID)
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

// createRules creates one rule, or all of a list or none.
func (t *Tx) createRules() (any, error) {
	bulk := bytes.Contains(t.Call.Body, []byte(`"security_group_rules"`))
	var list []ruleInput
	var err error
	if bulk {
		list, err = core.Decode[[]ruleInput](t.Base(), "security_group_rules")
	} else {
		list = make([]ruleInput, 1)
		list[0], err = core.Decode[ruleInput](t.Base(), "security_group_rule")
	}
	if err != nil {
		return nil, err
	}
	if err := checkQuota(t, core.QuotaRules, t.Rules, len(list)); err != nil {
		return nil, err
	}
	rules := make([]*securityRule, 0, len(list))
	for _, in := range list {
		r, err := t.newRule(in)
		if err != nil {
			return nil, err
		}
		for _, other := range slices.Concat(t.Groups[in.Group].Rules, rules) {
			if r.equals(other) {
				return nil, conflict("SecurityGroupRuleExists", "Security group rule already exists. Rule id is %s.", other.ID)
			}
		}
		rules = append(rules, r)
	}
	for _, r := range rules {
		description := r.Description
		t.addRule(t.Groups[r.Group], r)
		r.Description = description
	}
	if bulk {
		return map[string]any{"security_group_rules": rules}, nil
	}
	return map[string]any{"security_group_rule": rules[0]}, nil
}

func (r *securityRule) equals(other *securityRule) bool {
	return r.Group == other.Group && r.Direction == other.Direction && r.EtherType == other.EtherType &&
		equal(r.Protocol, other.Protocol) && equal(r.PortMin, other.PortMin) && equal(r.PortMax, other.PortMax) &&
		equal(r.RemoteIP, other.RemoteIP) && equal(r.RemoteGroup, other.RemoteGroup)
}

func equal[T comparable](a, b *T) bool {
	return a == nil && b == nil || a != nil && b != nil && *a == *b
}

// newRule validates a requested rule and returns it.
func (t *Tx) newRule(in ruleInput) (*securityRule, error) {
	if _, err := t.group(in.Group); err != nil {
		return nil, err
	}
	r := &securityRule{Group: in.Group, Direction: in.Direction, EtherType: cmp.Or(in.EtherType, "IPv4"),
		Protocol: parseProtocol(in.Protocol), PortMin: in.PortMin, PortMax: in.PortMax, RemoteGroup: in.RemoteGroup}
	r.Description = in.Description
	if !slices.Contains([]string{"ingress", "egress"}, in.Direction) {
		return nil, badRequest("HTTPBadRequest", "Invalid input for direction. Reason: %s is not in valid_values.",
			in.Direction)
	}
	if !slices.Contains([]string{"IPv4", "IPv6"}, r.EtherType) {
		return nil, badRequest("SecurityGroupRuleInvalidEtherType",
			"Security group rule for ethertype '%s' not supported. Allowed values are ['IPv4', 'IPv6'].", r.EtherType)
	}
	if err := r.checkPorts(); err != nil {
		return nil, err
	}
	if in.RemoteIP != nil && *in.RemoteIP != "" {
		p, err := netip.ParsePrefix(*in.RemoteIP)
		if ip, ipErr := netip.ParseAddr(*in.RemoteIP); ipErr == nil {
			p, err = netip.PrefixFrom(ip, ip.BitLen()), nil
		}
		if err != nil {
			return nil, badRequest("HTTPBadRequest",
				"Invalid input for remote_ip_prefix. Reason: '%s' is not a valid IP subnet.", *in.RemoteIP)
		}
		if p.Addr().Is4() != (r.EtherType == "IPv4") {
			return nil, badRequest("SecurityGroupRuleParameterConflict", "Conflicting value ethertype %s for CIDR %s",
				r.EtherType, *in.RemoteIP)
		}
		r.RemoteIP, r.Normalized = new(p.String()), new(p.Masked().String())
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

// parseProtocol returns the protocol of a request, a number as text too; nil for an empty value, null or "any".
func parseProtocol(raw json.RawMessage) *string {
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

// Opens reports whether a rule allows a network on a port.
func (r *securityRule) Opens(protocol string, port int) bool {
	return r.Direction == "ingress" && r.RemoteIP != nil && strings.EqualFold(core.Deref(r.Protocol), protocol) &&
		r.PortMin != nil && *r.PortMin <= port && port <= *r.PortMax
}
