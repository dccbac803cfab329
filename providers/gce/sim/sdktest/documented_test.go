package sdktest

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	compute "google.golang.org/api/compute/v1"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
)

// refusal is a request that the documentation of a field or a page excludes.
type refusal struct {
	// documented is the statement, with the field of the reference or the page that has it.
	documented string
	call       func(c *cloud) starter
	reason     string
}

func (c *cloud) rule(change func(*compute.ForwardingRule)) starter {
	r := &compute.ForwardingRule{Name: "new", IPProtocol: "TCP", Target: "regions/europe-west1/targetPools/web", PortRange: "80"}
	change(r)
	return c.ForwardingRules.Insert(project, region, r)
}

func (c *cloud) inner(change func(*compute.ForwardingRule)) starter {
	r := c.internalRule("new")
	change(r)
	return c.ForwardingRules.Insert(project, region, r)
}

func forwardingRuleRefusals() []refusal {
	type fr = compute.ForwardingRule
	rule := func(documented, reason string, change func(*fr)) refusal {
		return refusal{documented, func(c *cloud) starter { return c.rule(change) }, reason}
	}
	inner := func(documented, reason string, change func(*fr)) refusal {
		return refusal{documented, func(c *cloud) starter { return c.inner(change) }, reason}
	}
	return []refusal{
		rule("ForwardingRule.name complies with RFC 1035", "invalid", func(r *fr) { r.Name = "Web" }),
		rule("ForwardingRule.name is provided by the client", "required", func(r *fr) { r.Name = "" }),
		rule("ForwardingRule.ports, portRange and allPorts are mutually exclusive", "invalid", func(r *fr) { r.Ports = []string{"80"} }),
		rule("ForwardingRule.allPorts is applicable to backend services", "invalid", func(r *fr) { r.PortRange, r.AllPorts = "", true }),
		rule("ForwardingRule.portRange requires TCP, UDP or SCTP", "invalid", func(r *fr) { r.IPProtocol = "ESP" }),
		rule("ForwardingRule.portRange has the pattern of ports", "invalid", func(r *fr) { r.PortRange = "80,81" }),
		rule("ForwardingRule.IPProtocol is an enum", "invalid", func(r *fr) { r.IPProtocol = "tcp" }),
		rule("ForwardingRule.target must be in the region", "invalid", func(r *fr) { r.Target = "regions/us-east1/targetPools/web" }),
		rule("ForwardingRule.target exists", "notFound", func(r *fr) { r.Target += "-missing" }),
		rule("ForwardingRule.target is a target pool", "invalid", func(r *fr) { r.Target = "global/httpHealthChecks/web" }),
		rule("ForwardingRule.IPAddress: overlapping port ranges of one address and protocol", "invalid", func(r *fr) { r.IPAddress = "web" }),
		rule("ForwardingRule.IPAddress references a reserved address", "invalid", func(r *fr) { r.IPAddress = "198.18.9.9" }),
		rule("ForwardingRule.networkTier equals that of the address", "invalid",
			func(r *fr) { r.IPAddress, r.NetworkTier, r.PortRange = "web", "STANDARD", "81" }),
		rule("ForwardingRule.networkTier is PREMIUM or STANDARD for a region", "invalid", func(r *fr) { r.NetworkTier = "FIXED_STANDARD" }),
		rule("ForwardingRule.allowGlobalAccess is for internal load balancers", "invalid", func(r *fr) { r.AllowGlobalAccess = true }),
		rule("ForwardingRule.serviceLabel complies with RFC 1035", "invalid", func(r *fr) { r.ServiceLabel = "No" }),
		rule("ForwardingRule.isMirroringCollector requires INTERNAL", "invalid", func(r *fr) { r.IsMirroringCollector = true }),
		inner("ForwardingRule.ports has up to five ports", "invalid", func(r *fr) { r.Ports = []string{"1", "2", "3", "4", "5", "6"} }),
		inner("ForwardingRule.ports are ports by number", "invalid", func(r *fr) { r.Ports = []string{"1-2"} }),
		inner("ForwardingRule.portRange is not for internal passthrough", "invalid", func(r *fr) { r.Ports, r.PortRange = nil, "80" }),
		inner("ForwardingRule.backendService is required for internal passthrough", "required", func(r *fr) { r.BackendService = "" }),
		inner("ForwardingRule.subnetwork must be specified in custom subnet mode", "invalid", func(r *fr) { r.Subnetwork = "" }),
		inner("ForwardingRule.IPAddress is in the range of the subnet", "invalid", func(r *fr) { r.IPAddress = "10.9.9.9" }),
		inner("ForwardingRule.IPAddress: one internal rule an address", "invalid", func(r *fr) { r.IPAddress, r.Ports = "inner", []string{"81"} }),
		inner("BackendService.protocol is that of its rules", "invalid", func(r *fr) { r.IPProtocol = "UDP" }),
		inner("BackendService.loadBalancingScheme: one type of load balancer", "invalid",
			func(r *fr) { r.LoadBalancingScheme, r.Subnetwork = "EXTERNAL", "" }),
		{"Method forwardingRules.insert: names are unique", func(c *cloud) starter {
			return c.rule(func(r *fr) { r.Name = "web" })
		}, "alreadyExists"},
		{"Method forwardingRules.setTarget: the type of the old target", func(c *cloud) starter {
			return c.ForwardingRules.SetTarget(project, region, "web", &compute.TargetReference{
				Target: "regions/europe-west1/backendServices/web"})
		}, "invalid"},
		{"Method forwardingRules.delete: of what exists", func(c *cloud) starter {
			return c.ForwardingRules.Delete(project, region, "missing")
		}, "notFound"},
		{"Regions exist", func(c *cloud) starter { return c.ForwardingRules.Delete(project, "nowhere-1", "web") }, "invalid"},
	}
}

