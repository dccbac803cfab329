package sdktest

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func TestLaunchReturnsNode(t *testing.T) {
	c := newClients(t, sim.Options{})
	m := world.Machine{Name: "node-a", PodCIDRs: []string{"10.1.0.0/24", "fd00::/64"}}
	if diff := cmp.Diff(m.Node(), must(c.cloud.Launch(m))(t)); diff != "" {
		t.Error(diff)
	}
	m.Zone, m.Type, m.Region = "us-west-2a", "m5.large", "us-west-2"
	if diff := cmp.Diff(m, must(c.cloud.Machine("node-a"))(t)); diff != "" {
		t.Error(diff)
	}
	if _, err := c.cloud.Launch(m); err == nil {
		t.Error("a machine was launched twice")
	}
	named := must(c.cloud.Launch(world.Machine{}))(t).Name
	if found := c.instances(t, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{filter("private-dns-name",
		named)}}); len(found) != 1 {
		t.Errorf("%d instances are called %s", len(found), named)
	}
}

func TestStopAndTerminate(t *testing.T) {
	c := newClients(t, sim.Options{})
	c.launch(t, world.Machine{Name: "a"})
	state := func() ec2types.InstanceStateName {
		return c.instances(t, &ec2.DescribeInstancesInput{})[0].State.Name
	}
	if err := c.cloud.Stop("a"); err != nil || state() != ec2types.InstanceStateNameStopped {
		t.Errorf("after stopping: %s (%v)", state(), err)
	}
	if err := c.cloud.Terminate("a"); err != nil || state() != ec2types.InstanceStateNameTerminated {
		t.Errorf("after terminating: %s (%v)", state(), err)
	}
	if n := c.cloud.Objects()["instances"]; n != 0 {
		t.Errorf("there are still %d instances", n)
	}
	for name, do := range map[string]func(string) error{
		"stop": c.cloud.Stop, "terminate": c.cloud.Terminate, "delete": c.cloud.DeleteLoadBalancer,
		"machine": func(n string) error { _, err := c.cloud.Machine(n); return err },
		"drift":   func(n string) error { _, err := c.cloud.Drift(n); return err },
		"health":  func(n string) error { return c.cloud.SetHealth(n, false) },
	} {
		if do("none") == nil {
			t.Errorf("%s of nothing is no error", name)
		}
	}
}

// TestDriftReturnsChangedFields is about network load balancers.
func TestDriftReturnsChangedFields(t *testing.T) {
	n := newNLB(t, sim.Options{})
	group := func() types.TargetGroup {
		return must(n.elbv2.DescribeTargetGroups(t.Context(),
			&elbv2.DescribeTargetGroupsInput{TargetGroupArns: []string{n.group}}))(t).TargetGroups[0]
	}
	for _, tc := range []struct {
		want            []string
		targets, member int
	}{
		{[]string{"healthCheckIntervalSeconds", "targets"}, 1, 1},
		{[]string{"healthCheckIntervalSeconds", "targets"}, 0, 0},
		{[]string{"healthCheckIntervalSeconds"}, 0, 0},
	} {
		before := *group().HealthCheckIntervalSeconds
		fields := must(n.cloud.Drift("web"))(t)
		if !slices.Equal(fields, tc.want) || *group().HealthCheckIntervalSeconds == before || len(n.health(t)) != tc.targets {
			t.Errorf("named %v; interval %d became %d, %d targets", fields, before, *group().HealthCheckIntervalSeconds,
				len(n.health(t)))
		}
		if members := n.cloud.LoadBalancers()[0].Listeners[0].Members; len(members) != tc.member {
			t.Errorf("members %v", members)
		}
	}
}

func TestDriftOfAClassicLoadBalancer(t *testing.T) {
	c := newClients(t, sim.Options{})
	must(c.elb.CreateLoadBalancer(t.Context(),
		&elb.CreateLoadBalancerInput{LoadBalancerName: ptr("web"), Subnets: subnetIDs(c.subnets(t, "elb")),
			Listeners: []elbtypes.Listener{{Protocol: ptr("TCP"), LoadBalancerPort: 80, InstancePort: ptr(int32(30080))}}}))(t)
	if fields := must(c.cloud.Drift("web"))(t); !slices.Equal(fields, []string{"interval"}) {
		t.Errorf("named %v", fields)
	}
	b := must(c.elb.DescribeLoadBalancers(t.Context(), nil))(t).LoadBalancerDescriptions[0]
	if *b.HealthCheck.Interval != 37 {
		t.Errorf("interval %d", *b.HealthCheck.Interval)
	}
}

