package loadbalancer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// objectKinds is the number of requests that a manager makes for all Services together: versions, extensions, networks
// and a list of each kind.
const objectKinds = 10

// legacyFleet are 20 Services of all kinds that a manager with health monitors and security groups has. The last one
// shares the load balancer of the one before it.
func legacyFleet(otherSubnet string, r *rig) []*v1.Service {
	ports := func(list ...v1.ServicePort) func(*v1.Service) {
		return func(s *v1.Service) {
			s.Spec.Ports = nil
			for i, p := range list {
				p.Name, p.NodePort = fmt.Sprintf("port-%d", i), int32(30100+i)
				s.Spec.Ports = append(s.Spec.Ports, p)
			}
		}
	}
	udp := ports(v1.ServicePort{Protocol: v1.ProtocolUDP, Port: 53})
	both := ports(v1.ServicePort{Protocol: v1.ProtocolTCP, Port: 53}, v1.ServicePort{Protocol: v1.ProtocolUDP, Port: 53})
	one := onPorts(80)
	return []*v1.Service{
		service(named("tcp"), one),
		service(named("udp"), udp),
		service(named("tcp-and-udp"), both),
		service(named("two-ports")),
		service(named("three-ports"), onPorts(80, 443, 9001)),
		service(named("internal"), internal),
		service(named("internal-udp"), internal, udp),
		service(named("proxy-v1"), one, annotate("proxy-protocol", "true")),
		service(named("proxy-v2"), one, annotate("proxy-protocol", "v2")),
		service(named("forwarded-for"), one, annotate("x-forwarded-for", "true")),
		service(named("affinity"), one, func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP }),
		service(named("local"), one, local),
		service(named("local-udp"), udp, local),
		service(named("without-monitor"), one, annotate("enable-health-monitor", "false")),
		service(named("source-ranges"), one, func(s *v1.Service) {
			s.Spec.LoadBalancerSourceRanges = []string{"198.51.100.0/24", "203.0.113.7/32"}
		}),
		service(named("kept-address"), one, annotate("keep-floatingip", "true")),
		service(named("address")),
		service(named("other-subnet"), one, annotate("subnet-id", otherSubnet, "member-subnet-id", r.privateSubnet)),
		service(named("owner"), one),
		service(named("guest"), onPorts(8080)),
	}
}

// leaveFleet makes what today's manager leaves for the Services. It returns the number of load balancers.
func (r *rig) leaveFleet(services []*v1.Service) int {
	r.t.Helper()
	last := len(services) - 1
	for i, svc := range services[:last] {
		lb := legacy{r: r, svc: svc, untagged: i == 0, subnet: svc.Annotations[annotation.KeySubnetID]}.balancer()
		annotate("load-balancer-id", lb.ID)(svc)
		if svc.Name == "address" {
			svc.Spec.LoadBalancerIP = r.addressOf(lb)
		}
	}
	r.awaitActive()
	owner, guest := services[last-1], services[last]
	shared, err := r.api.GetLoadBalancer(r.t.Context(), owner.Annotations[annotation.KeyLoadBalancerID])
	if err != nil {
		r.t.Fatal(err)
	}
	annotate("load-balancer-id", shared.ID)(guest)
	legacy{r: r, svc: guest}.join(shared)
	legacy{r: r, svc: guest}.group()
	r.awaitActive()
	return last
}

// takeOverFleet takes the Services over twice without a change, and follows a node that joins and one that leaves. Then
// the objects are what today's manager would leave for those nodes.
func (r *rig) takeOverFleet(otherSubnet string, joining *v1.Node) {
	r.t.Helper()
	services := legacyFleet(otherSubnet, r)
	balancers := r.leaveFleet(services)
	before, lines := r.records(true), r.records(false)
	r.annotates = true
	for _, sync := range []string{"the first sync", "the first sync of the next manager"} {
		r.restart()
		together(services, func(svc *v1.Service) { r.ensure(svc) })
		r.t.Logf("%d Services with %d load balancers", len(services), balancers)
		r.wantCalls(sync, objectKinds+2*balancers)
		if m := r.mutations(); len(m) > 0 {
			r.t.Errorf("%s changes %v", sync, m)
		}
		if events := r.events(); len(events) > 0 {
			r.t.Logf("Events: %q", events)
		}
	}
	if diff := cmp.Diff(before, r.records(true)); diff != "" {
		r.t.Errorf("what changed (-before +after):\n%s", diff)
	}
	first := r.nodes[0]
	for _, nodes := range [][]*v1.Node{append(slices.Clone(r.nodes), joining), append(slices.Clone(r.nodes[1:]), joining)} {
		lines = onNodes(lines, first, len(r.nodes), nodes)
		r.nodes = nodes
		r.front.Log().Reset()
		together(services, func(svc *v1.Service) { r.update(svc) })
		r.t.Logf("%d nodes: %d calls, changes %v", len(nodes), len(r.calls()), tally(r.mutations()))
		if diff := cmp.Diff(lines, r.records(false)); diff != "" {
			r.t.Errorf("%d nodes (-as the other manager would leave it +now):\n%s", len(nodes), diff)
		}
	}
	together(services[:len(services)-1], func(svc *v1.Service) { r.remove(svc) })
	r.remove(services[len(services)-1])
}

// onNodes returns the records of objects for other nodes. A node that joins is like the template.
func onNodes(lines []string, template *v1.Node, had int, nodes []*v1.Node) []string {
	text := func(n *v1.Node) string {
		return ": " + n.Name + " " + model.NodeAddress(n, v1.IPv4Protocol) + ":"
	}
	groups := func(n int) string { return fmt.Sprintf(" on %d ports: ", n) }
	var out []string
	for _, line := range lines {
		member := strings.HasPrefix(line, "member of ")
		if !member {
			out = append(out, strings.Replace(line, groups(had), groups(len(nodes)), 1))
			continue
		}
		if !strings.Contains(line, text(template)) {
			continue
		}
		for _, n := range nodes {
			out = append(out, strings.Replace(line, text(template), text(n), 1))
		}
	}
	slices.Sort(out)
	return out
}

// tally counts operations.
func tally(operations []string) map[string]int {
	out := map[string]int{}
	for _, o := range operations {
		out[o]++
	}
	return out
}

// TestTakeOverFleet is TestTakeOverOnRealServices on the simulator.
func TestTakeOverFleet(t *testing.T) {
	bubble(t, sim.Options{}, Settings{CreateMonitor: true, ManageSecurityGroups: true}, func(r *rig) {
		other, err := r.sim.Subnet()
		if err != nil {
			t.Fatal(err)
		}
		joining := r.launch("node-3")
		r.nodes = r.nodes[:3]
		r.takeOverFleet(other, joining)
		r.dropFIPs()
		r.nothing()
	})
}
