package loadbalancer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// nilAPI is for tests that make no call: a call would panic.
type nilAPI struct{ API }

var errForeign = errors.New("another cloud's")

const webName = "k8s-default-web-1a2b3c4d"

// existing returns the state of the cloud after the wanted objects were created.
func existing(want Desired) Observed {
	lb := &api.LoadBalancer{
		ID: "lb-1", Name: want.LoadBalancer.Name, Cluster: want.LoadBalancer.Cluster, Scheme: want.LoadBalancer.Scheme,
		State: api.LBActive, Tags: want.LoadBalancer.Tags, Subnets: want.LoadBalancer.Subnets,
		Pools: slices.Clone(want.Pools), Listeners: slices.Clone(want.Listeners),
	}
	var have Observed
	for i, spec := range want.Addresses {
		a := api.Address{
			ID: fmt.Sprintf("addr-%d", i+1), Name: spec.Name, IP: spec.IP, Family: spec.Family,
			Cluster: spec.Cluster, Tags: spec.Tags, LoadBalancer: lb.ID,
		}
		if a.IP == "" {
			a.IP = map[string]string{"IPv4": "198.51.100.1", "IPv6": "2001:db8::1"}[a.Family]
		}
		have.Addresses = append(have.Addresses, a)
		lb.AddressIDs = append(lb.AddressIDs, a.ID)
		lb.Addresses = append(lb.Addresses, a.IP)
	}
	if lb.Scheme == string(intent.Internal) {
		lb.Addresses = []string{"10.241.0.1"}
	}
	have.LoadBalancer = lb
	return have
}

// steps shows a plan as "action kind name [field: before → after] <- what it waits for".
func steps(t *testing.T, p plan.Plan) []string {
	t.Helper()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	short := func(r plan.Ref) string { return strings.ReplaceAll(r.String(), webName, "LB") }
	var out []string
	for _, c := range p.Changes {
		line := short(c.Ref)
		if c.Action == plan.Update {
			for _, f := range c.Fields {
				line += fmt.Sprintf(" [%s: %s → %s]", f.Name, f.Before, f.After)
			}
		}
		for _, r := range c.After {
			line += " <- " + short(r)
		}
		out = append(out, strings.ReplaceAll(line, webName, "LB"))
	}
	return out
}