func poolRefusals() []refusal {
	pool := func(documented, reason string, change func(*compute.TargetPool)) refusal {
		return refusal{documented, func(c *cloud) starter {
			p := &compute.TargetPool{Name: "new"}
			change(p)
			return c.TargetPools.Insert(project, region, p)
		}, reason}
	}
	return []refusal{
		pool("TargetPool.instances live in zones of the region", "invalid", func(p *compute.TargetPool) {
			p.Instances = []string{"zones/us-east1-a/instances/far"}
		}),
		pool("TargetPool.instances exist", "notFound", func(p *compute.TargetPool) { p.Instances = []string{"zones/" + zone + "/instances/no"} }),
		pool("TargetPool.healthChecks: only legacy ones", "invalid", func(p *compute.TargetPool) { p.HealthChecks = []string{"global/healthChecks/web"} }),
		pool("TargetPool.healthChecks: only one", "invalid", func(p *compute.TargetPool) {
			p.HealthChecks = []string{"global/httpHealthChecks/web", "global/httpHealthChecks/web"}
		}),
		pool("TargetPool.sessionAffinity has three values", "invalid", func(p *compute.TargetPool) { p.SessionAffinity = "HEADER_FIELD" }),
		pool("TargetPool.failoverRatio is in [0, 1]", "invalid", func(p *compute.TargetPool) {
			p.BackupPool, p.FailoverRatio = "regions/europe-west1/targetPools/web", 1.5
		}),
		pool("TargetPool.backupPool is in the region", "invalid", func(p *compute.TargetPool) {
			p.BackupPool, p.FailoverRatio = "regions/us-east1/targetPools/far", 0.5
		}),
		pool("TargetPool.failoverRatio: backupPool must also be set", "invalid", func(p *compute.TargetPool) { p.FailoverRatio = 0.5 }),
		{"Method targetPools.addHealthCheck: one may be specified", func(c *cloud) starter {
			c.done(c.HttpHealthChecks.Insert(project, &compute.HttpHealthCheck{Name: "other"}))
			return c.TargetPools.AddHealthCheck(project, region, "web", &compute.TargetPoolsAddHealthCheckRequest{
				HealthChecks: []*compute.HealthCheckReference{{HealthCheck: "global/httpHealthChecks/other"}}})
		}, "invalid"},
		{"Method targetPools.removeHealthCheck: of its own", func(c *cloud) starter {
			return c.TargetPools.RemoveHealthCheck(project, region, "web", &compute.TargetPoolsRemoveHealthCheckRequest{
				HealthChecks: []*compute.HealthCheckReference{{HealthCheck: "global/httpHealthChecks/missing"}}})
		}, "notFound"},
	}
}

