package loadbalancer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/monitors"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
)

// legacy makes in the cloud what today's manager leaves behind for a Service: its names, tags and
// descriptions are written out here, because no byte of them may change with ours.
type legacy struct {
	r   *rig
	svc *v1.Service
	// cluster is the --cluster-name; "kubernetes" if it is empty.
	cluster string
	// name is the load balancer's; serviceName if it is empty.
	name string
	// untagged is from before there were tags.
	untagged bool
	// subnet is that of the VIP; the nodes' if it is empty.
	subnet string
}

// serviceName is the name of the Service's load balancer, and its tag.
func (l legacy) serviceName() string {
	return "kube_service_" + cmp.Or(l.cluster, "kubernetes") + "_" + l.svc.Namespace + "_" + l.svc.Name
}

func (l legacy) tags() []string {
	if l.untagged {
		return nil
	}
	return []string{l.serviceName()}
}

func (l legacy) annotation(key string) string { return l.svc.Annotations[annotation.Prefix+key] }

func (l legacy) ovn() bool { return l.r.settings.Provider == model.ProviderOVN }

// balancer makes the load balancer with everything in it, its floating IP and its security group.
func (l legacy) balancer() api.LoadBalancer {
	r := l.r
	r.t.Helper()
	spec := loadbalancers.CreateOpts{
		Name: cmp.Or(l.name, l.serviceName()), Tags: l.tags(),
		VipSubnetID: cmp.Or(l.subnet, r.privateSubnet), Provider: cmp.Or(r.settings.Provider, "amphora"),
		Description: fmt.Sprintf("Kubernetes external service %s/%s from cluster kubernetes", l.svc.Namespace, l.svc.Name),
	}
	for i := range l.svc.Spec.Ports {
		spec.Listeners = append(spec.Listeners, l.listener(i, spec.Name))
	}
	lb, err := r.api.CreateLoadBalancer(r.t.Context(), spec)
	if err != nil {
		r.t.Fatal(err)
	}
	if l.svc.Annotations[annotation.KeyInternal] != "true" {
		if _, err := r.api.CreateFloatingIP(r.t.Context(), floatingips.CreateOpts{
			FloatingNetworkID: r.publicNetwork, PortID: lb.VipPortID,
			Description: fmt.Sprintf("Floating IP for Kubernetes external service %s/%s from cluster kubernetes",
				l.svc.Namespace, l.svc.Name),
		}); err != nil {
			r.t.Fatal(err)
		}
	}
	if r.settings.ManageSecurityGroups {
		l.group()
	}
	return lb
}

// join makes a guest's part of a load balancer that another Service has.
func (l legacy) join(lb api.LoadBalancer) {
	l.r.t.Helper()
	ctx := l.r.t.Context()
	for i := range l.svc.Spec.Ports {
		spec := l.listener(i, l.serviceName())
		pool := *spec.DefaultPool
		var members []api.Member
		for _, m := range pool.Members {
			members = append(members, api.Member{Name: m.Name, Address: m.Address, Port: m.ProtocolPort, SubnetID: m.SubnetID, MonitorPort: ptr.Deref(m.MonitorPort, 0)})
		}
		spec.LoadbalancerID, spec.DefaultPool, pool.Members = lb.ID, nil, nil
		monitor := pool.Monitor
		pool.Monitor = nil
		made, err := l.r.api.CreateListener(ctx, spec)
		if err != nil {
			l.r.t.Fatal(err)
		}
		l.r.awaitActive()
		pool.ListenerID = made.ID
		in, err := l.r.api.CreatePool(ctx, pool)
		l.r.awaitActive()
		if m, ok := monitor.(monitors.CreateOpts); ok && err == nil {
			m.PoolID = in.ID
			_, err = l.r.api.CreateHealthMonitor(ctx, m)
			l.r.awaitActive()
		}
		if err == nil {
			err = l.r.api.SetMembers(ctx, in.ID, members)
		}
		l.r.awaitActive()
		if err != nil {
			l.r.t.Fatal(err)
		}
	}
	if _, err := l.r.api.UpdateLoadBalancer(ctx, lb.ID, loadbalancers.UpdateOpts{Tags: ptr.To(append(slices.Clone(lb.Tags), l.tags()...))}); err != nil {
		l.r.t.Fatal(err)
	}
}

