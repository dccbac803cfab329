package vpc

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

func TestTooBig(t *testing.T) {
	for source, want := range map[string]Rule{
		"10.0.0.0/8":    {Protocol: "icmp", FromPort: 3, ToPort: 4, Description: "d"},
		"2001:db8::/32": {Protocol: "icmpv6", FromPort: 2, ToPort: 0, Description: "d"},
	} {
		want.CIDR = netip.MustParsePrefix(source)
		if diff := cmp.Diff(want, PathMTURule(want.CIDR, "d"), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
}

// TestUnusedMTU pins which rules for path MTU discovery go: those of a source whose last rule for
// clients goes, whoever's load balancer it was, and no others.
func TestUnusedMTU(t *testing.T) {
	ten, twelve := netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("172.16.0.0/12")
	// Node ports belong to one Service, so that no two load balancers have a rule of the same port.
	ports := map[string]int32{"a": 30080, "b": 30081}
	client := func(balancer string, source netip.Prefix) Rule {
		return Rule{Protocol: ProtocolTCP, FromPort: ports[balancer], ToPort: ports[balancer], CIDR: source, Description: names.ClientRule(balancer)}
	}
	mtu := func(source netip.Prefix) Rule { return PathMTURule(source, names.MTURule) }
	byHand := PathMTURule(ten, "by hand")
	health := Rule{Protocol: ProtocolTCP, FromPort: 30080, ToPort: 30080, CIDR: ten, Description: names.HealthRule("a")}
	for _, tc := range []struct {
		name                         string
		have, revoked, desired, want []Rule
	}{
		{"the last client goes", []Rule{client("a", ten), mtu(ten)}, []Rule{client("a", ten)}, nil, []Rule{mtu(ten)}},
		{"another load balancer needs it", []Rule{client("a", ten), client("b", ten), mtu(ten)}, []Rule{client("a", ten)}, nil, nil},
		{"it is needed again", []Rule{client("a", ten), mtu(ten)}, []Rule{client("a", ten)}, []Rule{client("a", ten)}, nil},
		{"another source stays", []Rule{client("a", ten), client("a", twelve), mtu(ten), mtu(twelve)}, []Rule{client("a", twelve)}, nil, []Rule{mtu(twelve)}},
		{"a health rule is no client", []Rule{health, mtu(ten)}, []Rule{health}, nil, nil},
		{"one made by hand stays", []Rule{client("a", ten), byHand}, []Rule{client("a", ten)}, nil, nil},
		{"nothing goes", []Rule{client("a", ten), mtu(ten)}, nil, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, unusedMTU(tc.have, tc.revoked, tc.desired), cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRulesOpenEverywhereBeforeAnyClose moves the tag of the cluster from one security group of the nodes to another. The
// rules of the former one stay until the other has its own: AWS may refuse those, as in a group without room.
func TestRulesOpenEverywhereBeforeAnyClose(t *testing.T) {
	client := Rule{Protocol: ProtocolTCP, FromPort: 30080, ToPort: 30080, CIDR: netip.MustParsePrefix("0.0.0.0/0"),
		Description: names.ClientRule("a")}
	have := Groups{byID: map[string]Group{
		"sg-1": {ID: "sg-1", Name: "former", Rules: []Rule{client}},
		"sg-2": {ID: "sg-2", Name: "tagged"},
	}}
	changes := NodeRuleChanges(have, NodeRules{LoadBalancer: "a", Groups: []string{"sg-2"}, Rules: []Rule{client}}, nil)
	i := slices.IndexFunc(changes, func(c plan.Change) bool { return c.Action == plan.Create })
	k := slices.IndexFunc(changes, func(c plan.Change) bool { return c.Action == plan.Delete })
	if len(changes) != 2 || i < 0 || k < 0 {
		t.Fatalf("changes %v", changes)
	}
	if !slices.Contains(changes[k].After, changes[i].Ref) {
		t.Errorf("%s does not wait for %s", changes[k].Ref, changes[i].Ref)
	}
}