func backendRefusals() []refusal {
	type bs = compute.BackendService
	service := func(documented, reason string, change func(*bs)) refusal {
		return refusal{documented, func(c *cloud) starter {
			b := &bs{Name: "new", LoadBalancingScheme: "INTERNAL", Protocol: "TCP", HealthChecks: []string{"global/healthChecks/web"}}
			change(b)
			return c.RegionBackendServices.Insert(project, region, b)
		}, reason}
	}
	return []refusal{
		service("Backend.group is a fully-qualified URL", "invalid", func(b *bs) {
			b.Backends = []*compute.Backend{{Group: "zones/" + zone + "/instanceGroups/ig"}}
		}),
		service("Backend.balancingMode of passthrough load balancers", "invalid", func(b *bs) {
			b.Backends = []*compute.Backend{{Group: igURL, BalancingMode: "UTILIZATION"}}
		}),
		service("BackendService.healthChecks: instance groups must have one", "required", func(b *bs) {
			b.HealthChecks, b.Backends = nil, []*compute.Backend{{Group: igURL}}
		}),
		service("BackendService.healthChecks: at most one", "invalid", func(b *bs) { b.HealthChecks = append(b.HealthChecks, b.HealthChecks...) }),
		service("BackendService.healthChecks: not all support legacy ones", "invalid", func(b *bs) {
			b.HealthChecks = []string{"global/httpHealthChecks/web"}
		}),
		service("BackendService.portName: omit for passthrough", "invalid", func(b *bs) { b.PortName = "http" }),
		service("BackendService.port: omit for passthrough", "invalid", func(b *bs) { b.Port = 80 }),
		service("BackendService.enableCDN: for application load balancers", "invalid", func(b *bs) { b.EnableCDN = true }),
		service("BackendService.timeoutSec: 1 to 2,147,483,647", "invalid", func(b *bs) { b.TimeoutSec = -1 }),
		service("BackendServiceFailoverPolicy.failoverRatio is in [0, 1]", "invalid", func(b *bs) {
			b.FailoverPolicy = &compute.BackendServiceFailoverPolicy{FailoverRatio: 2}
		}),
		service("BackendServiceLogConfig.sampleRate is in [0, 1]", "invalid", func(b *bs) {
			b.LogConfig = &compute.BackendServiceLogConfig{Enable: true, SampleRate: 2}
		}),
		service("BackendServiceLogConfig.sampleRate: only if logging is enabled", "invalid", func(b *bs) {
			b.LogConfig = &compute.BackendServiceLogConfig{SampleRate: 1}
		}),
		service("BackendService.network: only for internal ones", "invalid", func(b *bs) {
			b.LoadBalancingScheme, b.Network = "EXTERNAL", "global/networks/default"
		}),
		service("BackendServiceConnectionTrackingPolicy.idleTimeoutSec: 10 minutes to 16 hours", "invalid", func(b *bs) {
			b.ConnectionTrackingPolicy = &compute.BackendServiceConnectionTrackingPolicy{IdleTimeoutSec: 60}
		}),
		service("BackendService.protocol of passthrough load balancers", "invalid", func(b *bs) { b.Protocol = "HTTP" }),
		service("BackendService.sessionAffinity of passthrough load balancers", "invalid", func(b *bs) { b.SessionAffinity = "GENERATED_COOKIE" }),
		service("ConnectionDraining: page Enabling connection draining, 0 to 3,600 s", "invalid", func(b *bs) {
			b.ConnectionDraining = &compute.ConnectionDraining{DrainingTimeoutSec: 3601}
		}),
	}
}

