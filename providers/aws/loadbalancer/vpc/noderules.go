package vpc

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Port is a port at which nodes receive traffic, from these sources in both families.
type Port struct {
	// Protocol is tcp or udp.
	Protocol string
	Port     int32
	Sources  []netip.Prefix
}

// ByCIDR is the traffic of a network load balancer without security groups: packets keep the address of the
// client, and health checks come from the load balancer's subnets.
type ByCIDR struct {
	// LoadBalancer is its name, which is part of the rules' descriptions.
	LoadBalancer string
	// Traffic are the node ports, Sources the allowed clients of any of them, in both families.
	Traffic []Port
	Sources []netip.Prefix
	// Health are the probed TCP ports, Subnets the sources of probes, in both families.
	Health  []int32
	Subnets []netip.Prefix
	// Kept are rules that stay although they are not among these.
	Kept Kept `json:"-"`
}

// Rules returns the rules for each security group of nodes, with the descriptions that identify them.
func (b ByCIDR) Rules() []Rule {
	var rules []Rule
	for _, port := range b.Traffic {
		for _, source := range port.Sources {
			rules = append(rules, Rule{Protocol: port.Protocol, FromPort: port.Port, ToPort: port.Port, CIDR: source,
				Description: names.ClientRule(b.LoadBalancer)})
		}
	}
	for _, source := range b.Sources {
		rules = append(rules, PathMTURule(source, names.MTURule))
	}
	for _, subnet := range b.Subnets {
		if b.opensProbedPorts(subnet.Addr().Is4()) {
			continue // the rules for clients include probes
		}
		for _, port := range b.Health {
			rules = append(rules, Rule{Protocol: ProtocolTCP, FromPort: port, ToPort: port, CIDR: subnet,
				Description: names.HealthRule(b.LoadBalancer)})
		}
	}
	return difference(rules, nil)
}

// opensProbedPorts reports whether all addresses of a family may connect by TCP to the probed ports.
func (b ByCIDR) opensProbedPorts(v4 bool) bool {
	var ports []int32
	for _, port := range b.Traffic {
		sources := slices.DeleteFunc(slices.Clone(port.Sources), func(p netip.Prefix) bool { return p.Addr().Is4() != v4 })
		if port.Protocol != ProtocolTCP || len(sources) != 1 || sources[0].Bits() != 0 {
			return false
		}
		ports = append(ports, port.Port)
	}
	return slices.Equal(sortedSet(ports), sortedSet(b.Health))
}

// GroupRef is a security group that exists (ID), or that the plan creates (Handle).
type GroupRef struct {
	ID     string
	Handle plan.Handle
	// Name is for users.
	Name string
}

// Resolve returns the ID, which is known after the group's creation.
func (r GroupRef) Resolve(ids *plan.Handles) (string, error) {
	if r.ID != "" {
		return r.ID, nil
	}
	return ids.ID(r.Handle)
}

// ManagedGroup is the security group that is created for one load balancer.
type ManagedGroup struct {
	// Name and Description are immutable. The name is deterministic and unique in the VPC.
	Name, Description string
	// Tags are the desired tags, in addition to those of other clients, of package tags.
	Tags map[string]string
	// Rules are exactly the desired ingress rules: others are removed.
	Rules []Rule
	// Kept are rules that stay although they are not among Rules.
	Kept Kept `json:"-"`
	// Handle is the handle of the ID when the group is created.
	Handle plan.Handle
}

// ResolveGroups returns the IDs of groups, which are known after their creation.
func ResolveGroups(refs []GroupRef, ids *plan.Handles) ([]string, error) {
	groupIDs := make([]string, len(refs))
	for i, ref := range refs {
		id, err := ref.Resolve(ids)
		if err != nil {
			return nil, err
		}
		groupIDs[i] = id
	}
	return groupIDs, nil
}

// NodeRules are the rules on the security groups of nodes that belong to one load balancer.
type NodeRules struct {
	// LoadBalancer is its name. Rules with its description on any known group are its own. Of all other rules only those
	// of Created and NotFrom are removed.
	LoadBalancer string
	// Groups are those of the nodes. Empty means that no rule should exist.
	Groups []string
	// Keep are groups without removal of rules, NodeGroups.Unclear.
	Keep []string
	// Rules for each of the Groups: those of ByCIDR.
	Rules []Rule
	// From allows all traffic from one of the load balancer's security groups: one rule for each of the Groups,
	// whatever ports there are. Nil for none.
	From *GroupRef
	// FromDescription describes that rule, which identifies it unless From was created for the load balancer.
	FromDescription string
	// Created are IDs of groups that were created for the load balancer and that no other one uses. Rules that allow all
	// their traffic are the load balancer's own: earlier managers do not describe them.
	Created []string
	// NotFrom are IDs of other groups that no other load balancer uses. Rules that allow all their traffic are the load
	// balancer's own if they are described as such: a group that a load balancer has proves nothing about the rules that
	// refer to it. It may be that of the nodes or of a VPN.
	NotFrom []string
	// Kept are rules that stay although they are not desired.
	Kept Kept
	// RevokeAfter are changes that removals of rules wait for, in addition to the changes that add rules.
	RevokeAfter []plan.Ref
}