// listener is that of one port, with its pool.
func (l legacy) listener(i int, name string) listeners.CreateOpts {
	port := l.svc.Spec.Ports[i]
	limit := -1
	pool := pools.CreateOpts{Name: fmt.Sprintf("pool_%d_%s", i, name), Protocol: pools.Protocol(port.Protocol), LBMethod: "ROUND_ROBIN"}
	spec := listeners.CreateOpts{Name: fmt.Sprintf("listener_%d_%s", i, name), Protocol: listeners.Protocol(port.Protocol), ProtocolPort: int(port.Port), ConnLimit: &limit, Tags: l.tags()}
	if l.ovn() {
		pool.LBMethod = "SOURCE_IP_PORT"
	} else {
		data, connect, inspect := 50000, 5000, 0
		spec.TimeoutClientData, spec.TimeoutMemberData, spec.TimeoutMemberConnect, spec.TimeoutTCPInspect = &data, &data, &connect, &inspect
		if spec.AllowedCIDRs = l.svc.Spec.LoadBalancerSourceRanges; len(spec.AllowedCIDRs) == 0 {
			spec.AllowedCIDRs = []string{"0.0.0.0/0"}
		}
	}
	switch {
	case l.annotation("default-tls-container-ref") != "":
		spec.Protocol, pool.Protocol, spec.DefaultTlsContainerRef = "TERMINATED_HTTPS", "HTTP", l.annotation("default-tls-container-ref")
	case l.annotation("x-forwarded-for") == "true":
		spec.Protocol, pool.Protocol, spec.InsertHeaders = "HTTP", "HTTP", map[string]string{"X-Forwarded-For": "true"}
	}
	switch l.annotation("proxy-protocol") {
	case "true", "v1":
		pool.Protocol = "PROXY"
	case "v2":
		pool.Protocol = "PROXYV2"
	}
	if l.svc.Spec.SessionAffinity == v1.ServiceAffinityClientIP {
		pool.Persistence = &pools.SessionPersistence{Type: "SOURCE_IP"}
	}
	probe := l.monitor(&pool, i, name)
	for _, n := range l.r.nodes {
		if port.NodePort == 0 {
			break // not one node can be a member
		}
		pool.Members = append(pool.Members, api.Member{
			Name: n.Name, Address: model.NodeAddress(n, v1.IPv4Protocol), Port: int(port.NodePort), SubnetID: l.r.privateSubnet, MonitorPort: probe,
		}.CreateOpts())
	}
	slices.Reverse(pool.Members) // in any order
	spec.DefaultPool = &pool
	return spec
}

// monitor adds the pool's health monitor, and returns the probed port of members; 0 for that of traffic.
func (l legacy) monitor(pool *pools.CreateOpts, i int, name string) int {
	if !l.r.settings.CreateMonitor || l.annotation("enable-health-monitor") == "false" {
		return 0
	}
	kind := map[v1.Protocol]string{v1.ProtocolTCP: "TCP", v1.ProtocolUDP: "UDP-CONNECT"}[l.svc.Spec.Ports[i].Protocol]
	m := monitors.CreateOpts{Name: fmt.Sprintf("monitor_%d_%s", i, name), Type: kind, Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3}
	if l.svc.Spec.HealthCheckNodePort == 0 || l.ovn() {
		pool.Monitor = m
		return 0
	}
	m.Type, m.URLPath, m.HTTPMethod, m.ExpectedCodes = "HTTP", "/healthz", "GET", "200"
	pool.Monitor = m
	return int(l.svc.Spec.HealthCheckNodePort)
}

