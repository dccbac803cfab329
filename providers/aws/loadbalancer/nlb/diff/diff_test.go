package diff

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

var (
	web     = lbcommon.Key{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "ns", Name: "web", UID: "0123abcd-4567-89ef-0123-456789abcdef"}
	cluster = vpc.Cluster{ID: "prod"}
)

const webName = "a0123abcd456789ef0123456789abcde"

// planOf plans the load balancer of web.
func planOf(want *model.Desired, have model.Observed) ([]plan.Change, []string, error) {
	return Plan(Options{Key: web, Cluster: cluster}, want, have)
}

// wanted is a load balancer with one port and one node.
func wanted(change ...func(*model.Desired)) *model.Desired {
	d := &model.Desired{
		Key: web, Name: webName, Scheme: "internet-facing", VPC: "vpc-1", AddressType: "ipv4",
		Zones: []model.Zone{{Subnet: "subnet-a"}, {Subnet: "subnet-b"}}, Attributes: model.NewAttributes(), Tags: tags.Desired(cluster.ID, false, web, nil),
		Listeners: []model.DesiredListener{{Port: 80, Protocol: "TCP", Group: model.DesiredGroup{
			Name: "group", Protocol: "TCP", Port: 30080, TargetType: "instance", AddressType: "ipv4",
			Health:  model.HealthCheck{Protocol: "TCP", Port: "traffic-port", Interval: 30, Healthy: 3, Unhealthy: 3},
			Targets: []model.DesiredTarget{{Target: model.Target{ID: "i-1", Port: 30080}}},
		}}},
		ByCIDR: vpc.ByCIDR{LoadBalancer: webName},
	}
	for _, f := range change {
		f(d)
	}
	return d
}

// existing is what wanted looks like once it is made.
func existing(change ...func(*model.Observed)) model.Observed {
	o := model.Observed{
		Balancer: &model.Balancer{
			ARN: "arn:lb/net/web/1", Name: webName, DNSName: "web.elb", VPC: "vpc-1", State: "active", Scheme: "internet-facing", AddressType: "ipv4",
			Zones: []model.Zone{{Subnet: "subnet-a"}, {Subnet: "subnet-b"}}, Tags: tags.Desired(cluster.ID, false, web, nil),
		},
		Attributes: model.NewAttributes(),
		Listeners:  []model.Listener{{ARN: "arn:listener", Port: 80, Protocol: "TCP", Forwards: []model.Forward{{Group: "arn:tg/group/1"}}}},
		TargetGroups: []model.TargetGroup{{
			ARN: "arn:tg/group/1", Name: "group", Protocol: "TCP", VPC: "vpc-1", TargetType: "instance", AddressType: "ipv4", Port: 30080, Balancers: []string{"arn:lb/net/web/1"},
			Health:  model.HealthCheck{Protocol: "TCP", Port: "traffic-port", Interval: 30, Timeout: 10, Healthy: 3, Unhealthy: 3},
			Targets: map[model.Target]types.TargetHealthStateEnum{{ID: "i-1", Port: 30080}: "healthy"},
		}},
		Groups: vpc.Groups{},
	}
	for _, f := range change {
		f(&o)
	}
	return o
}

// summary shows a plan in few words.
func summary(changes []plan.Change) []string {
	var out []string
	for _, c := range changes {
		text := c.Ref.String()
		for _, f := range c.Fields {
			if c.Action == plan.Update {
				text += fmt.Sprintf(" %s:%s>%s", f.Name, f.Before, f.After)
			}
		}
		out = append(out, text)
	}
	return out
}