const igURL = "https://www.googleapis.com/compute/v1/projects/simulated/zones/europe-west1-b/instanceGroups/ig"

func checkRefusals() []refusal {
	check := func(documented, reason string, change func(*compute.HealthCheck)) refusal {
		return refusal{documented, func(c *cloud) starter {
			h := &compute.HealthCheck{Name: "new", Type: "HTTP", HttpHealthCheck: &compute.HTTPHealthCheck{Port: 80}}
			change(h)
			return c.HealthChecks.Insert(project, h)
		}, reason}
	}
	return []refusal{
		check("HealthCheck.timeoutSec: invalid if greater than checkIntervalSec", "invalid", func(h *compute.HealthCheck) { h.TimeoutSec = 6 }),
		check("HealthCheck.type matches the protocol-specific field", "invalid", func(h *compute.HealthCheck) { h.Type = "TCP" }),
		check("HealthCheck: exactly one protocol-specific field", "invalid", func(h *compute.HealthCheck) {
			h.TcpHealthCheck = &compute.TCPHealthCheck{Port: 80}
		}),
		check("HealthCheck.type is specified", "required", func(h *compute.HealthCheck) { h.Type = "" }),
		check("Page Health checks overview: interval of at most 300 s", "invalid", func(h *compute.HealthCheck) { h.CheckIntervalSec = 301 }),
		check("Page Health checks overview: thresholds of at most 10", "invalid", func(h *compute.HealthCheck) { h.HealthyThreshold = 11 }),
		check("HTTPHealthCheck.port: 1 to 65535", "invalid", func(h *compute.HealthCheck) { h.HttpHealthCheck.Port = 65536 }),
		check("HTTPHealthCheck.portName: not supported", "invalid", func(h *compute.HealthCheck) { h.HttpHealthCheck.PortName = "http" }),
		check("HTTPHealthCheck.portSpecification: USE_NAMED_PORT is not supported", "invalid", func(h *compute.HealthCheck) {
			h.HttpHealthCheck.PortSpecification = "USE_NAMED_PORT"
		}),
		check("HTTPHealthCheck.requestPath is a path", "invalid", func(h *compute.HealthCheck) { h.HttpHealthCheck.RequestPath = "x" }),
		{"HttpHealthCheck.timeoutSec: invalid if greater than checkIntervalSec", func(c *cloud) starter {
			return c.HttpHealthChecks.Insert(project, &compute.HttpHealthCheck{Name: "new", TimeoutSec: 6})
		}, "invalid"},
		{"HttpHealthCheck.requestPath does not support query parameters", func(c *cloud) starter {
			return c.HttpHealthChecks.Insert(project, &compute.HttpHealthCheck{Name: "new", RequestPath: "/a?b=c"})
		}, "invalid"},
		{"HttpHealthCheck.port is a port", func(c *cloud) starter {
			return c.HttpHealthChecks.Insert(project, &compute.HttpHealthCheck{Name: "new", Port: 65536})
		}, "invalid"},
	}
}

