package vpc

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Protocols of rules as EC2 writes them.
const (
	ProtocolTCP    = "tcp"
	ProtocolUDP    = "udp"
	ProtocolICMP   = "icmp"
	ProtocolICMPv6 = "icmpv6"
	ProtocolAll    = "-1"
)

// ICMP types and codes of "packet too big".
const (
	icmpUnreachable, icmpFragmentationNeeded = 3, 4
	icmpv6PacketTooBig, icmpv6NoCode         = 2, 0
)

// noPort is the port of a rule for a protocol without ports.
const noPort = -1

// Rule is one ingress rule of a security group: one source. Exactly one of CIDR, SourceGroup and PrefixList
// is set. For ICMP the ports are type and code.
type Rule struct {
	// GroupID is the group of the rule. It is empty in desired rules of a group that does not exist yet.
	GroupID          string
	Protocol         string
	FromPort, ToPort int32
	CIDR             netip.Prefix
	// SourceGroup is the ID of a group, SourceAccount its owner, if AWS returns it.
	SourceGroup, SourceAccount string
	PrefixList                 string
	Description                string
}

// ruleKey has the unique fields of a rule in its group. Neither the description nor the owner of the source
// is part of it.
type ruleKey struct {
	protocol                string
	from, to                int32
	cidr                    netip.Prefix
	sourceGroup, prefixList string
}

func (r Rule) key() ruleKey {
	return ruleKey{r.Protocol, r.FromPort, r.ToPort, r.CIDR, r.SourceGroup, r.PrefixList}
}

// PathMTURule returns the rule that allows path MTU discovery from a source.
func PathMTURule(source netip.Prefix, description string) Rule {
	if source.Addr().Is4() {
		return Rule{Protocol: ProtocolICMP, FromPort: icmpUnreachable, ToPort: icmpFragmentationNeeded, CIDR: source,
			Description: description}
	}
	return Rule{Protocol: ProtocolICMPv6, FromPort: icmpv6PacketTooBig, ToPort: icmpv6NoCode, CIDR: source,
		Description: description}
}

func isClientRule(r Rule) bool { return strings.HasPrefix(r.Description, names.ClientRulePrefix) }

// ClientRules returns the rules of a load balancer's own security group: the clients of each port, in these families.
func ClientRules(in intent.Service, families []v1.IPFamily) []Rule {
	var rules []Rule
	for _, port := range in.Ports {
		protocol := Transport(port)
		for _, family := range families {
			for _, source := range in.AllowedAt(port, family) {
				rules = append(rules, Rule{Protocol: protocol, FromPort: port.Port, ToPort: port.Port, CIDR: source},
					PathMTURule(source, ""))
			}
		}
	}
	return difference(rules, nil)
}

// Transport returns the transport of a port as EC2 writes it.
func Transport(port intent.Port) string {
	if port.Protocol == v1.ProtocolUDP {
		return ProtocolUDP
	}
	return ProtocolTCP
}

// CheckRanges checks the source ranges of a Service for which security groups that are never edited decide who may
// connect. It adds a problem about the ranges of a port, and returns a warning about those of the Service, with the
// reason of its Event: earlier managers ignore them too.
func CheckRanges(in intent.Service, group string, problems *intent.Problems) map[string]events.Reason {
	if in.RestrictsPorts() {
		problems.Addf(intent.KeyPortSourceRanges, in.Annotations[intent.KeyPortSourceRanges], "the rules of %s decide who "+
			"may connect, and they are never edited: write the ranges there and remove this annotation, or remove the group",
			group)
	}
	if len(in.SourceRanges) == 0 {
		return nil
	}
	text := fmt.Sprintf("%s has no effect: the rules of %s decide who may connect, and they are never edited; write the "+
		"ranges there and remove them here, or remove the group", in.Sources.FieldOf(intent.KeySourceRanges), group)
	return map[string]events.Reason{text: events.LoadBalancerSourceRangesIgnored}
}

// source returns the source of the rule.
func (r Rule) source() string {
	if r.CIDR.IsValid() {
		return r.CIDR.String()
	}
	return cmp.Or(r.SourceGroup, r.PrefixList)
}

// String formats the rule for users: "tcp 80 from 0.0.0.0/0".
func (r Rule) String() string {
	var ports string
	switch {
	case r.Protocol == ProtocolAll:
		return "all traffic from " + r.source()
	case r.Protocol == ProtocolICMP || r.Protocol == ProtocolICMPv6:
		ports = fmt.Sprintf(" type %d code %d", r.FromPort, r.ToPort)
	case r.FromPort == r.ToPort:
		ports = fmt.Sprintf(" %d", r.FromPort)
	default:
		ports = fmt.Sprintf(" %d-%d", r.FromPort, r.ToPort)
	}
	return r.Protocol + ports + " from " + r.source()
}

