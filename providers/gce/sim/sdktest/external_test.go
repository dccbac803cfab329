package sdktest

import (
	"slices"
	"testing"
	"time"

	compute "google.golang.org/api/compute/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

// buildExternal creates an external load balancer with a target pool.
func (c *cloud) buildExternal(name string, instances ...string) *compute.ForwardingRule {
	c.t.Helper()
	c.done(c.HttpHealthChecks.Insert(project, &compute.HttpHealthCheck{Name: name, Port: 10256, RequestPath: "/healthz"}))
	c.done(c.TargetPools.Insert(project, region, &compute.TargetPool{Name: name, Instances: instances,
		HealthChecks: []string{"global/httpHealthChecks/" + name}}))
	c.done(c.ForwardingRules.Insert(project, region, &compute.ForwardingRule{Name: name, IPProtocol: "TCP",
		PortRange: "80-80", Target: "regions/" + region + "/targetPools/" + name}))
	r := must[*compute.ForwardingRule](c.t)(c.ForwardingRules.Get(project, region, name).Do())
	c.done(c.Firewalls.Insert(project, &compute.Firewall{Name: "fw-" + name, TargetTags: []string{"nodes"},
		Network: "global/networks/default", SourceRanges: []string{"192.0.2.0/24"},
		DestinationRanges: []string{r.IPAddress}, Allowed: []*compute.FirewallAllowed{{IPProtocol: "tcp",
			Ports: []string{"80"}}}}))
	return r
}

func TestExternalLoadBalancerForwardsToItsPool(t *testing.T) {
	run(t, sim.Options{SettleTime: 3 * time.Second}, func(t *testing.T, c *cloud) {
		a, b := c.launch("a", zone), c.launch("b", "europe-west1-c")
		r := c.buildExternal("web", a)
		if r.IPAddress == "" || r.LoadBalancingScheme != "EXTERNAL" || r.NetworkTier != "PREMIUM" {
			t.Errorf("forwarding rule is %+v", r)
		}
		c.done(c.TargetPools.AddInstance(project, region, "web", &compute.TargetPoolsAddInstanceRequest{
			Instances: []*compute.InstanceReference{{Instance: b}}}))
		lbs := c.LoadBalancers()
		want := world.Listener{Protocol: "TCP", Port: 80, SourceRanges: []string{"192.0.2.0/24"}, Members: []string{"a", "b"}}
		if len(lbs) != 1 || len(lbs[0].Listeners) != 1 || !slices.Equal(lbs[0].Listeners[0].Members, want.Members) ||
			!slices.Equal(lbs[0].Listeners[0].SourceRanges, want.SourceRanges) || lbs[0].Addresses[0] != r.IPAddress {
			t.Errorf("load balancers are %+v, want one with %+v", lbs, want)
		}
		c.done(c.TargetPools.RemoveInstance(project, region, "web", &compute.TargetPoolsRemoveInstanceRequest{
			Instances: []*compute.InstanceReference{{Instance: a}}}))
		p := must[*compute.TargetPool](t)(c.TargetPools.Get(project, region, "web").Do())
		if !slices.Equal(p.Instances, []string{b}) {
			t.Errorf("instances are %v, want %s", p.Instances, b)
		}
		c.done(c.ForwardingRules.Delete(project, region, "web"))
		c.done(c.TargetPools.Delete(project, region, "web"))
		c.done(c.HttpHealthChecks.Delete(project, "web"))
		if lbs := c.LoadBalancers(); len(lbs) != 0 {
			t.Errorf("load balancers are %+v, want none", lbs)
		}
	})
}
