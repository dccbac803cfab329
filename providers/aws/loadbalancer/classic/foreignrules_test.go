package classic

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// allow adds a rule to a group by hand: all traffic from another group.
func (r *rig) allow(group, from, description string) {
	r.t.Helper()
	pair := ec2types.UserIdGroupPair{GroupId: &from}
	if description != "" {
		pair.Description = &description
	}
	r.authorize(group, ec2types.IpPermission{IpProtocol: aws.String("-1"), UserIdGroupPairs: []ec2types.UserIdGroupPair{pair}})
}

func (r *rig) authorize(group string, p ec2types.IpPermission) {
	r.t.Helper()
	if _, err := r.ec2.AuthorizeSecurityGroupIngress(r.t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: &group, IpPermissions: []ec2types.IpPermission{p},
	}); err != nil {
		r.t.Fatal(err)
	}
}

// references returns the rules of a group that refer to groups: the protocol, the source, the description.
func (r *rig) references(name string) []string {
	r.t.Helper()
	var list []string
	for _, p := range r.group(name).IpPermissions {
		for _, pair := range p.UserIdGroupPairs {
			list = append(list, fmt.Sprintf("%s from %s %q", *p.IpProtocol, *pair.GroupId, aws.ToString(pair.Description)))
		}
	}
	slices.Sort(list)
	return list
}

// nodeGroup returns the ID of the group of the nodes, with a rule for the traffic between them.
func (r *rig) nodeGroup() string {
	r.t.Helper()
	nodes := *r.group("nodes.sim").GroupId
	if !slices.Contains(r.references("nodes.sim"), fmt.Sprintf("-1 from %s %q", nodes, "")) {
		r.allow(nodes, nodes, "")
	}
	return nodes
}

// TestRulesOfOthersAreKept verifies that rules which people wrote stay, whatever groups a load balancer has and loses:
// above all the rule for the traffic between nodes.
func TestRulesOfOthersAreKept(t *testing.T) {
	const byHand = "" // as people and other tools often write them
	for _, tc := range []struct {
		name string
		// steps returns the annotations of the Service, one after the other. The last is followed by the deletion.
		steps func(nodes, vpn string) []func(*v1.Service)
	}{
		{"the nodes' group as an extra group", func(nodes, _ string) []func(*v1.Service) {
			return []func(*v1.Service){annotate("extra-security-groups", nodes)}
		}},
		{"another group as an extra group", func(_, vpn string) []func(*v1.Service) {
			return []func(*v1.Service){annotate("extra-security-groups", vpn)}
		}},
		{"an extra group that leaves", func(nodes, vpn string) []func(*v1.Service) {
			return []func(*v1.Service){annotate("extra-security-groups", nodes+","+vpn), annotate()}
		}},
		{"the nodes' group is listed", func(nodes, _ string) []func(*v1.Service) {
			return []func(*v1.Service){annotate("security-groups", nodes)}
		}},
		{"another group is listed", func(_, vpn string) []func(*v1.Service) {
			return []func(*v1.Service){annotate("security-groups", vpn)}
		}},
		{"a listed group that leaves", func(nodes, vpn string) []func(*v1.Service) {
			return []func(*v1.Service){annotate("security-groups", vpn+","+nodes), annotate()}
		}},
		{"a listed group that becomes an extra one", func(nodes, vpn string) []func(*v1.Service) {
			return []func(*v1.Service){annotate("security-groups", vpn), annotate("extra-security-groups", vpn+","+nodes)}
		}},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %t", tc.name, restart), func(t *testing.T) {
				r := newRig(t, sim.Options{})
				nodes, vpn := r.nodeGroup(), r.newGroup("vpn", clusterTag("shared"))
				r.allow(nodes, vpn, byHand)
				r.allow(vpn, vpn, byHand)
				r.restart()
				kept := map[string][]string{"nodes.sim": r.references("nodes.sim"), "vpn": r.references("vpn")}
				check := func(step string) {
					t.Helper()
					for group, want := range kept {
						have := r.references(group)
						if lost := difference(want, have); len(lost) > 0 {
							t.Errorf("%s: group %s lost %v", step, group, lost)
						}
					}
				}
				var svc *v1.Service
				for i, step := range tc.steps(nodes, vpn) {
					svc = service(step)
					r.ensure(svc)
					check(fmt.Sprintf("step %d", i+1))
					if restart {
						r.restart()
					}
				}
				r.remove(svc)
				check("deletion")
				for group, want := range kept {
					if have := r.references(group); !slices.Equal(have, want) {
						t.Errorf("deletion: group %s has %v, want %v", group, have, want)
					}
				}
			})
		}
	}
}

// TestRuleOfListedGroupIsDescribed verifies that the rule for a group that the user owns is described, is removed with
// the last load balancer that needs it, and that only then.
func TestRuleOfListedGroupIsDescribed(t *testing.T) {
	r := newRig(t, sim.Options{})
	nodes, listed := r.nodeGroup(), r.newGroup("listed")
	before := r.references("nodes.sim")
	a, b := service(named("aaa"), annotate("security-groups", listed)), service(named("bbb"), annotate("security-groups", listed))
	want := append(slices.Clone(before), fmt.Sprintf("-1 from %s %q", listed, names.ClassicGroupRule))
	slices.Sort(want)
	for _, step := range []struct {
		name string
		do   func()
		want []string
	}{
		{"creation", func() { r.ensure(a) }, want},
		{"another load balancer", func() { r.ensure(b) }, want},
		{"deletion of the first", func() { r.remove(a) }, want},
		{"deletion of the last", func() { r.remove(b) }, before},
	} {
		step.do()
		if have := r.references("nodes.sim"); !slices.Equal(have, step.want) {
			t.Errorf("%s: group %s has %v, want %v", step.name, nodes, have, step.want)
		}
		r.restart()
	}
}

