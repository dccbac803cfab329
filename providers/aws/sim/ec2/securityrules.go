package ec2

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// groupText matches the characters that EC2 allows in names and descriptions of security groups in a VPC.
var groupText = regexp.MustCompile(`^[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]*$`)

const maxGroupText = 255

// Covers reports whether a rule includes a protocol, tcp or udp, and a port.
func (r *Rule) Covers(protocol string, port int32) bool {
	return r.protocol == allProtocols || r.protocol == protocol && r.from <= port && port <= r.to
}

// allProtocols is the protocol of a rule for all traffic, which has no ports.
const allProtocols = "-1"

// key returns the unique fields of a rule in its group; the description is not part of it.
func (r *Rule) key() string {
	return strings.Join([]string{r.protocol, strconv.Itoa(int(r.from)), strconv.Itoa(int(r.to)), r.peer()}, " ")
}

func (r *Rule) peer() string { return cmp.Or(r.CIDR4, r.CIDR6, r.Group, r.prefixList) }

// permission has the rules that share protocol and ports, as requests send them.
type permission struct {
	IPProtocol    string `q:"IpProtocol"`
	FromPort      *int32
	ToPort        *int32
	Groups        []groupPair
	IPRanges      []addressRange `q:"IpRanges"`
	IPv6Ranges    []addressRange `q:"Ipv6Ranges"`
	PrefixListIDs []addressRange `q:"PrefixListIds"`
}

// groupPair is a security group as the source or destination of a permission.
type groupPair struct {
	UserID                 string `q:"UserId" xml:"userId" filter:"user-id"`
	GroupID                string `q:"GroupId" xml:"groupId" filter:"group-id"`
	GroupName              string `xml:"-" filter:"group-name"`
	VpcID                  string `q:"VpcId" xml:"vpcId,omitempty"`
	VpcPeeringConnectionID string `q:"VpcPeeringConnectionId" xml:"vpcPeeringConnectionId,omitempty"`
	PeeringStatus          string `xml:"peeringStatus,omitempty"`
	Description            string `xml:"description,omitempty"`
}

// addressRange is a network or a prefix list as the source or destination of a permission.
type addressRange struct {
	CidrIP       string `q:"CidrIp" xml:"cidrIp,omitempty" filter:"cidr"`
	CidrIPv6     string `q:"CidrIpv6" xml:"cidrIpv6,omitempty" filter:"ipv6-cidr"`
	PrefixListID string `q:"PrefixListId" xml:"prefixListId,omitempty" filter:"prefix-list-id"`
	Description  string `xml:"description,omitempty"`
}

// rulesInput is the request of Authorize and Revoke. The fields from CidrIP on are an older form of one rule.
type rulesInput struct {
	GroupID                    string `q:"GroupId"`
	GroupName                  string
	IPPermissions              []permission `q:"IpPermissions"`
	SecurityGroupRuleID        []string     `q:"SecurityGroupRuleId"`
	TagSpecification           []tagSpecification
	CidrIP                     string `q:"CidrIp"`
	IPProtocol                 string `q:"IpProtocol"`
	FromPort, ToPort           *int32
	SourceSecurityGroupName    string
	SourceSecurityGroupOwnerID string `q:"SourceSecurityGroupOwnerId"`
}

// protocolNames are the names that EC2 returns for other names and numbers of protocols in requests.
var protocolNames = map[string]string{"6": "tcp", "17": "udp", "1": "icmp", "58": "icmpv6", "all": allProtocols}

// parseRules parses the rules of a request.
func (t *Tx) parseRules(in rulesInput) ([]*Rule, error) {
	permissions := in.IPPermissions
	if in.IPProtocol != "" {
		p := permission{IPProtocol: in.IPProtocol, FromPort: in.FromPort, ToPort: in.ToPort}
		if in.CidrIP != "" {
			p.IPRanges = []addressRange{{CidrIP: in.CidrIP}}
		}
		if in.SourceSecurityGroupName != "" {
			p.Groups = []groupPair{{GroupName: in.SourceSecurityGroupName}}
		}
		permissions = append(permissions, p)
	}
	if len(permissions) == 0 {
		return nil, core.MissingParameter("ipPermissions")
	}
	var out []*Rule
	for _, p := range permissions {
		rules, err := t.parsePermission(p)
		if err != nil {
			return nil, err
		}
		out = append(out, rules...)
	}
	return out, nil
}

