package lb

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vm"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vpc"
)

// LoadBalancers returns the load balancers of the cluster's project in portable terms: a forwarding rule with what is
// behind it. Packets keep their destination, so members have no port of their own.
func (s *State) LoadBalancers() []world.LoadBalancer {
	var out []world.LoadBalancer
	for _, r := range s.rules() {
		if r.Ref().Project != s.Options.Project || r.Target == "" && r.BackendService == "" {
			continue
		}
		lb := world.LoadBalancer{Name: r.Name, Internal: r.LoadBalancingScheme == schemeInternal,
			Addresses: []string{r.IPAddress}}
		members, firewalls := s.members(r), s.Rules(s.networkOf(r), r.IPAddress)
		for _, port := range openPorts(r, firewalls) {
			lb.Listeners = append(lb.Listeners, s.listener(r, port, members, firewalls))
		}
		out = append(out, lb)
	}
	return out
}

// members returns the instances behind a rule.
func (s *State) members(r *Rule) []*vm.Instance {
	if p, ok := core.At[*Pool](s.Core(), r.Target); ok {
		return core.AllAt[*vm.Instance](s.Core(), p.Instances)
	}
	var out []*vm.Instance
	if b, ok := core.At[*Backends](s.Core(), r.BackendService); ok {
		for _, g := range s.groups(b) {
			out = append(out, s.membersOf(g)...)
		}
	}
	return out
}

// networkOf returns the network of the traffic of a rule: its own, or that of the machines.
func (s *State) networkOf(r *Rule) string {
	if r.Network != "" {
		return r.Network
	}
	return s.ClusterSubnet().Network
}

// openPorts returns the ports that a rule forwards and firewall rules name for its address, sorted. A port without a
// firewall rule is no listener, unless the rule has single ports: no traffic reaches the members.
func openPorts(r *Rule, firewalls []*vpc.Firewall) []int {
	ports := map[int]bool{}
	for _, p := range r.ranges() {
		if p.First == p.Last {
			ports[p.First] = true
		}
	}
	for _, f := range firewalls {
		for _, p := range f.PortsFor(r.IPAddress, r.IPProtocol) {
			for port := p.First; port <= p.Last && p.Last-p.First < 1000; port++ {
				if slices.ContainsFunc(r.ranges(), core.Ports{First: port, Last: port}.Overlaps) {
					ports[port] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(ports))
}

// listener returns one port of a rule. Its members are those instances that firewall rules let clients reach.
func (s *State) listener(r *Rule, port int, members []*vm.Instance, firewalls []*vpc.Firewall) world.Listener {
	out := world.Listener{Protocol: v1.Protocol(r.IPProtocol), Port: int32(port)} //nolint:gosec // a port
	ip := r.ip()
	var sources []string
	for _, i := range members {
		flow := vpc.Flow{Network: i.NetworkInterfaces[0].Network, Destination: ip, Protocol: r.IPProtocol, Port: port,
			Tags: i.Tags.Items}
		if open := vpc.Sources(firewalls, flow); len(open) > 0 {
			out.Members, sources = append(out.Members, i.Name), open
		}
	}
	if len(members) == 0 {
		sources = vpc.Sources(firewalls, vpc.Flow{Network: s.networkOf(r), Destination: ip, Protocol: r.IPProtocol,
			Port: port, Tags: s.Options.Tags})
	}
	out.SourceRanges = world.SourceRanges(sources)
	if slices.Contains(sources, "0.0.0.0/0") {
		out.SourceRanges = nil
	}
	return out
}

// named finds the rule of a load balancer of the cluster's project.
func (s *State) named(name string) (*Rule, error) {
	for _, r := range s.rules() {
		if r.Name == name && r.Ref().Project == s.Options.Project {
			return r, nil
		}
	}
	return nil, fmt.Errorf("load balancer %q does not exist", name)
}

// Delete deletes the forwarding rule of a load balancer, as another client would. What was behind it stays.
func (s *State) Delete(name string) error {
	r, err := s.named(name)
	if err != nil {
		return err
	}
	_, err = s.ruleCollection().Destroy(&core.Call{}, r)
	s.Advance()
	return err
}

// Drift changes fields of what is behind the rule of a load balancer, and returns their names in the API.
func (s *State) Drift(name string) ([]string, error) {
	r, err := s.named(name)
	if err != nil {
		return nil, err
	}
	if b, ok := core.At[*Backends](s.Core(), r.BackendService); ok {
		return driftBackends(b), nil
	}
	p, err := core.Get[*Pool](s.Core(), core.ParseURL(r.Target))
	if err != nil {
		return nil, err
	}
	var fields []string
	if len(p.Instances) > 0 {
		p.Instances, fields = p.Instances[1:], append(fields, "instances")
	}
	if len(p.HealthChecks) > 0 {
		p.HealthChecks, fields = nil, append(fields, "healthChecks")
	}
	if len(fields) == 0 {
		return nil, fmt.Errorf("load balancer %q has nothing to change", name)
	}
	return fields, nil
}

func driftBackends(b *Backends) []string {
	fields := []string{"sessionAffinity"}
	b.SessionAffinity = map[bool]string{true: "CLIENT_IP", false: "NONE"}[b.SessionAffinity == "NONE"]
	if len(b.Backends) > 0 {
		b.Backends, fields = b.Backends[1:], append(fields, "backends")
	}
	core.SetFingerprint(b)
	return fields
}