func TestDeleteLoadBalancerLeavesGroups(t *testing.T) {
	n := newNLB(t, sim.Options{})
	if err := n.cloud.DeleteLoadBalancer("web"); err != nil {
		t.Fatal(err)
	}
	o := n.cloud.Objects()
	if o["load-balancers"] != 0 || o["listeners"] != 0 || o["target-groups"] != 1 || o["targets"] != 2 ||
		o["security-groups"] != 3 {
		t.Errorf("objects that should be deleted: %v", o)
	}
	if len(n.cloud.LoadBalancers()) != 0 {
		t.Errorf("load balancers %+v", n.cloud.LoadBalancers())
	}
}

func TestUnreachableTargets(t *testing.T) {
	n := newNLB(t, sim.Options{})
	front := must(n.elbv2.DescribeLoadBalancers(t.Context(), nil))(t).LoadBalancers[0].SecurityGroups[0]
	check := func(when string, members []string, health map[types.TargetHealthStateEnum]int) {
		t.Helper()
		if have := n.cloud.LoadBalancers()[0].Listeners[0].Members; !slices.Equal(have, members) {
			t.Errorf("%s: members %v, want %v", when, have, members)
		}
		have := map[types.TargetHealthStateEnum]int{}
		for _, state := range n.health(t) {
			have[state]++
		}
		if diff := cmp.Diff(health, have); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	check("at first", []string{"a", "b"}, map[types.TargetHealthStateEnum]int{"healthy": 2})
	if err := n.cloud.SetHealth("a", false); err != nil {
		t.Fatal(err)
	}
	check("with a unhealthy node", []string{"a", "b"}, map[types.TargetHealthStateEnum]int{"healthy": 1, "unhealthy": 1})
	n.shut(t, front, 30080)
	check("without a rule", nil, map[types.TargetHealthStateEnum]int{"unhealthy": 2})
	if err := n.cloud.SetHealth("a", true); err != nil {
		t.Fatal(err)
	}
	// The load balancer's own addresses are in the VPC's network.
	must(n.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: n.nodes(t), IpPermissions: []ec2types.IpPermission{tcp(30080, "10.0.0.0/16")}}))(t)
	check("with a rule for networks", []string{"a", "b"}, map[types.TargetHealthStateEnum]int{"healthy": 2})
	must(n.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{
		GroupId: &front, IpPermissions: []ec2types.IpPermission{tcp(80, "0.0.0.0/0")}}))(t)
	if ranges := n.cloud.LoadBalancers()[0].Listeners[0].SourceRanges; !slices.Equal(ranges, []string{"none"}) {
		t.Errorf("source ranges %v of a load balancer that admits no client", ranges)
	}
}

func TestDisruption(t *testing.T) {
	n := newNLB(t, sim.Options{})
	n.cloud.SetDisruption(sim.Disruption{Denied: []string{"ec2:Describe*"}})
	_, err := n.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
	wantCode(t, err, "UnauthorizedOperation", 403)
	must(n.elbv2.DescribeTargetGroups(t.Context(), &elbv2.DescribeTargetGroupsInput{}))(t)
	n.cloud.SetDisruption(sim.Disruption{Empty: true})
	if found := n.instances(t, &ec2.DescribeInstancesInput{}); len(found) != 0 {
		t.Errorf("found %d instances", len(found))
	}
	_, err = n.elbv2.DescribeLoadBalancers(t.Context(),
		&elbv2.DescribeLoadBalancersInput{LoadBalancerArns: []string{n.arn}})
	wantCode(t, err, "LoadBalancerNotFound", 400)
	n.cloud.SetDisruption(sim.Disruption{Truncated: true})
	if _, err := n.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{}); err == nil {
		t.Error("a truncated document was accepted")
	}
	n.cloud.SetDisruption(sim.Disruption{})
	if found := n.instances(t, &ec2.DescribeInstancesInput{}); len(found) != 2 {
		t.Errorf("after the disruption: found %d instances", len(found))
	}
}

func TestConsoleCallsAreNotLogged(t *testing.T) {
	c := newClients(t, sim.Options{Latency: time.Hour})
	c.launch(t, world.Machine{Name: "a"})
	if err := c.cloud.AddForeignRoute("10.9.0.0/16"); err != nil {
		t.Fatal(err)
	}
	if err := c.cloud.AddForeignRoute("10.9.0.0/16"); err == nil {
		t.Error("a route was added twice")
	}
	if diff := cmp.Diff([]world.Route{{Destination: "10.9.0.0/16"}}, c.cloud.Routes()); diff != "" {
		t.Error(diff)
	}
	if n := c.cloud.Front().Log().Len(); n != 0 {
		t.Errorf("%d calls are in the log", n)
	}
}
