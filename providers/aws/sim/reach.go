package sim

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Nothing is forwarded here, but security groups are evaluated: a target that no rule lets the load balancer
// reach is unhealthy, and LoadBalancers leaves it out.

// noSource is what a listener's source ranges show when no rule lets any client in: an empty list would mean everyone.
const noSource = "none"

// peer is the source of connections: the network interfaces of a load balancer.
type peer struct {
	groups    []string
	addresses []netip.Addr
}

func (t *tx) peerOf(enis map[string]string, groups []string) peer {
	p := peer{groups: groups}
	for _, id := range enis {
		if n := t.interfaces[id]; n != nil {
			p.addresses = append(p.addresses, slices.Concat(n.private, n.ipv6)...)
		}
	}
	return p
}

// covers reports whether a rule is about a protocol, tcp or udp, and a port.
func (r *rule) covers(protocol string, port int32) bool {
	return r.protocol == allProtocols || r.protocol == protocol && r.from <= port && port <= r.to
}

// admits reports whether the rules of any of the groups let a peer in. A rule for networks must cover
// each of the peer's addresses of its family.
func (t *tx) admits(groups []string, p peer, protocol string, port int32) bool {
	var networks []netip.Prefix
	for _, id := range groups {
		g := t.groups[id]
		if g == nil {
			continue
		}
		for _, r := range g.ingress {
			if !r.covers(protocol, port) {
				continue
			}
			if r.group != "" && slices.Contains(p.groups, r.group) {
				return true
			}
			if network, err := netip.ParsePrefix(r.cidr4 + r.cidr6); err == nil {
				networks = append(networks, network)
			}
		}
	}
	if len(networks) == 0 {
		return false
	}
	return !slices.ContainsFunc(p.addresses, func(ip netip.Addr) bool {
		return ip.Is4() && !slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(ip) })
	})
}

// reach evaluates for one target group of one load balancer whether targets are reachable. Thousands of
// targets in a row share their security groups and port, so the last result is cached.
type reach struct {
	t    *tx
	b    *balancer
	g    *targetGroup
	from peer

	groups []string
	port   int32
	last   bool
}

func (t *tx) reachOf(b *balancer, g *targetGroup) *reach {
	return &reach{t: t, b: b, g: g, from: t.peerOf(b.enis, b.groups)}
}

// target reports whether health checks reach a target, and where the load balancer has security groups of
// its own, traffic too: otherwise traffic arrives with its clients' addresses, which sources shows.
func (r *reach) target(x *target) bool {
	n := r.t.interfaceOf(x.id)
	if n == nil {
		return true // It is outside the VPC.
	}
	if r.port != x.port || !slices.Equal(r.groups, n.groups) {
		r.groups, r.port, r.last = n.groups, x.port, r.admitted(n.groups, x.port)
	}
	return r.last
}

func (r *reach) admitted(groups []string, port int32) bool {
	check := port
	if p, err := strconv.ParseInt(r.g.check.HealthCheckPort, 10, 32); err == nil {
		check = int32(p)
	}
	ok := r.t.admits(groups, r.from, "tcp", check)
	if r.b.withGroups {
		for _, protocol := range transports(r.g.protocol) {
			ok = ok && r.t.admits(groups, r.from, strings.ToLower(string(protocol)), port)
		}
	}
	return ok
}

// interfaceOf returns the network interface of an instance, by its ID or by any of its addresses.
func (t *tx) interfaceOf(id string) *networkInterface {
	if i := t.instances[id]; i != nil {
		return t.primary(i)
	}
	ip, err := netip.ParseAddr(id)
	if err != nil {
		return nil
	}
	if t.byAddress == nil {
		t.byAddress = map[netip.Addr]*networkInterface{}
		for _, n := range t.interfaces {
			for _, own := range slices.Concat(n.private, n.ipv6) {
				t.byAddress[own] = n
			}
		}
	}
	return t.byAddress[ip]
}

// reachable reports whether a classic load balancer reaches an instance on all of its listeners' ports and with its
// checks.
func (t *tx) reachable(b *classic, instanceID string) bool {
	i := t.instances[instanceID]
	if i == nil || t.primary(i) == nil {
		return false
	}
	from, groups := t.peerOf(b.enis, b.groups), t.primary(i).groups
	parts := checkTarget.FindStringSubmatch(b.check.Target)
	if parts != nil {
		if port, err := strconv.ParseInt(parts[1]+parts[2], 10, 32); err == nil &&
			!t.admits(groups, from, "tcp", int32(port)) {
			return false
		}
	}
	return !slices.ContainsFunc(b.listeners,
		func(l *classicListener) bool { return !t.admits(groups, from, "tcp", l.InstancePort) })
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