func (t *Tx) parsePermission(p permission) ([]*Rule, error) {
	base, err := parsePorts(p)
	if err != nil {
		return nil, err
	}
	var out []*Rule
	add := func(description string, set func(*Rule)) {
		r := base
		r.Description = description
		set(&r)
		out = append(out, &r)
	}
	for _, v := range p.IPRanges {
		c, err := canonicalCIDR(v.CidrIP, true)
		if err != nil {
			return nil, err
		}
		add(v.Description, func(r *Rule) { r.CIDR4 = c })
	}
	for _, v := range p.IPv6Ranges {
		c, err := canonicalCIDR(v.CidrIPv6, false)
		if err != nil {
			return nil, err
		}
		add(v.Description, func(r *Rule) { r.CIDR6 = c })
	}
	for _, v := range p.PrefixListIDs {
		add(v.Description, func(r *Rule) { r.prefixList = v.PrefixListID })
	}
	for _, v := range p.Groups {
		g, err := t.findGroup(v.GroupID, v.GroupName)
		if err != nil {
			return nil, err
		}
		add(v.Description, func(r *Rule) { r.Group = g.ID })
	}
	if len(out) == 0 {
		return nil, core.Refuse("MissingParameter", "Missing source specification: include source security group or CIDR "+
			"information")
	}
	for _, r := range out {
		if len(r.Description) > maxGroupText || !groupText.MatchString(r.Description) {
			return nil, core.InvalidValue(
				"Invalid rule description. Valid descriptions are strings less than 256 characters from " +
					"the following set:  a-zA-Z0-9. _-:/()#,@[]+=&;{}!$*")
		}
	}
	return out, nil
}

// parsePorts parses protocol and ports, which for ICMP are type and code.
func parsePorts(p permission) (Rule, error) { //nolint:cyclop // a list of independent checks, read from top to bottom
	protocol := strings.ToLower(p.IPProtocol)
	protocol = cmp.Or(protocolNames[protocol], protocol)
	r := Rule{protocol: protocol, from: -1, to: -1}
	switch protocol {
	case "tcp", "udp":
		if p.FromPort == nil || p.ToPort == nil {
			return r, core.InvalidValue("Invalid value 'Must specify both from and to ports with TCP/UDP.' for portRange.")
		}
		r.from, r.to = *p.FromPort, *p.ToPort
		if r.from == -1 && r.to == -1 {
			r.from, r.to = 0, 65535
		}
		if r.from < 0 || r.to > 65535 || r.from > r.to {
			return r, core.InvalidValue(
				"Invalid value '%d-%d' for portRange. Must be between 0 and 65535, and from must not be "+
					"above to.", r.from, r.to)
		}
	case "icmp", "icmpv6":
		if p.FromPort != nil {
			r.from = *p.FromPort
		}
		if p.ToPort != nil {
			r.to = *p.ToPort
		}
	case allProtocols:
	default:
		if n, err := strconv.Atoi(protocol); err != nil || n < 0 || n > 255 {
			return r, core.InvalidValue("Invalid value '%s' for IP protocol. Unknown protocol.", p.IPProtocol)
		}
	}
	return r, nil
}

// canonicalCIDR clears the host bits, as EC2 does.
func canonicalCIDR(text string, v4 bool) (string, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil || p.Addr().Is4() != v4 {
		return "", core.InvalidValue("CIDR block %s is malformed", text)
	}
	return p.Masked().String(), nil
}

type ruleView struct {
	ID          string     `xml:"securityGroupRuleId" filter:"security-group-rule-id"`
	ARN         string     `xml:"securityGroupRuleArn"`
	Group       string     `xml:"groupId" filter:"group-id"`
	Owner       string     `xml:"groupOwnerId"`
	Egress      bool       `xml:"isEgress"`
	Protocol    string     `xml:"ipProtocol"`
	From        int32      `xml:"fromPort"`
	To          int32      `xml:"toPort"`
	CIDR4       string     `xml:"cidrIpv4,omitempty"`
	CIDR6       string     `xml:"cidrIpv6,omitempty"`
	PrefixList  string     `xml:"prefixListId,omitempty"`
	Reference   *reference `xml:"referencedGroupInfo"`
	Description string     `xml:"description,omitempty"`
	// ReferenceID has the group in the response of Revoke.
	ReferenceID string           `xml:"referencedGroupId,omitempty"`
	Tags        query.Items[tag] `xml:"tagSet"`
}