func TestDiff(t *testing.T) {
	balancer := func(f func(*model.Balancer)) func(*model.Observed) { return func(o *model.Observed) { f(o.Balancer) } }
	group := func(f func(*model.TargetGroup)) func(*model.Observed) {
		return func(o *model.Observed) { f(&o.TargetGroups[0]) }
	}
	listener := func(f func(*model.Listener)) func(*model.Observed) {
		return func(o *model.Observed) { f(&o.Listeners[0]) }
	}
	theirs := map[string]string{"kubernetes.io/cluster/prod": "owned", "kubernetes.io/service-name": "ns/web"}
	for _, tc := range []struct {
		name string
		want *model.Desired
		have model.Observed
		plan []string
	}{
		{"up to date", wanted(), existing(), nil},
		{"another manager's default certificate policy", wanted(), existing(listener(func(l *model.Listener) { l.Policy = "ELBSecurityPolicy-2016-08" })), nil},
		{"tags of an earlier manager", wanted(), existing(balancer(func(b *model.Balancer) { b.Tags = theirs })), nil},
		{"a default timeout of AWS' choice", wanted(), existing(group(func(g *model.TargetGroup) { g.Health.Timeout = 6 })), nil},
		{"the unhealthy threshold alone", wanted(), existing(group(func(g *model.TargetGroup) { g.Health.Unhealthy = 2 })),
			[]string{"update target group group unhealthyThresholdCount:2>3"}},
		{"more subnets than are found by tags", wanted(), existing(balancer(func(b *model.Balancer) { b.Zones = b.Zones[:1] })), nil},
		{"other subnets than are listed", wanted(func(d *model.Desired) { d.Listed = true }), existing(balancer(func(b *model.Balancer) { b.Zones = b.Zones[:1] })),
			[]string{"update load balancer " + webName + " subnets subnet-b:>subnet-b"}},
		{"addresses that change places", wanted(addresses("eip-2", "eip-1")), existing(placed("eip-1", "eip-2")), nil},
		{"one address is replaced, the other keeps its place", wanted(addresses("eip-2", "eip-3")), existing(placed("eip-1", "eip-2")),
			[]string{"update load balancer " + webName + " subnets subnet-a:subnet-a eip-1>subnet-a eip-3"}},
		{"addresses in an earlier manager's order", wanted(addresses("eip-2", "eip-1")), existing(placed("eip-1", "eip-2"), balancer(func(b *model.Balancer) { b.Tags = theirs })), nil},
		{"a target joins, another leaves", wanted(func(d *model.Desired) { d.Listeners[0].Group.Targets[0].ID = "i-2" }), existing(),
			[]string{"update targets group targets:leaving: i-1:30080>joining: i-2:30080"}},
		{"a target that was removed and is wanted again", wanted(), existing(group(func(g *model.TargetGroup) {
			g.Targets = map[model.Target]types.TargetHealthStateEnum{{ID: "i-1", Port: 30080}: "draining"}
		})),
			[]string{"update targets group targets:>joining: i-1:30080"}},
		{"a stopped node stays", wanted(func(d *model.Desired) { d.Listeners[0].Group.Targets[0].Keep = true }), existing(), nil},
		{"a stopped node does not join", wanted(func(d *model.Desired) { d.Listeners[0].Group.Targets[0].Keep = true }), existing(group(func(g *model.TargetGroup) { g.Targets = map[model.Target]types.TargetHealthStateEnum{} })), nil},
		{"an orphaned target group", wanted(), existing(func(o *model.Observed) {
			o.TargetGroups = append(o.TargetGroups, model.TargetGroup{ARN: "arn:tg/old/2", Name: "old"})
		}),
			[]string{"delete target group old"}},
		{"an orphaned target group with draining targets", wanted(), existing(func(o *model.Observed) {
			o.TargetGroups = append(o.TargetGroups, model.TargetGroup{ARN: "arn:tg/old/2", Name: "old", Targets: map[model.Target]types.TargetHealthStateEnum{{ID: "i-1", Port: 1}: "draining"}})
		}), nil},
		{"cross zone switched off by hand", wanted(func(d *model.Desired) { d.Attributes[model.AttributeCrossZone] = "true" }), existing(),
			[]string{"update attributes " + webName + " load_balancing.cross_zone.enabled:false>true"}},
		{"an impossible scheme", wanted(func(d *model.Desired) { d.Scheme = "internal" }), existing(), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			changes, _, err := planOf(tc.want, tc.have)
			if err != nil {
				t.Fatal(err)
			}
			if err := (plan.Plan{Changes: changes}).Validate(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(tc.plan, summary(changes)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// A failed load balancer never recovers: the owner gets a warning with the fix.
func TestDiffWarnsAboutFailedLoadBalancer(t *testing.T) {
	failed := existing(func(o *model.Observed) {
		o.Balancer.State, o.Balancer.Reason = "failed", "no addresses left in subnet-a"
	})
	changes, warnings, err := planOf(wanted(), failed)
	if err != nil || len(changes) > 0 {
		t.Errorf("changes %v, %v", summary(changes), err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "no addresses left in subnet-a") || !strings.Contains(warnings[0], "delete the Service") {
		t.Errorf("warnings %q", warnings)
	}
}

// TestAddressOfKeptZoneIsNotMoved verifies that a zone stays as it is if it would get the address of another one that does.
func TestAddressOfKeptZoneIsNotMoved(t *testing.T) {
	want := wanted(addresses("eip-3", "eip-1"), func(d *model.Desired) {
		d.Zones[0].Subnet = "subnet-c"
		d.ZoneOf = map[string]string{"subnet-a": "zone-1", "subnet-b": "zone-2", "subnet-c": "zone-3"}
	})
	have := existing(placed("eip-1", "eip-2"))
	for name, tc := range map[string]struct {
		kept []plan.Difference
		plan []string
	}{
		"nothing is kept": {nil, []string{"update load balancer " + webName +
			" subnets zone-1:subnet-a eip-1> subnets zone-2:subnet-b eip-2>subnet-b eip-1 subnets zone-3:>subnet-c eip-3"}},
		"one zone is kept": {[]plan.Difference{{Kind: kindBalancer, Object: webName, Field: "subnets zone-1"}},
			[]string{"update load balancer " + webName + " subnets zone-3:>subnet-c eip-3"}},
	} {
		t.Run(name, func(t *testing.T) {
			kept := Keep(*want, have, tc.kept)
			changes, _, err := planOf(&kept, have)
			if diff := cmp.Diff(tc.plan, summary(changes)); err != nil || diff != "" {
				t.Errorf("plan (-want +got), %v:\n%s", err, diff)
			}
		})
	}
}

// TestListenersWaitForSubnets verifies that listeners are created after the subnets have changed, and without them.
func TestListenersWaitForSubnets(t *testing.T) {
	want := wanted(func(d *model.Desired) {
		d.Listed, d.Listeners[0].Port = true, 8080
	})
	changes, _, err := planOf(want, existing(func(o *model.Observed) { o.Balancer.Zones = o.Balancer.Zones[:1] }))
	if err != nil {
		t.Fatal(err)
	}
	subnets := plan.Ref{Kind: kindBalancer, Name: webName, Action: plan.Update}
	i := slices.IndexFunc(changes, func(c plan.Change) bool { return c.Kind == kindListener && c.Action == plan.Create })
	if i < 0 || !slices.Contains(changes[i].Order, subnets) || slices.Contains(changes[i].After, subnets) {
		t.Errorf("the changes are %v", summary(changes))
	}
}

func addresses(allocations ...string) func(*model.Desired) {
	return func(d *model.Desired) {
		d.Listed = true
		for i, a := range allocations {
			d.Zones[i].Allocation = a
		}
	}
}

func placed(allocations ...string) func(*model.Observed) {
	return func(o *model.Observed) {
		for i, a := range allocations {
			o.Balancer.Zones[i].Allocation = a
		}
	}
}

func TestDiffWithoutWantDeletesOnlyOwnObjects(t *testing.T) {
	all := []string{"delete load balancer " + webName, "delete target group group"}
	for name, tc := range map[string]struct {
		have model.Observed
		plan []string
	}{
		"everything": {existing(), all},
		"nothing":    {model.Observed{Groups: vpc.Groups{}}, nil},
		"orphans":    {existing(func(o *model.Observed) { o.Balancer, o.TargetGroups[0].Balancers = nil, nil }), all[1:]},
		"another's":  {existing(func(o *model.Observed) { o.Balancer.Tags = map[string]string{"kubernetes.io/cluster/test": "owned"} }), nil},
		"a borrowed group": {existing(func(o *model.Observed) {
			o.TargetGroups[0].Balancers = []string{"arn:lb/net/web/1", "arn:lb/net/other/1"}
		}), all[:1]},
	} {
		t.Run(name, func(t *testing.T) {
			changes, _, err := planOf(nil, tc.have)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.plan, summary(changes)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
