package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/world"
)

// LoadBalancers implements world.World for both generations.
func (c *Cloud) LoadBalancers() []world.LoadBalancer {
	var out []world.LoadBalancer
	c.look(func(t *tx) {
		for _, b := range t.balancers {
			out = append(out, t.portable(b))
		}
		for _, b := range t.classics {
			out = append(out, t.portableClassic(b))
		}
	})
	slices.SortFunc(out, func(a, b world.LoadBalancer) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func (t *tx) portable(b *balancer) world.LoadBalancer {
	out := world.LoadBalancer{Name: b.name, Internal: b.scheme == schemeInternal, Addresses: []string{t.balancerDNS(b)}}
	for _, l := range t.listeners {
		if l.balancer != b.arn {
			continue
		}
		listener := world.Listener{Port: l.port}
		for _, arn := range l.targetGroups() {
			g := t.targetGroups[arn]
			listener.MemberPort = g.port
			for _, x := range t.registered(g) {
				listener.Members = append(listener.Members, t.nodeOf(x.id))
			}
		}
		listener.SourceRanges = t.sources(b, l, listener.MemberPort)
		slices.Sort(listener.Members)
		for _, protocol := range transports(l.protocol) {
			listener.Protocol = protocol
			out.Listeners = append(out.Listeners, listener)
		}
	}
	sortListeners(out.Listeners)
	return out
}

func transports(protocol string) []v1.Protocol {
	switch protocol {
	case "UDP":
		return []v1.Protocol{v1.ProtocolUDP}
	case "TCP_UDP":
		return []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP}
	}
	return []v1.Protocol{v1.ProtocolTCP}
}

func sortListeners(list []world.Listener) {
	slices.SortFunc(list, func(a, b world.Listener) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})
}

// nodeOf is the node with an instance's ID or one of its addresses; what is no node is named as it is.
func (t *tx) nodeOf(id string) string {
	if i := t.instances[id]; i != nil {
		return i.nodeName
	}
	for _, n := range t.interfaces {
		if i := t.instances[n.instance]; i != nil && (slices.Contains(texts(n.private), id) || slices.Contains(texts(n.ipv6), id)) {
			return i.nodeName
		}
	}
	return id
}

// sources are the networks that may connect: by the load balancer's own security groups, or if it has
// none, by the client rules on the nodes'. A port that only other groups may reach has no sources.
func (t *tx) sources(b *balancer, l *listener, memberPort int32) []string {
	groups, port := b.groups, l.port
	if !b.withGroups {
		g, err := t.nodeGroup()
		if err != nil {
			return nil
		}
		groups, port = []string{g.id}, memberPort
	}
	protocol := string(transports(l.protocol)[0])
	return t.rangesOf(groups, strings.ToLower(protocol), port, func(r *rule) bool {
		return b.withGroups || !strings.HasPrefix(r.description, "kubernetes.io/rule/nlb/health")
	})
}

// rangesOf are the networks that rules of the groups let in on a port.
func (t *tx) rangesOf(groups []string, protocol string, port int32, keep func(*rule) bool) []string {
	var out []string
	for _, id := range groups {
		g := t.groups[id]
		if g == nil {
			continue
		}
		for _, r := range g.ingress {
			covers := r.protocol == allProtocols || r.protocol == protocol && r.from <= port && port <= r.to
			if cidr := cmp.Or(r.cidr4, r.cidr6); covers && cidr != "" && keep(r) {
				out = append(out, cidr)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (t *tx) portableClassic(b *classic) world.LoadBalancer {
	out := world.LoadBalancer{Name: b.name, Internal: b.scheme == schemeInternal, Addresses: []string{b.dns}}
	var members []string
	for _, id := range b.instances {
		members = append(members, t.nodeOf(id))
	}
	slices.Sort(members)
	for _, l := range b.listeners {
		out.Listeners = append(out.Listeners, world.Listener{
			Protocol: v1.ProtocolTCP, Port: l.LoadBalancerPort, MemberPort: l.InstancePort, Members: members,
			SourceRanges: t.rangesOf(b.groups, "tcp", l.LoadBalancerPort, func(*rule) bool { return true }),
		})
	}
	sortListeners(out.Listeners)
	return out
}

// DeleteLoadBalancer implements world.World: target groups and security groups are left over.
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

// Drift implements world.World. By hand it changes the health check's interval of a network load
// balancer's first target group, or of a classic load balancer, and takes the first member out.
func (c *Cloud) Drift(name string) (fields []string, err error) {
	err = c.console(func(t *tx) error {
		if b := t.balancerByName(name); b != nil {
			fields, err = t.drift(b)
			return err
		}
		if b := t.classics[name]; b != nil {
			b.check.Interval += 7
			b.instances = b.instances[min(1, len(b.instances)):]
			fields = []string{"healthCheck.interval", "instances"}
			return nil
		}
		return fmt.Errorf("no load balancer is called %q", name)
	})
	return fields, err
}

func (t *tx) drift(b *balancer) ([]string, error) {
	for _, arn := range sortedIDs(t.listeners) {
		l := t.listeners[arn]
		if l.balancer != b.arn {
			continue
		}
		g := t.targetGroups[l.targetGroups()[0]]
		g.check.HealthCheckIntervalSeconds += 7
		g.targets = g.targets[min(1, len(g.targets)):]
		return []string{"healthCheck.interval", "targets"}, nil
	}
	return nil, fmt.Errorf("load balancer %q has no listener to change", b.name)
}