func TestDiff(t *testing.T) {
	t.Parallel()
	base := web()
	internal := web(func(in *intent.Service) { in.Scheme = intent.Internal })
	dual := web(func(in *intent.Service) { in.Families = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} })
	static := web(func(in *intent.Service) { in.StaticAddresses = []string{"198.51.100.7"} })
	tests := map[string]struct {
		// was is the existing state, nil for none; drift modifies it.
		was   *intent.Service
		drift func(*Observed)
		want  intent.Service
		plan  []string
	}{
		"create": {
			want: base,
			plan: []string{
				"create address LB-ipv4",
				"create load balancer LB <- create address LB-ipv4",
				"create pool tcp-80 <- create load balancer LB",
				"create listener tcp-80 <- create load balancer LB <- create pool tcp-80",
			},
		},
		"create internal": {
			want: internal,
			plan: []string{
				"create load balancer LB",
				"create pool tcp-80 <- create load balancer LB",
				"create listener tcp-80 <- create load balancer LB <- create pool tcp-80",
			},
		},
		"nothing to do":                             {was: &base, want: base},
		"nothing to do, internal":                   {was: &internal, want: internal},
		"nothing to do, static":                     {was: &static, want: static},
		"a tag set by hand stays":                   {was: &base, want: base, drift: func(o *Observed) { o.LoadBalancer.Tags = ownTags(testKey(), nil); o.LoadBalancer.Tags["cost"] = "7" }},
		"the chosen address is no longer requested": {was: &static, want: base},
		"deleted by hand: its address is kept": {
			was: &base, want: base, drift: func(o *Observed) { o.removeLoadBalancer() },
			plan: []string{
				"create load balancer LB",
				"create pool tcp-80 <- create load balancer LB",
				"create listener tcp-80 <- create load balancer LB <- create pool tcp-80",
			},
		},
		"interrupted before its listener": {
			was: &base, want: base, drift: func(o *Observed) { o.LoadBalancer.Listeners = nil },
			plan: []string{"create listener tcp-80"},
		},
		"another port": {
			was: &base, want: web(func(in *intent.Service) { in.Ports[0].Port = 81 }),
			plan: []string{
				"create pool tcp-81",
				"delete pool tcp-80 <- delete listener tcp-80",
				"delete listener tcp-80",
				"create listener tcp-81 <- create pool tcp-81",
			},
		},
		"another node port": {
			was: &base, want: web(func(in *intent.Service) { in.Ports[0].NodePort = 30081 }),
			plan: []string{"update members tcp-80 [members: i-1:30080, i-2:30080 → i-1:30081, i-2:30081]"},
		},
		"a second family": {
			was: &base, want: dual,
			plan: []string{
				"create address LB-ipv6",
				"update load balancer LB [addressIDs: LB-ipv4 → LB-ipv4, LB-ipv6] <- create address LB-ipv6",
			},
		},
		"one family less": {
			was: &dual, want: base,
			plan: []string{
				"update load balancer LB [addressIDs: LB-ipv4, LB-ipv6 → LB-ipv4]",
				"delete address LB-ipv6 <- update load balancer LB",
			},
		},
		"a chosen address": {
			was: &base, want: static,
			plan: []string{
				"create address LB-ipv4-198.51.100.7",
				"update load balancer LB [addressIDs: LB-ipv4 → LB-ipv4-198.51.100.7] <- create address LB-ipv4-198.51.100.7",
				"delete address LB-ipv4 <- update load balancer LB",
			},
		},
		"to internal": {
			was: &base, want: internal,
			plan: []string{
				"delete load balancer LB",
				"create load balancer LB <- delete load balancer LB",
				"create pool tcp-80 <- create load balancer LB",
				"create listener tcp-80 <- create load balancer LB <- create pool tcp-80",
				"delete address LB-ipv4 <- delete load balancer LB",
			},
		},
		"to public": {
			was: &internal, want: base,
			plan: []string{
				"delete load balancer LB",
				"create address LB-ipv4",
				"create load balancer LB <- create address LB-ipv4 <- delete load balancer LB",
				"create pool tcp-80 <- create load balancer LB",
				"create listener tcp-80 <- create load balancer LB <- create pool tcp-80",
			},
		},
		"a port opened by hand under another name": {
			was: &base, want: base,
			drift: func(o *Observed) { o.LoadBalancer.Listeners[0].Name = "by-hand" },
			plan: []string{
				"delete listener by-hand",
				"create listener tcp-80 <- delete listener by-hand",
			},
		},
		"a listener redirected by hand": {
			was: &base, want: base,
			drift: func(o *Observed) {
				o.LoadBalancer.Pools = append(o.LoadBalancer.Pools, api.Pool{Name: "by-hand", Protocol: "TCP"})
				o.LoadBalancer.Listeners[0].Pool = "by-hand"
			},
			plan: []string{
				"delete pool by-hand <- update listener tcp-80",
				"update listener tcp-80 [pool: by-hand → tcp-80]",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var have Observed
			if test.was != nil {
				have = existing(mustDesire(t, *test.was, twoTargets()))
			}
			if test.drift != nil {
				test.drift(&have)
			}
			want := mustDesire(t, test.want, twoTargets())
			p, err := New(nilAPI{}, nil, nil).Diff(testKey(), &want, have)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.plan, steps(t, p)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// disruptionOf returns what the change of a field disrupts.
func disruptionOf(field string) plan.Disruption {
	for _, e := range Effects() {
		if slices.Contains(e.Fields, field) {
			return e.Disrupts
		}
	}
	return plan.DisruptsNothing
}

func TestDiffNamesEveryDriftedField(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		drift  func(*api.LoadBalancer)
		change string
		field  plan.Field
	}{
		"sourceRanges":                   {func(lb *api.LoadBalancer) { lb.Listeners[0].SourceRanges = []string{"0.0.0.0/0"} }, "update listener tcp-80", plan.Field{Before: "0.0.0.0/0"}},
		"idleTimeoutSeconds":             {func(lb *api.LoadBalancer) { lb.Listeners[0].IdleTimeoutSeconds = 9 }, "update listener tcp-80", plan.Field{Before: "9"}},
		"proxyProtocol":                  {func(lb *api.LoadBalancer) { lb.Pools[0].ProxyProtocol = 1 }, "update pool tcp-80", plan.Field{Before: "1"}},
		"algorithm":                      {func(lb *api.LoadBalancer) { lb.Pools[0].Algorithm = "source-ip" }, "update pool tcp-80", plan.Field{Before: "source-ip"}},
		"affinitySeconds":                {func(lb *api.LoadBalancer) { lb.Pools[0].AffinitySeconds = 60 }, "update pool tcp-80", plan.Field{Before: "60"}},
		"healthCheck.protocol":           {func(lb *api.LoadBalancer) { lb.Pools[0].HealthCheck.Protocol = "HTTP" }, "update pool tcp-80", plan.Field{Before: "HTTP", After: "TCP"}},
		"healthCheck.path":               {func(lb *api.LoadBalancer) { lb.Pools[0].HealthCheck.Path = "/x" }, "update pool tcp-80", plan.Field{Before: "/x"}},
		"healthCheck.port":               {func(lb *api.LoadBalancer) { lb.Pools[0].HealthCheck.Port = 1 }, "update pool tcp-80", plan.Field{Before: "1"}},
		"healthCheck.intervalSeconds":    {func(lb *api.LoadBalancer) { lb.Pools[0].HealthCheck.IntervalSeconds = 17 }, "update pool tcp-80", plan.Field{Before: "17", After: "10"}},
		"healthCheck.timeoutSeconds":     {func(lb *api.LoadBalancer) { lb.Pools[0].HealthCheck.TimeoutSeconds = 1 }, "update pool tcp-80", plan.Field{Before: "1", After: "5"}},
		"healthCheck.healthyThreshold":   {func(lb *api.LoadBalancer) { lb.Pools[0].HealthCheck.HealthyThreshold = 9 }, "update pool tcp-80", plan.Field{Before: "9", After: "2"}},
		"healthCheck.unhealthyThreshold": {func(lb *api.LoadBalancer) { lb.Pools[0].HealthCheck.UnhealthyThreshold = 9 }, "update pool tcp-80", plan.Field{Before: "9", After: "3"}},
		"members":                        {func(lb *api.LoadBalancer) { lb.Pools[0].Members = lb.Pools[0].Members[1:] }, "update members tcp-80", plan.Field{Before: "i-2:30080", After: "i-1:30080, i-2:30080", Membership: true}},
		"subnets":                        {func(lb *api.LoadBalancer) { lb.Subnets = []string{"s"} }, "update load balancer " + webName, plan.Field{Before: "s"}},
		"addressIDs":                     {func(lb *api.LoadBalancer) { lb.AddressIDs = []string{"addr-9"} }, "update load balancer " + webName, plan.Field{Before: "addr-9", After: webName + "-ipv4"}},
		"tags":                           {func(lb *api.LoadBalancer) { lb.Tags = map[string]string{TagService: "x"} }, "update load balancer " + webName, plan.Field{Before: "unified-ccm.io/service=x", After: "unified-ccm.io/cluster=prod, unified-ccm.io/cluster-uid=c-1, unified-ccm.io/service=default/web"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := mustDesire(t, web(), twoTargets())
			have := existing(want)
			test.drift(have.LoadBalancer)
			p, err := New(nilAPI{}, nil, nil).Diff(testKey(), &want, have)
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Changes) != 1 || p.Changes[0].String() != test.change {
				t.Fatalf("plan = %v, want only %q", steps(t, p), test.change)
			}
			test.field.Name = name
			if test.field.After != "" { // Without source ranges, all clients may connect.
				test.field.Disrupts = disruptionOf(name)
			}
			if diff := cmp.Diff([]plan.Field{test.field}, p.Changes[0].Fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if membership := p.Changes[0].Membership; membership != (name == "members") {
				t.Errorf("Membership = %t", membership)
			}
		})
	}
}

func TestDiffRemoval(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change   func(*Observed)
		plan     []string
		warnings int
	}{
		"everything": {
			func(*Observed) {},
			[]string{"delete load balancer LB", "delete address LB-ipv4 <- delete load balancer LB"}, 0,
		},
		"an orphaned address": {
			func(o *Observed) { o.removeLoadBalancer() }, []string{"delete address LB-ipv4"}, 0,
		},
		"nothing left":                                 {func(o *Observed) { *o = Observed{} }, nil, 0},
		"another cluster's load balancer":              {func(o *Observed) { o.LoadBalancer.Cluster = "test" }, nil, 2},
		"an address assigned to another load balancer": {func(o *Observed) { o.LoadBalancer = nil }, nil, 1},
		"another cluster's address is spared":          {func(o *Observed) { o.Addresses[0].Cluster = "test" }, []string{"delete load balancer LB"}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have := existing(mustDesire(t, web(), nil))
			test.change(&have)
			p, err := New(nilAPI{}, nil, nil).Diff(testKey(), nil, have)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.plan, steps(t, p)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if len(p.Warnings) != test.warnings {
				t.Errorf("warnings = %q, want %d", p.Warnings, test.warnings)
			}
		})
	}
}