// fromRule allows all traffic of a group.
func fromRule(groupID, description string) Rule {
	return Rule{Protocol: ProtocolAll, FromPort: noPort, ToPort: noPort, SourceGroup: groupID, Description: description}
}

// ruleDiff is the change of one group.
type ruleDiff struct {
	group             Group
	authorize, revoke []Rule
	// from is set if the rule of NodeRules.From is missing.
	from bool
	// used is set for a group of nodes that receive traffic, and for the load balancer's own group.
	used bool
	// own is set for the load balancer's own group: a rule for a security group lets clients connect as well.
	own bool
}

// closing returns the removed rules without which a network loses access. Rules on nodes that refer to a security group
// are removed after the load balancer has left the group.
func (d ruleDiff) closing() []Rule {
	if !d.used {
		return nil
	}
	remaining := slices.Concat(difference(d.group.Rules, d.revoke), d.authorize)
	return slices.DeleteFunc(slices.Clone(d.revoke), func(r Rule) bool {
		return !r.CIDR.IsValid() && !d.own || r.Description == names.MTURule ||
			slices.ContainsFunc(remaining, func(rule Rule) bool { return rule.covers(r) })
	})
}

// covers reports whether a rule allows all traffic that another rule for a network allows.
func (r Rule) covers(other Rule) bool {
	coversPorts := r.Protocol == ProtocolAll || r.Protocol == other.Protocol && r.FromPort <= other.FromPort &&
		other.ToPort <= r.ToPort
	return coversPorts && r.CIDR.IsValid() && r.CIDR.Bits() <= other.CIDR.Bits() && r.CIDR.Contains(other.CIDR.Addr())
}

// desired returns the rules for each of the Groups, without that of a source that does not exist yet.
func (n NodeRules) desired() []Rule {
	rules := slices.Clone(n.Rules)
	if n.From != nil && n.From.ID != "" {
		rules = append(rules, fromRule(n.From.ID, n.FromDescription))
	}
	return rules
}

// Satisfied reports whether the groups already have the rules.
func (n NodeRules) Satisfied(have Groups) bool { return len(n.diff(have)) == 0 }

// diff compares the rules with the existing ones of the groups.
func (n NodeRules) diff(have Groups) []ruleDiff {
	var diffs []ruleDiff
	for _, group := range have.All() {
		d := ruleDiff{group: group, used: slices.Contains(n.Groups, group.ID)}
		var desired []Rule
		if d.used {
			desired = n.desired()
			d.from = n.From != nil && n.From.ID == ""
		}
		d.authorize = difference(desired, group.Rules)
		d.revoke = difference(n.ownRules(group), desired)
		d.revoke = difference(d.revoke, n.Kept.rules(group, d.revoke))
		if slices.Contains(n.Keep, group.ID) {
			d.revoke = nil
		}
		d.revoke = append(d.revoke, unusedMTU(group.Rules, d.revoke, desired)...)
		if len(d.authorize)+len(d.revoke) > 0 || d.from {
			diffs = append(diffs, d)
		}
	}
	return diffs
}

// ownRules returns the rules of a group that belong to the load balancer alone.
func (n NodeRules) ownRules(group Group) []Rule {
	var owned []Rule
	for _, r := range group.Rules {
		described := n.LoadBalancer != "" && (r.Description == names.ClientRule(n.LoadBalancer) ||
			r.Description == names.HealthRule(n.LoadBalancer))
		from := group.AllowsLoadBalancer(r) && (slices.Contains(n.Created, r.SourceGroup) ||
			slices.Contains(n.NotFrom, r.SourceGroup) && r.Description != "")
		if described || from {
			owned = append(owned, r)
		}
	}
	return owned
}

// unusedMTU returns the rules for path MTU discovery that no load balancer needs once some rules are revoked:
// all load balancers share them, so it checks the remaining rules of clients for each source.
func unusedMTU(have, revoked, desired []Rule) []Rule {
	leaving := map[netip.Prefix]bool{}
	for _, r := range revoked {
		if r.CIDR.IsValid() && isClientRule(r) {
			leaving[r.CIDR] = true
		}
	}
	if len(leaving) == 0 {
		return nil
	}
	for _, r := range slices.Concat(difference(have, revoked), desired) {
		if isClientRule(r) {
			delete(leaving, r.CIDR)
		}
	}
	var unused []Rule
	for _, r := range have {
		if r.Description == names.MTURule && leaving[r.CIDR] {
			unused = append(unused, r)
		}
	}
	return unused
}

func sortedSet[T cmp.Ordered](items []T) []T {
	return slices.Compact(slices.Sorted(slices.Values(items)))
}
