// Package sample returns comparisons for tests: three columns, every verdict, evidence of every kind, sixty rows.
package sample

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
)

// groups has the rows of the sample, by group.
var groups = []struct {
	name string
	rows []string
}{
	{"Service", []string{"TCP port", "UDP port", "SCTP port", "Several ports", "TCP and UDP in one Service",
		"TCP and UDP with one port number", "Named target ports", "IPv4", "IPv6", "Dual stack",
		"External traffic policy Local", "Source ranges", "Session affinity by client", "spec.loadBalancerIP",
		"Load balancer class of this manager",
		"Load balancer class of another manager", "No node ports", "Port added", "Port removed",
		"Type changed to ClusterIP"}},
	{"Annotations", []string{"scheme: internal", "source-ranges", "proxy-protocol",
		"health-check-protocol", "health-check-port", "health-check-path", "health-check-interval", "health-check-timeout",
		"health-check-healthy-threshold", "health-check-unhealthy-threshold", "idle-timeout", "static-addresses", "tags",
		"subnets", "Unknown annotation", "Annotation with an invalid value"}},
	{"Nodes", []string{"Provider ID", "IPv4 addresses", "IPv6 addresses", "Instance type", "Zone and region",
		"Machine shut down", "Machine deleted", "Cloud API denies calls", "Cloud API is down", "Node of another cloud",
		"Node without a machine", "Machine replaced under the same name"}},
	{"Routes", []string{"Route created", "Route removed with its node", "Route of another tool at the destination",
		"IPv6 pod range"}},
	{"Lifecycle", []string{"Deletion leaves nothing", "Manager killed while it creates", "Manager restarted",
		"Load balancer changed by hand", "Take over from another manager", "Quota is reached", "Node joins", "Node leaves"}},
}

var columns = []report.Column{
	{Name: "aws", Title: "Amazon Web Services", Provider: "aws", Program: "ccm", Cloud: "simulator"},
	{Name: "fake", Title: "Fake", Provider: "fake", Program: "ccm", Cloud: "simulator"},
	{Name: "openstack", Title: "OpenStack", Provider: "openstack", Program: "ccm", Cloud: "services"},
}

// Report returns the sample.
func Report() report.Report {
	r := report.Report{Schema: report.Schema, Version: "v0.4.0", Kubernetes: "v1.37.1", Columns: slices.Clone(columns)}
	n := 0
	for _, g := range groups {
		for _, title := range g.rows {
			c := report.Capability{
				ID: strings.ToLower(g.name) + "." + slug(title), Group: g.name, Title: title,
				Detail: "It works if the cloud has the objects and the Service has an address.",
				Cells:  map[string]report.Cell{},
			}
			for i, column := range r.Columns {
				c.Cells[column.Name] = cell(title, column, verdict(n, i), n+i)
			}
			r.Capabilities = append(r.Capabilities, c)
			n++
		}
	}
	r.Operations = operations()
	return r
}

// WithProblems returns the sample of a run with problems: interrupted, a column that did not start, a contradiction and
// orphans.
func WithProblems() report.Report {
	r := Report()
	r.Missing = []string{"routes.ipv6-pod-range on openstack: interrupted"}
	r.Columns = append(r.Columns, report.Column{Name: "vsphere", Title: "vSphere",
		Provider: "vsphere", Program: "ccm", Cloud: "simulator", Error: "the simulator did not start: address in use"})
	cell := r.Capabilities[0].Cells["fake"]
	cell.Declared, cell.Leaked = report.Refuses, []string{"LoadBalancer lb-7f3a"}
	r.Capabilities[0].Cells["fake"] = cell
	r.Operations[0].Costs["aws"] = report.Cost{Missing: "interrupted"}
	cost := r.Operations[1].Costs["openstack"]
	cost.Left = []string{"FloatingIP 203.0.113.9"}
	r.Operations[1].Costs["openstack"] = cost
	return r
}

func slug(title string) string {
	return strings.Trim(strings.Join(strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	}), "-"), "-")
}

// verdict returns Works for most cells, and each other verdict for some.
func verdict(row, column int) report.Verdict {
	n := row*len(columns) + column
	if n%5 != 0 {
		return report.Works
	}
	all := report.Verdicts()
	return all[(n/5)%len(all)]
}

var summaries = map[report.Verdict]string{
	report.Works:            "Listeners, members and address exist.",
	report.WorksDifferently: "Works by a second load balancer for UDP; the Service has two addresses.",
	report.NotApplicable:    "The cloud has no networks of this family, and an Event reports it.",
	report.CreatedWithout: "UnsupportedAnnotation: load-balancer.unified-ccm.io/tags: the cloud has no tags, " +
		"so it has no effect; remove it",
	report.Refuses: "SyncLoadBalancerFailed: spec.ports[0].protocol is \"SCTP\": the cloud forwards only TCP and " +
		"UDP: use one of them (invalid)",
	report.Ignored: "The load balancer is created without the setting, and no Event reports it.",
	report.Failed:  "The scenario ended after 120 s without an address and without an Event.",
}

func cell(title string, column report.Column, v report.Verdict, seed int) report.Cell {
	c := report.Cell{Verdict: v, Summary: summaries[v], Seconds: 1.2 + float64(seed%9)/3}
	if v == report.NotApplicable {
		return c
	}
	e := evidence(title, column, v, seed)
	for _, call := range e.Calls {
		c.Calls++
		if call.Change {
			c.Changes++
		}
	}
	c.Evidence = e
	return c
}

