package sdktest

import (
	"net/http"
	"slices"
	"testing"
	"time"

	compute "google.golang.org/api/compute/v1"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

// group creates an instance group with instances.
func (c *cloud) group(name, zone string, instances ...string) string {
	c.t.Helper()
	c.done(c.InstanceGroups.Insert(project, zone, &compute.InstanceGroup{Name: name}))
	if len(instances) > 0 {
		c.done(c.InstanceGroups.AddInstances(project, zone, name, addRequest(instances...)))
	}
	return must[*compute.InstanceGroup](c.t)(c.InstanceGroups.Get(project, zone, name).Do()).SelfLink
}

func addRequest(instances ...string) *compute.InstanceGroupsAddInstancesRequest {
	r := &compute.InstanceGroupsAddInstancesRequest{}
	for _, i := range instances {
		r.Instances = append(r.Instances, &compute.InstanceReference{Instance: i})
	}
	return r
}

func removeRequest(instances ...string) *compute.InstanceGroupsRemoveInstancesRequest {
	return &compute.InstanceGroupsRemoveInstancesRequest{Instances: addRequest(instances...).Instances}
}

// backends creates a backend service of groups.
func (c *cloud) backends(name string, groups ...string) *compute.BackendService {
	c.t.Helper()
	c.done(c.HealthChecks.Insert(project, &compute.HealthCheck{Name: name, Type: "HTTP", CheckIntervalSec: 8, TimeoutSec: 1,
		HealthyThreshold: 1, UnhealthyThreshold: 3,
		HttpHealthCheck: &compute.HTTPHealthCheck{Port: 10256, RequestPath: "/healthz"}}))
	b := &compute.BackendService{Name: name, LoadBalancingScheme: "INTERNAL", Protocol: "TCP",
		HealthChecks: []string{"https://www.googleapis.com/compute/v1/projects/simulated/global/healthChecks/" + name}}
	for _, g := range groups {
		b.Backends = append(b.Backends, &compute.Backend{Group: g})
	}
	c.done(c.RegionBackendServices.Insert(project, region, b))
	return must[*compute.BackendService](c.t)(c.RegionBackendServices.Get(project, region, name).Do())
}

func (c *cloud) internalRule(name string) *compute.ForwardingRule {
	return &compute.ForwardingRule{Name: name, IPProtocol: "TCP", LoadBalancingScheme: "INTERNAL", Ports: []string{"80", "443"},
		BackendService: "regions/europe-west1/backendServices/web", Network: c.Places().Network,
		Subnetwork: c.Places().Subnetwork}
}

func TestInternalLoadBalancerForwardsToItsGroups(t *testing.T) {
	run(t, sim.Options{SettleTime: time.Second}, func(t *testing.T, c *cloud) {
		a, b := c.launch("a", zone), c.launch("b", "europe-west1-c")
		service := c.backends("web", c.group("ig", zone, a), c.group("ig", "europe-west1-c", b))
		if service.SessionAffinity != "NONE" || service.Backends[0].BalancingMode != "CONNECTION" {
			t.Errorf("backend service is %+v", service)
		}
		c.done(c.ForwardingRules.Insert(project, region, c.internalRule("web")))
		r := must[*compute.ForwardingRule](t)(c.ForwardingRules.Get(project, region, "web").Do())
		c.done(c.Firewalls.Insert(project, &compute.Firewall{Name: "fw", Network: c.Places().Network,
			DestinationRanges: []string{r.IPAddress}, Allowed: []*compute.FirewallAllowed{{IPProtocol: "tcp"}}}))
		lbs := c.LoadBalancers()
		if len(lbs) != 1 || !lbs[0].Internal || len(lbs[0].Listeners) != 2 || lbs[0].Listeners[0].SourceRanges != nil ||
			!slices.Equal(lbs[0].Listeners[0].Members, []string{"a", "b"}) {
			t.Errorf("load balancers are %+v", lbs)
		}
		if err := c.Terminate("b"); err != nil {
			t.Fatal(err)
		}
		if members := c.LoadBalancers()[0].Listeners[0].Members; !slices.Equal(members, []string{"a"}) {
			t.Errorf("members are %v after the deletion of an instance, want a", members)
		}
	})
}

// Reference of BackendService.fingerprint: an up-to-date one must be provided, otherwise 412 conditionNotMet.
func TestBackendServiceNeedsItsFingerprint(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		b := c.backends("web")
		update := *b
		update.SessionAffinity = "CLIENT_IP"
		c.done(c.RegionBackendServices.Update(project, region, "web", &update))
		c.refused(c.RegionBackendServices.Update(project, region, "web", &update), http.StatusPreconditionFailed, "conditionNotMet")
		update.Fingerprint = ""
		c.refused(c.RegionBackendServices.Patch(project, region, "web", &update), http.StatusPreconditionFailed, "conditionNotMet")
		b = must[*compute.BackendService](t)(c.RegionBackendServices.Get(project, region, "web").Do())
		c.done(c.RegionBackendServices.Patch(project, region, "web", &compute.BackendService{Fingerprint: b.Fingerprint,
			ConnectionDraining: &compute.ConnectionDraining{DrainingTimeoutSec: 30}}))
		b = must[*compute.BackendService](t)(c.RegionBackendServices.Get(project, region, "web").Do())
		if b.SessionAffinity != "CLIENT_IP" || b.ConnectionDraining.DrainingTimeoutSec != 30 || len(b.HealthChecks) != 1 {
			t.Errorf("backend service after a patch is %+v", b)
		}
	})
}