type reference struct {
	Group string `xml:"groupId"`
	User  string `xml:"userId"`
}

func (t *Tx) viewRule(g *SecurityGroup, r *Rule, egress bool) ruleView {
	v := ruleView{
		ID: r.id, ARN: t.ARN("ec2", "security-group-rule/"+r.id), Group: g.ID, Owner: t.Options.Account, Egress: egress,
		Protocol: r.protocol, From: r.from, To: r.to, CIDR4: r.CIDR4, CIDR6: r.CIDR6, PrefixList: r.prefixList,
		Description: r.Description, Tags: t.tagSet(r.id),
	}
	if r.Group != "" {
		v.Reference = &reference{r.Group, t.Options.Account}
	}
	return v
}

type authorizeOutput struct {
	core.Done
	Rules query.Items[ruleView] `xml:"securityGroupRuleSet"`
}

// authorizeRules adds all rules of a request or none.
func (t *Tx) authorizeRules(in rulesInput, egress bool) (out authorizeOutput, err error) {
	g, err := t.findGroup(in.GroupID, in.GroupName)
	if err != nil {
		return out, err
	}
	rules, err := t.parseRules(in)
	if err != nil {
		return out, err
	}
	tags, err := parseTags("security-group-rule", in.TagSpecification)
	if err != nil {
		return out, err
	}
	list := g.rules(egress)
	if err := t.checkNewRules(*list, rules); err != nil {
		return out, err
	}
	for _, r := range rules {
		r.id = t.NewID("sgr")
		*list = append(*list, r)
		t.SetTags(r.id, tags)
		out.Rules.Item = append(out.Rules.Item, t.viewRule(g, r, egress))
	}
	out.Return = true
	return out, nil
}

// findGroup returns the group that a request names, by ID or, in a default VPC, by name.
func (t *Tx) findGroup(id, name string) (*SecurityGroup, error) {
	if id == "" && name == "" {
		return nil, core.MissingParameter("groupName or groupId")
	}
	if id != "" {
		return core.Find(groupKind, t.Groups, id)
	}
	if g := t.GroupByName(name, t.defaultVPC()); g != nil {
		return g, nil
	}
	return nil, core.Refuse("InvalidGroup.NotFound", "The security group '%s' does not exist in default VPC '%s'", name,
		t.defaultVPC())
}

func (t *Tx) checkNewRules(existing, rules []*Rule) error {
	exists := map[string]bool{}
	for _, r := range existing {
		exists[r.key()] = true
	}
	seen := map[string]bool{}
	for _, r := range rules {
		if seen[r.key()] {
			return core.InvalidValue("The same permission must not appear multiple times")
		}
		seen[r.key()] = true
		if exists[r.key()] {
			return core.Refuse("InvalidPermission.Duplicate", `the specified rule "peer: %s, %s, ALLOW" already exists`,
				r.peer(), r.portsText())
		}
	}
	// The quota counts IPv4 and IPv6 rules separately; rules that refer to a group count for both.
	limit := t.Options.Quotas[core.QuotaRulesPerGroup]
	for _, inFamily := range []func(*Rule) bool{
		func(r *Rule) bool { return r.CIDR6 == "" }, func(r *Rule) bool { return r.CIDR4 == "" },
	} {
		if added := countRules(rules, inFamily); added > 0 && countRules(existing, inFamily)+added > limit {
			return core.Refuse("RulesPerSecurityGroupLimitExceeded",
				"The maximum number of rules per security group has been reached.")
		}
	}
	return nil
}

func countRules(rules []*Rule, counts func(*Rule) bool) (n int) {
	for _, r := range rules {
		if counts(r) {
			n++
		}
	}
	return n
}

// portsText returns the ports as EC2 formats a rule in errors.
func (r *Rule) portsText() string {
	switch r.protocol {
	case allProtocols:
		return "ALL"
	case "tcp", "udp":
		return fmt.Sprintf("%s, from port: %d, to port: %d", strings.ToUpper(r.protocol), r.from, r.to)
	}
	return fmt.Sprintf("%s, type: %d, code: %d", strings.ToUpper(r.protocol), r.from, r.to)
}

func (g *SecurityGroup) rules(egress bool) *[]*Rule {
	if egress {
		return &g.Egress
	}
	return &g.Ingress
}