func TestDiffRefusesAnotherClustersObjects(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*Observed){
		"load balancer by name": func(o *Observed) { o.LoadBalancer.Cluster = "test" },
		"load balancer by UID":  func(o *Observed) { o.LoadBalancer.Tags = map[string]string{TagClusterUID: "c-2"} },
		"address":               func(o *Observed) { o.LoadBalancer = nil; o.Addresses[0].Cluster = "test" },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := mustDesire(t, web(), nil)
			have := existing(want)
			change(&have)
			p, err := New(nilAPI{}, nil, nil).Diff(testKey(), &want, have)
			if !cloudapi.Is(err, cloudapi.Invalid) || !p.Empty() {
				t.Fatalf("Diff = %v, %v, want a refusal", p, err)
			}
			if !strings.Contains(err.Error(), "--cluster-name") || !strings.Contains(err.Error(), webName) {
				t.Errorf("the refusal names neither the object nor the fix: %v", err)
			}
		})
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	c := New(nilAPI{}, nil, nil)
	have := Observed{LoadBalancer: &api.LoadBalancer{Addresses: []string{"198.51.100.1", "2001:db8::1"}}}
	in := web(func(in *intent.Service) {
		in.Families = []v1.IPFamily{v1.IPv6Protocol, v1.IPv4Protocol}
		in.ProxyProtocol = 1
	})
	mode := v1.LoadBalancerIPModeProxy
	want := &v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{IP: "2001:db8::1", IPMode: &mode},
		{IP: "198.51.100.1", IPMode: &mode}}}
	if diff := cmp.Diff(want, c.Status(in, have).LoadBalancer); diff != "" {
		t.Errorf("Status (-want +got):\n%s", diff)
	}
	if got := c.Status(in, Observed{}).LoadBalancer; got != nil {
		t.Errorf("Status without a load balancer = %v, want nil", got)
	}
}
