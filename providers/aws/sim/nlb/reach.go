package nlb

import (
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
)

// reach evaluates which targets of one target group a load balancer can reach. Thousands of targets in a row share
// their security groups and port, so the last result is cached.
type reach struct {
	t    *Tx
	b    *balancer
	g    *targetGroup
	peer elb.Peer

	lastGroups []string
	lastPort   int32
	lastResult bool
}

func (t *Tx) newReach(b *balancer, g *targetGroup) *reach {
	peer := t.PeerOf(b.ENIs, b.groups)
	if g.addressType == addressTypeIPv6 {
		peer = peer.OverIPv6()
	}
	return &reach{t: t, b: b, g: g, peer: peer}
}

// includes reports whether health checks reach a target, and traffic too if the load balancer has security groups:
// without groups, traffic arrives with its clients' addresses, which sourceRanges returns.
func (r *reach) includes(x *target) bool {
	n := r.t.InterfaceOf(x.id)
	if n == nil {
		return true // It is outside the VPC.
	}
	if r.lastPort != x.port || !slices.Equal(r.lastGroups, n.Groups) {
		r.lastGroups, r.lastPort, r.lastResult = n.Groups, x.port, r.admitted(n.Groups, x.port)
	}
	return r.lastResult
}

func (r *reach) admitted(groups []string, port int32) bool {
	checkPort := port
	if p, err := strconv.ParseInt(r.g.check.HealthCheckPort, 10, 32); err == nil {
		checkPort = int32(p)
	}
	ok := r.t.Admits(groups, r.peer, "tcp", checkPort)
	if r.b.hasGroups {
		for _, protocol := range transports(r.g.protocol) {
			ok = ok && r.t.Admits(groups, r.peer, strings.ToLower(string(protocol)), port)
		}
	}
	return ok
}

// transports returns the protocols of Service ports that a listener or target group serves.
func transports(protocol string) []v1.Protocol {
	switch protocol {
	case "UDP":
		return []v1.Protocol{v1.ProtocolUDP}
	case "TCP_UDP":
		return []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP}
	}
	return []v1.Protocol{v1.ProtocolTCP}
}