// TestRuleWithinGroupIsNeverRevoked verifies that a rule of a group for itself stays even if it is described as this
// manager's: nodes may need it by now.
func TestRuleWithinGroupIsNeverRevoked(t *testing.T) {
	r := newRig(t, sim.Options{})
	nodes := *r.group("nodes.sim").GroupId
	svc := service(annotate("security-groups", nodes))
	r.ensure(svc)
	before := r.references("nodes.sim")
	if !slices.ContainsFunc(before, func(rule string) bool { return strings.HasPrefix(rule, "-1 from "+nodes) }) {
		t.Fatalf("rules %v, want one that lets the load balancer reach nodes", before)
	}
	r.restart()
	r.remove(svc)
	if after := r.references("nodes.sim"); !slices.Equal(after, before) {
		t.Errorf("rules %v after the deletion, want %v", after, before)
	}
}

// TestDeletionKeepsReferencesToManagedGroup verifies that the deletion of a managed group removes only rules that this
// manager or cloud-provider-aws writes. Others block the deletion, with the name of the rule.
func TestDeletionKeepsReferencesToManagedGroup(t *testing.T) {
	for _, tc := range []struct {
		name string
		rule func(from string) ec2types.IpPermission
	}{
		{"a rule for one port", func(from string) ec2types.IpPermission {
			return ec2types.IpPermission{IpProtocol: aws.String("tcp"), FromPort: aws.Int32(9000), ToPort: aws.Int32(9000),
				UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: &from}}}
		}},
		{"a rule with a description of its own", func(from string) ec2types.IpPermission {
			return ec2types.IpPermission{IpProtocol: aws.String("-1"),
				UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: &from, Description: aws.String("monitoring")}}}
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			svc := service()
			r.ensure(svc)
			group := r.newGroup("database", clusterTag("shared"))
			rule := tc.rule(*r.group(managedName).GroupId)
			r.authorize(group, rule)
			r.restart()
			before := r.references("database")
			var err error
			for range 5 {
				err = cmp.Or(r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, svc), err)
				r.clock.Step(releasePause)
			}
			if err == nil || !strings.Contains(err.Error(), group) {
				t.Errorf("error %v, want one that names group %s", err, group)
			}
			if after := r.references("database"); !slices.Equal(after, before) {
				t.Errorf("rules %v, want %v", after, before)
			}
			if len(r.sourceGroups()) > 0 {
				t.Errorf("the rule of this manager is left")
			}
			if _, err := r.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{
				GroupId: &group, IpPermissions: []ec2types.IpPermission{rule},
			}); err != nil {
				t.Fatal(err)
			}
			r.remove(svc)
			if r.group(managedName) != nil {
				t.Error("the managed group is left")
			}
		})
	}
}

// TestManagedGroupOfOthersIsKept verifies that the managed group of a load balancer stays, with its rules, while another
// load balancer uses it.
func TestManagedGroupOfOthersIsKept(t *testing.T) {
	r := newRig(t, sim.Options{})
	owner := service(named("aaa"))
	r.ensure(owner)
	group := r.balancer().SecurityGroups[0]
	r.ensure(service(named("bbb"), annotate("security-groups", group)))
	before := r.references("nodes.sim")
	r.restart()
	for range 5 {
		_ = r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, owner) // it may wait for the other load balancer
		r.clock.Step(releasePause)
	}
	if after := r.references("nodes.sim"); !slices.Equal(after, before) {
		t.Errorf("rules %v, want %v", after, before)
	}
	if got := r.balancer().SecurityGroups; !slices.Equal(got, []string{group}) {
		t.Errorf("the other load balancer has the groups %v", got)
	}
}

func clusterTag(value string) ec2types.Tag {
	return ec2types.Tag{Key: aws.String("kubernetes.io/cluster/sim"), Value: &value}
}

// TestSourceIsTaggedGroup verifies which of the listed groups is the source in the rule on nodes: the first with the
// cluster's tag, as with cloud-provider-aws. One that nodes already allow stays.
func TestSourceIsTaggedGroup(t *testing.T) {
	for _, tc := range []struct {
		name string
		// allowed is the group whose traffic nodes allow when the load balancer is taken over.
		allowed string
		want    string
	}{
		{"a new load balancer", "", "b"},
		{"nodes allow the tagged group", "b", "b"},
		{"nodes allow the other group", "a", "a"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			groups := map[string]string{"a": r.newGroup("a"), "b": r.newGroup("b", clusterTag("shared"))}
			svc := service(annotate("security-groups", groups["a"]+","+groups["b"]))
			r.ensure(svc)
			if tc.allowed != "" {
				nodes := r.group("nodes.sim")
				rule := ec2types.IpPermission{IpProtocol: aws.String("-1"), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: aws.String(groups["b"])}}}
				if _, err := r.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: nodes.GroupId, IpPermissions: []ec2types.IpPermission{rule}}); err != nil {
					t.Fatal(err)
				}
				r.allow(*nodes.GroupId, groups[tc.allowed], "")
				r.restart()
				r.ensure(svc)
				if got := r.mutations(); len(got) > 0 {
					t.Errorf("calls %v", got)
				}
			}
			if got := r.sourceGroups(); !slices.Equal(got, []string{groups[tc.want]}) {
				t.Errorf("nodes allow traffic from %v, want %s", got, groups[tc.want])
			}
		})
	}
}
