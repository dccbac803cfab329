package nlb

import (
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
)

// reach evaluates for one target group of one load balancer whether targets are reachable. Thousands of
// targets in a row share their security groups and port, so the last result is cached.
type reach struct {
	t    *Tx
	b    *balancer
	g    *targetGroup
	from elb.Peer

	groups []string
	port   int32
	last   bool
}

func (t *Tx) reachOf(b *balancer, g *targetGroup) *reach {
	from := t.PeerOf(b.ENIs, b.groups)
	if g.addressType == "ipv6" {
		from = from.OverIPv6()
	}
	return &reach{t: t, b: b, g: g, from: from}
}

// target reports whether health checks reach a target, and where the load balancer has security groups of
// its own, traffic too: otherwise traffic arrives with its clients' addresses, which sources shows.
func (r *reach) target(x *target) bool {
	n := r.t.InterfaceOf(x.id)
	if n == nil {
		return true // It is outside the VPC.
	}
	if r.port != x.port || !slices.Equal(r.groups, n.Groups) {
		r.groups, r.port, r.last = n.Groups, x.port, r.admitted(n.Groups, x.port)
	}
	return r.last
}

func (r *reach) admitted(groups []string, port int32) bool {
	check := port
	if p, err := strconv.ParseInt(r.g.check.HealthCheckPort, 10, 32); err == nil {
		check = int32(p)
	}
	ok := r.t.Admits(groups, r.from, "tcp", check)
	if r.b.withGroups {
		for _, protocol := range transports(r.g.protocol) {
			ok = ok && r.t.Admits(groups, r.from, strings.ToLower(string(protocol)), port)
		}
	}
	return ok
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