// Page "Backend services overview", restrictions of instance groups; issues name the reason.
func TestInstanceIsInOneLoadBalancedGroup(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		a, b := c.launch("a", zone), c.launch("b", zone)
		first, second := c.group("first", zone, a), c.group("second", zone, b)
		c.backends("web", first)
		c.done(c.InstanceGroups.AddInstances(project, zone, "second", addRequest(a)))
		other := &compute.BackendService{Name: "other", LoadBalancingScheme: "INTERNAL",
			HealthChecks: []string{"global/healthChecks/web"}, Backends: []*compute.Backend{{Group: second}}}
		c.refused(c.RegionBackendServices.Insert(project, region, other), http.StatusBadRequest, "instanceInMultipleLoadBalancedIgs")
		c.done(c.InstanceGroups.RemoveInstances(project, zone, "second", removeRequest(a)))
		c.done(c.RegionBackendServices.Insert(project, region, other))
		c.refused(c.InstanceGroups.AddInstances(project, zone, "second", addRequest(a)), http.StatusBadRequest,
			"instanceInMultipleLoadBalancedIgs")
	})
}

func TestInstanceGroupChangesAllOrNothing(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		a, b, other := c.launch("a", zone), c.launch("b", zone), c.launch("c", "europe-west1-c")
		c.group("ig", zone, a)
		missing := a + "-missing"
		c.refused(c.InstanceGroups.AddInstances(project, zone, "ig", addRequest(b, a)), http.StatusBadRequest, "memberAlreadyExists")
		c.refused(c.InstanceGroups.AddInstances(project, zone, "ig", addRequest(b, missing)), http.StatusNotFound, "notFound")
		c.refused(c.InstanceGroups.AddInstances(project, zone, "ig", addRequest(other)), http.StatusBadRequest, "invalid")
		c.refused(c.InstanceGroups.RemoveInstances(project, zone, "ig", removeRequest(a, b)), http.StatusBadRequest, "memberNotFound")
		c.refused(c.InstanceGroups.RemoveInstances(project, zone, "ig", removeRequest(a, missing)), http.StatusNotFound, "notFound")
		list := must[*compute.InstanceGroupsListInstances](t)(c.InstanceGroups.ListInstances(project, zone, "ig",
			&compute.InstanceGroupsListInstancesRequest{InstanceState: "ALL"}).Do())
		if len(list.Items) != 1 || list.Items[0].Instance != a {
			t.Errorf("instances are %+v, want a", list.Items)
		}
		g := must[*compute.InstanceGroup](t)(c.InstanceGroups.Get(project, zone, "ig").Do())
		if g.Size != 1 || g.Network != c.Places().Network || g.Subnetwork != c.Places().Subnetwork {
			t.Errorf("group is %+v", g)
		}
		c.done(c.InstanceGroups.SetNamedPorts(project, zone, "ig", &compute.InstanceGroupsSetNamedPortsRequest{
			Fingerprint: g.Fingerprint, NamedPorts: []*compute.NamedPort{{Name: "http", Port: 80}}}))
		c.refused(c.InstanceGroups.SetNamedPorts(project, zone, "ig", &compute.InstanceGroupsSetNamedPortsRequest{
			Fingerprint: g.Fingerprint}), http.StatusPreconditionFailed, "conditionNotMet")
	})
}