func evidence(title string, column report.Column, v report.Verdict, seed int) *report.Evidence {
	works := v == report.Works || v == report.WorksDifferently
	name := slug(title)
	e := &report.Evidence{
		Manifest: fmt.Sprintf("# %s </script><script>alert(1)</script>\n"+
			"apiVersion: v1\nkind: Service\nmetadata:\n  name: %s\n"+
			"  annotations:\n    load-balancer.unified-ccm.io/scheme: internal\nspec:\n  type: LoadBalancer\n  ports:\n"+
			"  - name: web\n    port: 80\n    protocol: TCP\n", title, name),
		Checks: []report.Check{
			{Name: "address in the status", Want: "one",
				Got: map[bool]string{true: "one", false: "none"}[works], OK: works},
			{Name: "listeners", Want: "TCP/80", Got: map[bool]string{true: "TCP/80", false: ""}[works], OK: works},
			{Name: "members", Want: "node-1 node-2 node-3", Got: "node-1 node-2 node-3", OK: true},
		},
		Before: []report.Object{
			{Kind: "Network", Name: "nodes", ID: "net-1", Fields: map[string]string{"cidr": "10.0.0.0/16"}},
			{Kind: "SecurityGroup", Name: "nodes", ID: "sg-1", Fields: map[string]string{"rules": "1", "vpc": "net-1"}},
		},
	}
	e.After = append(e.After, e.Before[0])
	e.Calls, e.Events = calls(column, v, seed), events(name, v)
	if !works {
		e.After = append(e.After, e.Before[1])
		return e
	}
	e.Plan = fmt.Sprintf("Service demo/%s: 3 changes\n  + LoadBalancer k8s-%s\n      scheme: internal\n"+
		"  + Listener TCP/80\n      waits for: LoadBalancer k8s-%s\n  ~ SecurityGroup nodes\n      rules: 1 → 2\n",
		name, name, name)
	e.Status = "loadBalancer:\n  ingress:\n  - ip: 203.0.113.7\n    ipMode: VIP\n"
	e.After = append(e.After,
		report.Object{Kind: "SecurityGroup", Name: "nodes", ID: "sg-1",
			Fields: map[string]string{"rules": "2", "vpc": "net-1"}},
		report.Object{Kind: "LoadBalancer", Name: "k8s-" + name, ID: fmt.Sprintf("lb-%04x", seed*977),
			Fields: map[string]string{"scheme": "internal", "state": "active", "subnets": "subnet-a subnet-b"}},
		report.Object{Kind: "Listener", Name: "TCP/80", ID: fmt.Sprintf("ls-%04x", seed*991),
			Fields: map[string]string{"protocol": "TCP", "port": "80",
				// As long as real names, and without a space to break the line at.
				"DefaultActions.0.ForwardConfig.TargetGroupStickinessConfig.Enabled": "false"}})
	return e
}

func events(name string, v report.Verdict) []report.Event {
	object := "Service demo/" + name
	switch v {
	case report.Works, report.WorksDifferently:
		return []report.Event{
			{Seconds: 0.1, Type: "Normal", Reason: "EnsuringLoadBalancer", Object: object,
				Message: "Ensuring load balancer"},
			{Seconds: 1.4, Type: "Normal", Reason: "EnsuredLoadBalancer", Object: object,
				Message: "Ensured load balancer"},
		}
	case report.Refuses:
		return []report.Event{{Seconds: 0.1, Type: "Warning", Reason: "UnsupportedAnnotation", Object: object,
			Message: "load-balancer.unified-ccm.io/idle-timeout is not supported by this cloud; remove it"}}
	default:
		return nil
	}
}

func calls(column report.Column, v report.Verdict, seed int) []report.Call {
	names := map[string][]string{
		"aws": {"DescribeLoadBalancers", "DescribeSubnets", "CreateLoadBalancer", "CreateTargetGroup",
			"CreateListener"},
		"fake":      {"ListLoadBalancers", "ListNetworks", "CreateLoadBalancer", "AddMembers", "GetLoadBalancer"},
		"openstack": {"ListLoadBalancers", "ListPorts", "CreateLoadBalancer", "CreateFloatingIP", "UpdateMembers"},
	}[column.Provider]
	var out []report.Call
	start := 0.05
	for i := range 4 + seed%9 {
		call := report.Call{Seconds: start, Took: 0.04 + float64((seed+i)%5)/20, Operation: names[i%len(names)]}
		call.Change = i%len(names) >= 2 && v != report.Refuses
		if v == report.Failed && i == 3 {
			call.Error = "503 Service Unavailable"
		}
		start += call.Took * 0.7
		out = append(out, call)
	}
	return out
}

func operations() []report.Operation {
	rows := []struct {
		id, title, detail    string
		calls, changes, step int
	}{
		{"nodes-join", "50 nodes join", "Every node gets its provider ID, addresses and labels.", 6, 0, 1},
		{"services-create", "10 Services are created", "Each gets an address, in parallel.", 64, 41, 17},
		{"restart", "The manager restarts", "Nothing has changed in the meantime.", 9, 0, 2},
		{"node-joins", "One more node joins", "It becomes a member of all load balancers.", 12, 10, 3},
		{"services-delete", "10 Services are deleted", "Nothing of them is left.", 58, 40, 9},
	}
	var out []report.Operation
	for _, row := range rows {
		o := report.Operation{ID: row.id, Title: row.title, Detail: row.detail, Costs: map[string]report.Cost{}}
		for i, column := range columns {
			o.Costs[column.Name] = report.Cost{Calls: row.calls + i*row.step, Changes: row.changes, AgainCalls: 3 + i,
				Seconds: 1.5 * float64(i+1)}
		}
		out = append(out, o)
	}
	return out
}