// diffRules compares rules of one group by the fields that distinguish them in EC2: protocol, ports and
// source, of IPv4, IPv6, groups and prefix lists alike. It returns the rules to add and to remove, in a
// stable order. A rule that differs only in its description stays.
func diffRules(desired, have []Rule) (authorize, revoke []Rule) {
	return difference(desired, have), difference(have, desired)
}

// difference returns the rules that are not among others, each once, in a stable order.
func difference(rules, others []Rule) []Rule {
	skip := make(map[ruleKey]bool, len(others))
	for _, r := range others {
		skip[r.key()] = true
	}
	var out []Rule
	for _, r := range rules {
		if !skip[r.key()] {
			skip[r.key()] = true
			out = append(out, r)
		}
	}
	sorting.Func(out, compareRules)
	return out
}

// intersection returns the rules that are also among others, in a stable order.
func intersection(rules, others []Rule) []Rule { return difference(rules, difference(rules, others)) }

func compareRules(a, b Rule) int {
	return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.FromPort, b.FromPort),
		cmp.Compare(a.ToPort, b.ToPort), cmp.Compare(a.source(), b.source()))
}

// showRules formats rules for users.
func showRules(rules []Rule) string {
	return strings.Join(ruleTexts(rules), ", ")
}

func ruleTexts(rules []Rule) []string { return api.Convert(rules, Rule.String) }

// permissions converts rules for requests, grouped by protocol and ports.
func permissions(rules []Rule) []ec2types.IpPermission {
	var out []ec2types.IpPermission
	index := map[ruleKey]int{}
	for _, r := range rules {
		ports := ruleKey{protocol: r.Protocol, from: r.FromPort, to: r.ToPort}
		i, ok := index[ports]
		if !ok {
			i = len(out)
			index[ports] = i
			p := ec2types.IpPermission{IpProtocol: aws.String(r.Protocol)}
			if r.Protocol != ProtocolAll {
				p.FromPort, p.ToPort = aws.Int32(r.FromPort), aws.Int32(r.ToPort)
			}
			out = append(out, p)
		}
		addSource(&out[i], r)
	}
	return out
}

func addSource(p *ec2types.IpPermission, r Rule) {
	var description *string
	if r.Description != "" {
		description = aws.String(r.Description)
	}
	switch {
	case r.CIDR.IsValid() && r.CIDR.Addr().Is4():
		p.IpRanges = append(p.IpRanges, ec2types.IpRange{CidrIp: aws.String(r.CIDR.String()), Description: description})
	case r.CIDR.IsValid():
		p.Ipv6Ranges = append(p.Ipv6Ranges, ec2types.Ipv6Range{CidrIpv6: aws.String(r.CIDR.String()),
			Description: description})
	case r.PrefixList != "":
		p.PrefixListIds = append(p.PrefixListIds, ec2types.PrefixListId{PrefixListId: aws.String(r.PrefixList),
			Description: description})
	default:
		pair := ec2types.UserIdGroupPair{GroupId: aws.String(r.SourceGroup), Description: description}
		if r.SourceAccount != "" {
			pair.UserId = aws.String(r.SourceAccount)
		}
		p.UserIdGroupPairs = append(p.UserIdGroupPairs, pair)
	}
}

// toRules parses permissions of a group, one rule for each source.
func toRules(groupID string, permissions []ec2types.IpPermission) ([]Rule, error) {
	var rules []Rule
	for _, p := range permissions {
		base := Rule{GroupID: groupID, Protocol: aws.ToString(p.IpProtocol), FromPort: noPort, ToPort: noPort}
		if p.FromPort != nil {
			base.FromPort = *p.FromPort
		}
		if p.ToPort != nil {
			base.ToPort = *p.ToPort
		}
		add := func(description *string, set func(*Rule)) {
			r := base
			r.Description = aws.ToString(description)
			set(&r)
			rules = append(rules, r)
		}
		for _, x := range p.IpRanges {
			prefix, err := parsePrefix("DescribeSecurityGroups", aws.ToString(x.CidrIp))
			if err != nil {
				return nil, err
			}
			add(x.Description, func(r *Rule) { r.CIDR = prefix })
		}
		for _, x := range p.Ipv6Ranges {
			prefix, err := parsePrefix("DescribeSecurityGroups", aws.ToString(x.CidrIpv6))
			if err != nil {
				return nil, err
			}
			add(x.Description, func(r *Rule) { r.CIDR = prefix })
		}
		for _, x := range p.UserIdGroupPairs {
			add(x.Description, func(r *Rule) {
				r.SourceGroup, r.SourceAccount = aws.ToString(x.GroupId), aws.ToString(x.UserId)
			})
		}
		for _, x := range p.PrefixListIds {
			add(x.Description, func(r *Rule) { r.PrefixList = aws.ToString(x.PrefixListId) })
		}
	}
	return rules, nil
}