func networkRefusals() []refusal {
	type fw = compute.Firewall
	firewall := func(documented, reason string, change func(*fw)) refusal {
		return refusal{documented, func(c *cloud) starter {
			f := &fw{Name: "new", Allowed: []*compute.FirewallAllowed{{IPProtocol: "tcp", Ports: []string{"80"}}}}
			change(f)
			return c.Firewalls.Insert(project, f)
		}, reason}
	}
	route := func(documented, reason string, change func(*compute.Route)) refusal {
		return refusal{documented, func(c *cloud) starter {
			r := &compute.Route{Name: "new", Network: "global/networks/default", DestRange: "10.244.1.0/24", Priority: 1000,
				NextHopInstance: "zones/" + zone + "/instances/a"}
			change(r)
			return c.Service.Routes.Insert(project, r)
		}, reason}
	}
	address := func(documented, reason string, change func(*compute.Address)) refusal {
		return refusal{documented, func(c *cloud) starter {
			a := &compute.Address{Name: "new"}
			change(a)
			return c.Addresses.Insert(project, region, a)
		}, reason}
	}
	return []refusal{
		firewall("Firewall.priority is between 0 and 65535", "invalid", func(f *fw) { f.Priority = 65536 }),
		firewall("Firewall.sourceTags: not for EGRESS", "invalid", func(f *fw) { f.Direction, f.SourceTags = "EGRESS", []string{"a"} }),
		firewall("Firewall.allowed.ports: only for UDP or TCP", "invalid", func(f *fw) { f.Allowed[0].IPProtocol = "icmp" }),
		firewall("Firewall.allowed.ports: an integer or a range", "invalid", func(f *fw) { f.Allowed[0].Ports = []string{"http"} }),
		firewall("Firewall.allowed.IPProtocol is required", "required", func(f *fw) { f.Allowed[0].IPProtocol = "" }),
		firewall("Firewall.sourceRanges are in CIDR format", "invalid", func(f *fw) { f.SourceRanges = []string{"10.0.0.0/33"} }),
		firewall("Page VPC firewall rules: IPv4 or IPv6 ranges, not both", "invalid", func(f *fw) { f.SourceRanges = []string{"0.0.0.0/0", "::/0"} }),
		firewall("Page VPC firewall rules: allow or deny", "invalid", func(f *fw) { f.Denied = []*compute.FirewallDenied{{IPProtocol: "all"}} }),
		firewall("Firewall.targetServiceAccounts: not at the same time as tags", "invalid", func(f *fw) {
			f.TargetTags, f.TargetServiceAccounts = []string{"nodes"}, []string{"a@simulated.iam.gserviceaccount.com"}
		}),
		firewall("Firewall.network exists", "notFound", func(f *fw) { f.Network = "global/networks/no" }),
		route("Route.destRange is a range", "invalid", func(r *compute.Route) { r.DestRange = "10.244.1.1/24" }),
		route("Route.nextHopInstance exists", "notFound", func(r *compute.Route) { r.NextHopInstance += "x" }),
		route("Page Routes: one next hop", "invalid", func(r *compute.Route) { r.NextHopIp = "10.132.0.2" }),
		route("Page Routes: not inside of a subnet's range", "invalid", func(r *compute.Route) { r.DestRange = "10.132.1.0/24" }),
		address("Address.network: only with the purpose VPC_PEERING", "invalid", func(a *compute.Address) {
			a.AddressType, a.Network, a.Subnetwork = "INTERNAL", "global/networks/default", "regions/europe-west1/subnetworks/default"
		}),
		address("Address.subnetwork: only with INTERNAL", "invalid", func(a *compute.Address) { a.Subnetwork = "regions/europe-west1/subnetworks/default" }),
		address("Address.address is in the subnet", "invalid", func(a *compute.Address) {
			a.AddressType, a.Address, a.Subnetwork = "INTERNAL", "10.9.0.5", "regions/europe-west1/subnetworks/default"
		}),
		address("Address.networkTier: internal ones are premium", "invalid", func(a *compute.Address) {
			a.AddressType, a.NetworkTier, a.Subnetwork = "INTERNAL", "STANDARD", "regions/europe-west1/subnetworks/default"
		}),
		address("Address.address: reserved once", "invalid", func(a *compute.Address) { a.Address = "198.18.0.2" }),
		address("Address.address: of the project", "invalid", func(a *compute.Address) { a.Address = "198.18.0.3" }),
		address("Address.name is unique", "alreadyExists", func(a *compute.Address) { a.Name = "web" }),
		address("Address.addressType is an enum", "invalid", func(a *compute.Address) { a.AddressType = "OTHER" }),
	}
}

