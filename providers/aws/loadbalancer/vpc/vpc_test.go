package vpc

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// rig is a Reader in process with a simulated cloud.
type rig struct {
	t      *testing.T
	sim    *sim.Cloud
	ec2    *ec2.Client
	clock  *clocktesting.FakeClock
	vpc    string
	reader *Reader
	nodes  string
}

func newRig(t *testing.T, o sim.Options) *rig {
	t.Helper()
	r := &rig{t: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	o.Clock = r.clock
	cloud, err := sim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.sim = cloud
	r.ec2 = ec2.NewFromConfig(simtest.Config(cloud))
	r.vpc = cloud.VPC()
	r.reader = NewReader(Options{API: r.ec2, VPC: r.vpc, Cluster: Cluster{ID: "sim"}, Clock: r.clock, Instances: everything{r.ec2}})
	nodes, _ := r.get(GroupQuery{}).Named("nodes.sim")
	r.nodes = nodes.ID
	cloud.Front().Log().Reset()
	return r
}

// everything is an instance source without a cache.
type everything struct{ client *ec2.Client }

func (e everything) Cluster(ctx context.Context) (map[string]*ec2types.Instance, error) {
	return e.Described(ctx, nil, false)
}

func (e everything) Described(ctx context.Context, ids []string, _ bool) (map[string]*ec2types.Instance, error) {
	answer, err := e.client.DescribeInstances(ctx, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{api.Filter("instance-id", ids...)}})
	if err != nil {
		return nil, err
	}
	out := map[string]*ec2types.Instance{}
	for _, r := range answer.Reservations {
		for _, i := range r.Instances {
			out[*i.InstanceId] = &i
		}
	}
	return out, nil
}

