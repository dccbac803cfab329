package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// LoadBalancers implements world.World for both generations.
func (c *Cloud) LoadBalancers() []world.LoadBalancer {
	var out []world.LoadBalancer
	c.inspect(func(t *tx) {
		for _, b := range t.balancers {
			out = append(out, t.toWorld(b))
		}
		for _, b := range t.classics {
			out = append(out, t.classicToWorld(b))
		}
	})
	// Sorting needs no lock.
	world.SortLoadBalancers(out)
	return out
}

func (t *tx) toWorld(b *balancer) world.LoadBalancer {
	out := world.LoadBalancer{Name: b.name, Internal: b.scheme == schemeInternal, Addresses: []string{t.balancerDNS(b)}}
	for _, l := range t.listeners {
		if l.balancer != b.arn {
			continue
		}
		listener := world.Listener{Port: l.port}
		var behind []string
		for _, arn := range l.targetGroups() {
			g := t.targetGroups[arn]
			listener.MemberPort = g.port
			members, groups := t.membersOf(b, g)
			listener.Members, behind = append(listener.Members, members...), append(behind, groups...)
		}
		for _, protocol := range transports(l.protocol) {
			listener.Protocol = protocol
			listener.SourceRanges = t.sources(b, l, listener.MemberPort, protocol, behind)
			out.Listeners = append(out.Listeners, listener)
		}
	}
	return out
}

// nodeOf returns the node with an instance's ID or one of its addresses; an address of no node is returned as it is.
func (t *tx) nodeOf(id string) string {
	if i := t.instances[id]; i != nil {
		return i.nodeName
	}
	if n := t.interfaceOf(id); n != nil && t.instances[n.instance] != nil {
		return t.instances[n.instance].nodeName
	}
	return id
}

// membersOf returns the nodes of a target group that can be reached, and the security groups of all, of which there are
// few.
func (t *tx) membersOf(b *balancer, g *targetGroup) (nodes, groups []string) {
	reach := t.reachOf(b, g)
	var last []string
	for _, x := range g.targets {
		if !x.drained.IsZero() {
			continue
		}
		if reach.target(x) {
			nodes = append(nodes, t.nodeOf(x.id))
		}
		if n := t.interfaceOf(x.id); n != nil && !slices.Equal(last, n.groups) {
			last = n.groups
			groups = append(groups, last...)
		}
	}
	return nodes, groups
}

// sources returns the networks that may connect: by the load balancer's own security groups, or if it has
// none, by the client rules of those behind it.
func (t *tx) sources(b *balancer, l *listener, memberPort int32, transport v1.Protocol, behind []string) []string {
	protocol := strings.ToLower(string(transport))
	if b.withGroups {
		return t.rangesOf(b.groups, protocol, l.port, func(*rule) bool { return true })
	}
	if len(behind) == 0 {
		return nil // No rule applies yet.
	}
	slices.Sort(behind)
	return t.rangesOf(slices.Compact(behind), protocol, memberPort,
		func(r *rule) bool { return !strings.HasPrefix(r.description, healthRule) })
}

// healthRule starts the description of rules on nodes that let health checks in, as all cloud controller managers for
// AWS write it.
const healthRule = "kubernetes.io/rule/nlb/health"

// rangesOf returns the networks that rules of the groups let in on a port, noSource if there is none.
func (t *tx) rangesOf(groups []string, protocol string, port int32, keep func(*rule) bool) []string {
	var out []string
	for _, id := range groups {
		g := t.groups[id]
		if g == nil {
			continue
		}
		for _, r := range g.ingress {
			if cidr := cmp.Or(r.cidr4, r.cidr6); cidr != "" && r.covers(protocol, port) && keep(r) {
				out = append(out, cidr)
			}
		}
	}
	if len(out) == 0 {
		return []string{noSource}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (t *tx) classicToWorld(b *classic) world.LoadBalancer {
	out := world.LoadBalancer{Name: b.name, Internal: b.scheme == schemeInternal, Addresses: []string{b.dns}}
	var members []string
	for _, id := range b.instances {
		if t.reachable(b, id) {
			members = append(members, t.nodeOf(id))
		}
	}
	for _, l := range b.listeners {
		out.Listeners = append(out.Listeners, world.Listener{
			Protocol: v1.ProtocolTCP, Port: l.LoadBalancerPort, MemberPort: l.InstancePort, Members: slices.Clone(members),
			SourceRanges: t.rangesOf(b.groups, "tcp", l.LoadBalancerPort, func(*rule) bool { return true }),
		})
	}
	return out
}

// DeleteLoadBalancer implements world.World: target groups and security groups stay.
func (c *Cloud) DeleteLoadBalancer(name string) error {
	return c.console(func(t *tx) error {
		if b := t.balancerByName(name); b != nil {
			t.removeBalancer(b)
			return nil
		}
		if b := t.classics[name]; b != nil {
			t.removeClassic(b)
			return nil
		}
		return fmt.Errorf("no load balancer is called %q", name)
	})
}

// Names by which Drift calls what it changed, which are those of AWS, and a plan is expected to.
const (
	driftInterval        = "healthCheckIntervalSeconds"
	driftTargets         = "targets"
	driftClassicInterval = "interval"
	driftInstances       = "instances"
)

// Drift implements world.World. It changes the health check's interval of a network load
// balancer's first target group, or of a classic load balancer, and removes the first member, if there is one.
func (c *Cloud) Drift(name string) (fields []string, err error) {
	err = c.console(func(t *tx) error {
		if b := t.balancerByName(name); b != nil {
			fields, err = t.drift(b)
			return err
		}
		if b := t.classics[name]; b != nil {
			fields = b.drift()
			return nil
		}
		return fmt.Errorf("no load balancer is called %q", name)
	})
	return fields, err
}

func (b *classic) drift() []string {
	fields := []string{driftClassicInterval}
	b.check.Interval = driftedInterval(b.check.Interval)
	if len(b.instances) > 0 {
		b.instances = b.instances[1:]
		fields = append(fields, driftInstances)
	}
	return fields
}

// driftedInterval returns another interval of health checks, within the bounds of both generations and above any
// timeout of theirs.
func driftedInterval(seconds int32) int32 {
	if seconds > 200 {
		return seconds - 7
	}
	return seconds + 7
}

func (t *tx) drift(b *balancer) ([]string, error) {
	l := t.firstListener(b)
	if l == nil {
		return nil, fmt.Errorf("load balancer %q has no listener to change", b.name)
	}
	fields := []string{driftInterval}
	g := t.targetGroups[l.targetGroups()[0]]
	g.check.HealthCheckIntervalSeconds = driftedInterval(g.check.HealthCheckIntervalSeconds)
	if len(g.targets) > 0 {
		g.targets = g.targets[1:]
		fields = append(fields, driftTargets)
	}
	return fields, nil
}

// firstListener returns the listener with the lowest port.
func (t *tx) firstListener(b *balancer) *listener {
	var first *listener
	for _, l := range t.listeners {
		if l.balancer == b.arn && (first == nil || l.port < first.port) {
			first = l
		}
	}
	return first
}