// TestDocumentedRules sends what the reference of a field, a method or a page of the documentation excludes.
func TestDocumentedRules(t *testing.T) {
	for _, r := range slices.Concat(forwardingRuleRefusals(), poolRefusals(), backendRefusals(), checkRefusals(),
		networkRefusals()) {
		t.Run(r.documented, func(t *testing.T) {
			run(t, sim.Options{OtherRegions: []string{"us-east1"}}, func(_ *testing.T, c *cloud) {
				c.prepare()
				c.lenient = true
				before := c.Objects()
				call := r.call(c)
				status := map[string]int{"notFound": http.StatusNotFound, "alreadyExists": http.StatusConflict}[r.reason]
				if status == 0 {
					status = http.StatusBadRequest
				}
				c.refused(call, status, r.reason)
				if after := c.Objects(); after["forwarding-rules"] != before["forwarding-rules"] || after["addresses"] != before["addresses"] {
					t.Errorf("objects were %v, are %v", before, after)
				}
			})
		})
	}
}

// prepare creates resources to which the requests refer.
func (c *cloud) prepare() {
	c.t.Helper()
	a := c.launch("a", zone)
	c.launch("far", "us-east1-a")
	c.done(c.TargetPools.Insert(project, "us-east1", &compute.TargetPool{Name: "far"}))
	c.buildExternal("web", a)
	c.done(c.Addresses.Insert(project, region, &compute.Address{Name: "web", Address: c.address("web")}))
	c.backends("web", c.group("ig", zone, a))
	c.done(c.ForwardingRules.Insert(project, region, c.internalRule("inner")))
	c.done(c.Addresses.Insert(project, region, &compute.Address{Name: "inner", AddressType: "INTERNAL",
		Address: c.address("inner"), Subnetwork: c.Places().Subnetwork}))
}

func (c *cloud) address(rule string) string {
	c.t.Helper()
	return must[*compute.ForwardingRule](c.t)(c.ForwardingRules.Get(project, region, rule).Do()).IPAddress
}

// The documented defaults of fields.
func TestDocumentedDefaults(t *testing.T) {
	run(t, sim.Options{OtherRegions: []string{"us-east1"}}, func(t *testing.T, c *cloud) {
		c.prepare()
		f := must[*compute.Firewall](t)(c.Firewalls.Get(project, "fw-web").Do())
		if f.Priority != 1000 || f.Direction != "INGRESS" {
			t.Errorf("firewall is %+v", f)
		}
		c.done(c.HttpHealthChecks.Insert(project, &compute.HttpHealthCheck{Name: "d"}))
		h := must[*compute.HttpHealthCheck](t)(c.HttpHealthChecks.Get(project, "d").Do())
		if h.CheckIntervalSec != 5 || h.TimeoutSec != 5 || h.HealthyThreshold != 2 || h.UnhealthyThreshold != 2 || h.Port != 80 || h.RequestPath != "/" {
			t.Errorf("health check is %+v", h)
		}
		a := must[*compute.Address](t)(c.Addresses.Get(project, region, "web").Do())
		if a.AddressType != "EXTERNAL" || a.NetworkTier != "PREMIUM" || a.Status != "IN_USE" || len(a.Users) != 1 {
			t.Errorf("address is %+v", a)
		}
		b := must[*compute.BackendService](t)(c.RegionBackendServices.Get(project, region, "web").Do())
		if b.SessionAffinity != "NONE" || b.TimeoutSec != 30 || len(b.UsedBy) != 1 {
			t.Errorf("backend service is %+v", b)
		}
		r := must[*compute.ForwardingRule](t)(c.ForwardingRules.Get(project, region, "web").Do())
		if r.PortRange != "80-80" || !strings.HasPrefix(r.Target, "https://www.googleapis.com/compute/v1/projects/simulated/") {
			t.Errorf("forwarding rule is %+v", r)
		}
	})
}