func (r *rig) get(q GroupQuery) Groups {
	r.t.Helper()
	groups, err := r.reader.Groups().Get(r.t.Context(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	return groups
}

// apply makes the changes and returns the calls that it took.
func (r *rig) apply(changes []plan.Change) []string {
	r.t.Helper()
	r.sim.Front().Log().Reset()
	if err := r.try(changes); err != nil {
		r.t.Fatal(err)
	}
	return r.calls()
}

// try applies changes and returns the error.
func (r *rig) try(changes []plan.Change) error {
	_, err := plan.Bind(plan.Plan{Changes: changes}, r.reader.Groups()).Apply(r.t.Context(), plan.ApplyOptions{})
	return err
}

func (r *rig) calls() []string {
	var list []string
	for _, c := range r.sim.Front().Log().Calls() {
		list = append(list, c.Name)
	}
	r.sim.Front().Log().Reset()
	return list
}

// rules are those of the nodes' group as EC2 has them, with descriptions.
func (r *rig) rules() []string {
	r.t.Helper()
	group, err := r.reader.Groups().read(r.t.Context(), r.nodes)
	if err != nil {
		r.t.Fatal(err)
	}
	var list []string
	for _, rule := range group.Rules {
		if rule.SourceGroup != r.nodes {
			list = append(list, rule.String()+" "+rule.Description)
		}
	}
	slices.Sort(list)
	return list
}

func everyone() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")} }

func prefixes(list ...string) []netip.Prefix {
	var out []netip.Prefix
	for _, s := range list {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

func (r *rig) byCIDR(name string, port int32, sources []netip.Prefix, health int32) NodeRules {
	rules := ByCIDR{LoadBalancer: name, Traffic: []Port{{ProtocolTCP, port, sources}}, Sources: sources, Health: []int32{health}, Subnets: prefixes("10.0.0.0/20")}
	return NodeRules{LoadBalancer: name, Groups: []string{r.nodes}, Rules: rules.Rules()}
}

// want applies the rules of a load balancer as the provider does: an observation claims them, the first change of a
// deletion releases them.
func (r *rig) want(n NodeRules) []string {
	r.t.Helper()
	r.reader.Groups().Claim(n)
	return r.apply(NodeRuleChanges(r.get(GroupQuery{}), n, nil))
}

func (r *rig) wantRules(want ...string) {
	r.t.Helper()
	slices.Sort(want)
	if got := r.rules(); !slices.Equal(got, want) {
		r.t.Errorf("rules are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const (
	mtuAll    = "icmp type 3 code 4 from 0.0.0.0/0 kubernetes.io/rule/nlb/mtu"
	mtuTen    = "icmp type 3 code 4 from 10.0.0.0/8 kubernetes.io/rule/nlb/mtu"
	clientAll = "tcp 30080 from 0.0.0.0/0 kubernetes.io/rule/nlb/client=a"
	clientTen = "tcp 30080 from 10.0.0.0/8 kubernetes.io/rule/nlb/client=a"
	healthA   = "tcp 30080 from 10.0.0.0/20 kubernetes.io/rule/nlb/health=a"
)

// TestRestrictedAndOpenedAgain pins that no health rule is left behind.
func TestRestrictedAndOpenedAgain(t *testing.T) {
	r := newRig(t, sim.Options{})
	for _, step := range []struct {
		sources []netip.Prefix
		rules   []string
	}{
		{everyone(), []string{clientAll, mtuAll}},
		{prefixes("10.0.0.0/8"), []string{clientTen, mtuTen, healthA}},
		{everyone(), []string{clientAll, mtuAll}},
	} {
		calls := r.want(r.byCIDR("a", 30080, step.sources, 30080))
		if len(calls) > 2 {
			t.Errorf("calls %v, want one to add and one to remove", calls)
		}
		r.wantRules(step.rules...)
	}
	r.want(NodeRules{LoadBalancer: "a"})
	r.wantRules()
}

// TestSharedRulesAreCounted pins that the rule for path MTU discovery goes with the last client rule of its source.
func TestSharedRulesAreCounted(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.want(r.byCIDR("a", 30080, everyone(), 30080))
	r.want(r.byCIDR("b", 30081, everyone(), 30081))
	r.want(NodeRules{LoadBalancer: "a"})
	r.wantRules("tcp 30081 from 0.0.0.0/0 kubernetes.io/rule/nlb/client=b", mtuAll)
	r.want(NodeRules{LoadBalancer: "b"})
	r.wantRules()
}

// TestNodeRuleChangesKeepForeignRules pins that rules of people and of other load balancers are left alone.
func TestNodeRuleChangesKeepForeignRules(t *testing.T) {
	r := newRig(t, sim.Options{})
	if err := r.reader.Groups().authorize(t.Context(), r.nodes, []Rule{
		{Protocol: ProtocolTCP, FromPort: 22, ToPort: 22, CIDR: everyone()[0], Description: "by hand"},
		{Protocol: ProtocolTCP, FromPort: 30090, ToPort: 30090, CIDR: netip.MustParsePrefix("192.168.0.0/16"), Description: names.ClientRule("other")},
		{Protocol: ProtocolTCP, FromPort: 30080, ToPort: 30080, CIDR: netip.MustParsePrefix("::/0"), Description: "IPv6 by hand"},
	}); err != nil {
		t.Fatal(err)
	}
	before := r.rules()
	r.want(r.byCIDR("a", 30080, everyone(), 30080))
	r.wantRules(append(slices.Clone(before), clientAll, mtuAll)...)
	r.want(NodeRules{LoadBalancer: "a"})
	r.wantRules(before...)
}

// TestSharedHealthRuleIsReauthorized pins that a rule that two load balancers need passes to the one that stays.
func TestSharedHealthRuleIsReauthorized(t *testing.T) {
	r := newRig(t, sim.Options{})
	a, b := r.byCIDR("a", 30080, prefixes("10.0.0.0/8"), 10256), r.byCIDR("b", 30081, prefixes("10.0.0.0/8"), 10256)
	r.want(a)
	r.want(b)
	r.want(NodeRules{LoadBalancer: "a"})
	r.wantRules("tcp 30081 from 10.0.0.0/8 kubernetes.io/rule/nlb/client=b", mtuTen, "tcp 10256 from 10.0.0.0/20 kubernetes.io/rule/nlb/health=b")
	r.want(NodeRules{LoadBalancer: "b"})
	r.wantRules()
}

// TestNodeRuleChangesLeavesStoreUnchanged verifies that a plan that is not applied changes nothing: the deletion of the
// other load balancer leaves the shared rule.
func TestNodeRuleChangesLeavesStoreUnchanged(t *testing.T) {
	r := newRig(t, sim.Options{})
	a, b := r.byCIDR("a", 30080, prefixes("10.0.0.0/8"), 10256), r.byCIDR("b", 30081, prefixes("10.0.0.0/8"), 10256)
	r.want(a)
	r.want(b)
	for range 2 {
		NodeRuleChanges(r.get(GroupQuery{}), NodeRules{LoadBalancer: "b"}, nil)
	}
	r.want(NodeRules{LoadBalancer: "a"})
	r.wantRules("tcp 30081 from 10.0.0.0/8 kubernetes.io/rule/nlb/client=b", mtuTen,
		"tcp 10256 from 10.0.0.0/20 kubernetes.io/rule/nlb/health=b")
}

// TestConcurrentDeletionsLeaveNoRule verifies that two deletions that are planned at the same time leave no shared
// rule, although the first passes it to the second.
func TestConcurrentDeletionsLeaveNoRule(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.want(r.byCIDR("a", 30080, prefixes("10.0.0.0/8"), 10256))
	r.want(r.byCIDR("b", 30081, prefixes("10.0.0.0/8"), 10256))
	groups := r.reader.Groups()
	have := r.get(GroupQuery{})
	first, second := NodeRuleChanges(have, NodeRules{LoadBalancer: "a"}, nil), NodeRuleChanges(have, NodeRules{LoadBalancer: "b"}, nil)
	groups.Release("a")
	r.apply(first)
	r.wantRules("tcp 30081 from 10.0.0.0/8 kubernetes.io/rule/nlb/client=b", mtuTen,
		"tcp 10256 from 10.0.0.0/20 kubernetes.io/rule/nlb/health=b")
	groups.Release("b")
	r.apply(second)
	r.wantRules()
}

// TestSharedGroupRuleIsKept verifies that the rule for a security group that another load balancer has claimed stays,
// without being written again: there is no moment without it.
func TestSharedGroupRuleIsKept(t *testing.T) {
	r := newRig(t, sim.Options{})
	created, err := r.ec2.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{GroupName: ptr.To("source"), Description: ptr.To("source"), VpcId: &r.vpc})
	if err != nil {
		t.Fatal(err)
	}
	source := *created.GroupId
	from := func(loadBalancer string) NodeRules {
		return NodeRules{LoadBalancer: loadBalancer, Groups: []string{r.nodes}, From: &GroupRef{ID: source}, FromDescription: names.ClassicGroupRule}
	}
	rule := "all traffic from " + source + " " + names.ClassicGroupRule
	r.want(from("a"))
	r.want(from("b"))
	r.wantRules(rule)
	if calls := r.want(NodeRules{LoadBalancer: "a", NotFrom: []string{source}}); len(calls) > 0 {
		t.Errorf("calls %v", calls)
	}
	r.wantRules(rule)
	r.want(NodeRules{LoadBalancer: "b", NotFrom: []string{source}})
	r.wantRules()
}

func TestBothFamilies(t *testing.T) {
	everyone := prefixes("0.0.0.0/0", "::/0")
	rules := ByCIDR{LoadBalancer: "a", Traffic: []Port{{ProtocolUDP, 53, everyone}}, Sources: everyone, Health: []int32{53}, Subnets: prefixes("10.0.0.0/20", "2001:db8::/64")}.Rules()
	var got []string
	for _, r := range rules {
		got = append(got, r.String())
	}
	want := []string{
		"icmp type 3 code 4 from 0.0.0.0/0", "icmpv6 type 2 code 0 from ::/0", "tcp 53 from 10.0.0.0/20", "tcp 53 from 2001:db8::/64",
		"udp 53 from 0.0.0.0/0", "udp 53 from ::/0",
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("rules %q, want %q", got, want)
	}
}

// TestRuleFamiliesDiffer pins that rules of IPv4, IPv6, groups and prefix lists on one port are not the same.
func TestRuleFamiliesDiffer(t *testing.T) {
	base := Rule{Protocol: ProtocolTCP, FromPort: 80, ToPort: 80}
	four, six, group, list := base, base, base, base
	four.CIDR, six.CIDR, group.SourceGroup, list.PrefixList = netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"), "sg-1", "pl-1"
	authorize, revoke := diffRules([]Rule{four}, []Rule{six, group, list})
	if len(authorize) != 1 || len(revoke) != 3 {
		t.Errorf("authorize %v, revoke %v", authorize, revoke)
	}
	described := four
	described.Description = "x"
	if authorize, revoke = diffRules([]Rule{four}, []Rule{described}); len(authorize)+len(revoke) != 0 {
		t.Errorf("a description makes a difference: %v, %v", authorize, revoke)
	}
}

// TestReadKeepsNewerWrite pins that the snapshot needs no read after our own changes.
func TestReadKeepsNewerWrite(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.want(r.byCIDR("a", 30080, everyone(), 30080))
	if !r.byCIDR("a", 30080, everyone(), 30080).Satisfied(r.get(GroupQuery{})) {
		t.Error("the snapshot does not show what was written")
	}
	if calls := r.calls(); len(calls) != 0 {
		t.Errorf("calls %v", calls)
	}
}

// TestUncertainWriteForcesRead pins that a failure with an uncertain outcome forces a read.
func TestUncertainWriteForcesRead(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.sim.Front().SetFaults(kit.Fault{Kind: kit.FaultLostReply, Operation: "AuthorizeSecurityGroupIngress"})
	n := r.byCIDR("a", 30080, everyone(), 30080)
	if err := r.try(NodeRuleChanges(r.get(GroupQuery{}), n, nil)); !cloudapi.Is(err, cloudapi.Unavailable) {
		t.Fatalf("error %v", err)
	}
	if !n.Satisfied(r.get(GroupQuery{})) {
		t.Error("what the lost reply had done is not seen")
	}
}

// TestAuthorizeIgnoresDuplicateRules pins that rules that exist although the snapshot lacks them are as good as added.
func TestAuthorizeIgnoresDuplicateRules(t *testing.T) {
	r := newRig(t, sim.Options{})
	n := r.byCIDR("a", 30080, everyone(), 30080)
	changes := NodeRuleChanges(r.get(GroupQuery{}), n, nil)
	other := NewReader(r.reader.options)
	if err := other.Groups().authorize(t.Context(), r.nodes, n.Rules[1:]); err != nil {
		t.Fatal(err)
	}
	r.apply(changes)
	r.wantRules(clientAll, mtuAll)
	changes = NodeRuleChanges(r.get(GroupQuery{}), NodeRules{LoadBalancer: "a"}, nil)
	if err := other.Groups().revoke(t.Context(), r.nodes, n.Rules[1:]); err != nil {
		t.Fatal(err)
	}
	r.apply(changes)
	r.wantRules()
}

func TestFullGroupErrorNamesQuota(t *testing.T) {
	r := newRig(t, sim.Options{Quotas: map[string]int{sim.QuotaRulesPerGroup: 2}})
	err := r.try(NodeRuleChanges(r.get(GroupQuery{}), r.byCIDR("a", 30080, everyone(), 30080), nil))
	if !cloudapi.Is(err, cloudapi.Quota) || !strings.Contains(err.Error(), "NLBSecurityGroupMode=Managed") {
		t.Errorf("error %v", err)
	}
}

// TestConcurrentReadsShareOneList pins that many Services at once cost one read of each list.
func TestConcurrentReadsShareOneList(t *testing.T) {
	r := newRig(t, sim.Options{Latency: 0})
	node, err := r.sim.Launch(world.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	r.reader = NewReader(r.reader.options)
	r.calls()
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := r.reader.SharedState(t.Context(), []string{r.sim.Instance(node.Name)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	calls := slices.DeleteFunc(r.calls(), func(name string) bool { return name == "DescribeInstances" })
	slices.Sort(calls)
	if want := []string{"DescribeAvailabilityZones", "DescribeRouteTables", "DescribeSecurityGroups", "DescribeSubnets"}; !slices.Equal(calls, want) {
		t.Errorf("calls %v, want %v", calls, want)
	}
	r.clock.Step(subnetsAge)
	if _, err := r.reader.SharedState(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := r.calls(); len(got) != 3 {
		t.Errorf("calls %v once the lists are old", got)
	}
}

// TestGroupsOfUnreadInstancesAreUnclear verifies that rules stay in all groups that an instance may have which cannot be
// read.
func TestGroupsOfUnreadInstancesAreUnclear(t *testing.T) {
	groups := Groups{byID: map[string]Group{"sg-a": {ID: "sg-a"}, "sg-b": {ID: "sg-b"}}}
	s := SharedState{Groups: groups, Instances: map[string]*ec2types.Instance{
		"i-a": {InstanceId: ptr.To("i-a"), SecurityGroups: []ec2types.GroupIdentifier{{GroupId: ptr.To("sg-a")}}}}}
	for _, tt := range []struct {
		unread  map[string]error
		unclear []string
	}{
		{nil, nil},
		{map[string]error{"i-b": errors.New("its zone is disrupted")}, []string{"sg-b"}},
	} {
		s.Unread = tt.unread
		got := NodeGroupsOf(s, []string{"i-a"})
		if !slices.Equal(got.IDs, []string{"sg-a"}) || !slices.Equal(got.Unclear, tt.unclear) || got.Problem != nil {
			t.Errorf("unread %v: %+v, want the unclear groups %v", tt.unread, got, tt.unclear)
		}
	}
}