// group makes the security group on the nodes' ports, without the rules that Neutron gives it.
func (l legacy) group() {
	r := l.r
	r.t.Helper()
	ctx := r.t.Context()
	g, err := r.api.CreateSecurityGroup(ctx, groups.CreateOpts{
		Name:        fmt.Sprintf("lb-sg-%s-%s-%s", l.svc.UID, l.svc.Namespace, l.svc.Name),
		Description: fmt.Sprintf("Security Group for %s/%s Service LoadBalancer in cluster kubernetes", l.svc.Namespace, l.svc.Name),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, rule := range g.Rules {
		if err := r.api.DeleteSecurityGroupRule(ctx, rule.ID); err != nil {
			r.t.Fatal(err)
		}
	}
	from := "10.0.0.0/16"
	if l.ovn() {
		from = "0.0.0.0/0"
	}
	var opening []rules.CreateOpts
	for _, p := range l.svc.Spec.Ports {
		opening = append(opening, rules.CreateOpts{
			SecGroupID: g.ID, Direction: "ingress", EtherType: "IPv4", Protocol: rules.RuleProtocol(strings.ToLower(string(p.Protocol))), PortRangeMin: int(p.NodePort), PortRangeMax: int(p.NodePort), RemoteIPPrefix: from,
		})
	}
	if probe := int(l.svc.Spec.HealthCheckNodePort); probe != 0 {
		opening = append(opening, rules.CreateOpts{SecGroupID: g.ID, Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortRangeMin: probe, PortRangeMax: probe, RemoteIPPrefix: "10.0.0.0/16"})
	}
	if _, err := r.api.CreateSecurityGroupRules(ctx, opening); err != nil {
		r.t.Fatal(err)
	}
	for _, n := range r.nodes {
		ports, err := r.api.ListPorts(ctx, api.PortFilter{
			DeviceIDs: []string{strings.TrimPrefix(n.Spec.ProviderID, "openstack:///")},
		})
		if err == nil {
			_, err = r.api.UpdatePort(ctx, ports[0].ID, api.PortUpdate{SecurityGroups: ptr.To(append(ports[0].SecurityGroups, g.ID)), RevisionNumber: &ports[0].Revision})
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
}

// records is everything that the cloud has for load balancers, one line an object, without our own
// tags. ids includes their IDs, and thereby their references.
func (r *rig) records(ids bool) []string {
	r.t.Helper()
	ctx := r.t.Context()
	var out []string
	line := func(id, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if ids {
			text += " " + id
		}
		out = append(out, text)
	}
	must := func(err error) {
		if err != nil {
			r.t.Fatal(err)
		}
	}
	balancers, err := r.api.ListLoadBalancers(ctx)
	must(err)
	for _, b := range balancers {
		line(b.ID+b.VipPortID+b.VipAddress, "load balancer %s %q %s %s %q", b.Name, b.Description, b.Provider, b.VipSubnetID, theirTags(b.Tags))
	}
	listeners, err := r.api.ListListeners(ctx, "")
	must(err)
	for _, l := range listeners {
		line(l.ID+l.DefaultPoolID, "listener %s %s %d limit %d, timeouts %d %d %d %d, from %q, headers %v, TLS %q %q", l.Name, l.Protocol, l.ProtocolPort, l.ConnLimit,
			l.TimeoutClientData, l.TimeoutMemberConnect, l.TimeoutMemberData, l.TimeoutTCPInspect, l.AllowedCIDRs, l.InsertHeaders, l.DefaultTlsContainerRef, theirTags(l.Tags))
	}
	pools, err := r.api.ListPools(ctx, "")
	must(err)
	for _, p := range pools {
		line(p.ID, "pool %s %s %s %s %q", p.Name, p.Protocol, p.LBMethod, p.Persistence.Type, theirTags(p.Tags))
		members, err := r.api.ListMembers(ctx, p.ID)
		must(err)
		for _, m := range members {
			line(m.ID, "member of %s: %s %s:%d in %s, probed at %d, weight %d", p.Name, m.Name, m.Address, m.Port, m.SubnetID, m.MonitorPort, m.Weight)
		}
	}
	monitors, err := r.api.ListHealthMonitors(ctx)
	must(err)
	for _, m := range monitors {
		line(m.ID, "monitor %s %s %d %d %d %d %s %s %s", m.Name, m.Type, m.Delay, m.Timeout, m.MaxRetries, m.MaxRetriesDown, m.URLPath, m.HTTPMethod, m.ExpectedCodes)
	}
	for _, f := range r.fips() {
		line(f.ID+f.PortID+f.FloatingIP, "floating IP %q, attached %t, %q", f.Description, f.PortID != "", theirTags(f.Tags))
	}
	out = append(out, r.groupRecords(ids)...)
	slices.Sort(out)
	return out
}

// groupRecords are security groups with the rules for what comes in, and the ports that have them.
func (r *rig) groupRecords(ids bool) []string {
	r.t.Helper()
	groups, err := r.api.ListSecurityGroups(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, g := range groups {
		if !strings.HasPrefix(g.Name, "lb-sg-") {
			continue
		}
		ports, err := r.api.ListPorts(r.t.Context(), api.PortFilter{SecurityGroup: g.ID})
		if err != nil {
			r.t.Fatal(err)
		}
		var rules []string
		for _, rule := range g.Rules {
			if rule.Direction == "ingress" {
				rules = append(rules, model.ShowRule(model.RuleOf(rule)))
			}
		}
		slices.Sort(rules)
		text := fmt.Sprintf("group %s %q on %d ports: %s", g.Name, g.Description, len(ports), strings.Join(rules, ", "))
		if ids {
			text += " " + g.ID
		}
		out = append(out, text)
	}
	return out
}

// theirTags are tags without ours.
func theirTags(tags []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return strings.HasPrefix(tag, "unified-ccm:") || tag == "" })
}