// Methods instanceGroups.delete ("must not belong to a backend service"), and the deletion of all that is in use.
func TestResourcesInUseCannotBeDeleted(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		c.backends("web", c.group("ig", zone, c.launch("a", zone)))
		c.done(c.ForwardingRules.Insert(project, region, c.internalRule("web")))
		c.buildExternal("out")
		for _, call := range []starter{c.InstanceGroups.Delete(project, zone, "ig"), c.HealthChecks.Delete(project, "web"),
			c.RegionBackendServices.Delete(project, region, "web"), c.TargetPools.Delete(project, region, "out"),
			c.HttpHealthChecks.Delete(project, "out")} {
			c.refused(call, http.StatusBadRequest, "resourceInUseByAnotherResource")
		}
	})
}

func TestHealthDependsOnInstancesAndFirewalls(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		a := c.launch("a", zone)
		g := c.group("ig", zone, a)
		c.backends("web", g)
		c.done(c.ForwardingRules.Insert(project, region, c.internalRule("web")))
		want := func(state string) {
			t.Helper()
			h := must[*compute.BackendServiceGroupHealth](t)(c.RegionBackendServices.GetHealth(project, region, "web",
				&compute.ResourceGroupReference{Group: g}).Do())
			if len(h.HealthStatus) != 1 || h.HealthStatus[0].HealthState != state {
				t.Errorf("health is %+v, want %s", h.HealthStatus, state)
			}
		}
		want("UNHEALTHY")
		c.done(c.Firewalls.Insert(project, &compute.Firewall{Name: "hc", Network: c.Places().Network,
			SourceRanges: []string{"130.211.0.0/22", "35.191.0.0/16"}, Allowed: []*compute.FirewallAllowed{{IPProtocol: "tcp",
				Ports: []string{"10256"}}}}))
		want("HEALTHY")
		if err := c.SetHealth("a", false); err != nil {
			t.Fatal(err)
		}
		want("UNHEALTHY")
		if err := c.SetHealth("a", true); err != nil {
			t.Fatal(err)
		}
		want("HEALTHY")
		if err := c.Stop("a"); err != nil {
			t.Fatal(err)
		}
		want("UNHEALTHY")

		out := c.buildExternal("out", a)
		h := must[*compute.TargetPoolInstanceHealth](t)(c.TargetPools.GetHealth(project, region, "out",
			&compute.InstanceReference{Instance: a}).Do())
		if len(h.HealthStatus) != 1 || h.HealthStatus[0].HealthState != "UNHEALTHY" || h.HealthStatus[0].IpAddress != out.IPAddress {
			t.Errorf("health is %+v", h.HealthStatus)
		}
	})
}

func TestForwardingRuleChangesGlobalAccessOnly(t *testing.T) {
	run(t, sim.Options{}, func(t *testing.T, c *cloud) {
		c.backends("web")
		c.done(c.ForwardingRules.Insert(project, region, c.internalRule("web")))
		r := must[*compute.ForwardingRule](t)(c.ForwardingRules.Get(project, region, "web").Do())
		c.done(c.ForwardingRules.Patch(project, region, "web", &compute.ForwardingRule{AllowGlobalAccess: true,
			Fingerprint: r.Fingerprint}))
		c.refused(c.ForwardingRules.Patch(project, region, "web", &compute.ForwardingRule{ForceSendFields: []string{"AllowGlobalAccess"},
			Fingerprint: r.Fingerprint}), http.StatusPreconditionFailed, "conditionNotMet")
		c.refused(c.ForwardingRules.Patch(project, region, "web", &compute.ForwardingRule{Ports: []string{"81"}}),
			http.StatusBadRequest, "invalid")
		r = must[*compute.ForwardingRule](t)(c.ForwardingRules.Get(project, region, "web").Do())
		if !r.AllowGlobalAccess {
			t.Errorf("global access is %t after a patch", r.AllowGlobalAccess)
		}
		c.done(c.ForwardingRules.SetLabels(project, region, "web", &compute.RegionSetLabelsRequest{
			LabelFingerprint: r.LabelFingerprint, Labels: map[string]string{"a": "b"}}))
		c.refused(c.ForwardingRules.SetLabels(project, region, "web", &compute.RegionSetLabelsRequest{
			LabelFingerprint: r.LabelFingerprint}), http.StatusPreconditionFailed, "conditionNotMet")
	})
}
