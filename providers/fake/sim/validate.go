package sim

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// Protocols of pools, listeners and health checks.
const (
	protocolTCP  = "TCP"
	protocolUDP  = "UDP"
	protocolHTTP = "HTTP"
)

// maxNameLength is the longest name that the cloud accepts.
const maxNameLength = 255

// maxAffinitySeconds is a day, the same limit that a Service's session affinity has.
const maxAffinitySeconds = 86400

// validName accepts names that are one segment of a path.
func validName(kind, name string) error {
	if name == "" {
		return invalid("the %s needs a name", kind)
	}
	if len(name) > maxNameLength {
		return invalid("%s name %q is longer than %d characters", kind, name, maxNameLength)
	}
	if strings.ContainsAny(name, "/ \t\r\n") || name == "." || name == ".." {
		return invalid("%s name %q must not contain slashes or blanks", kind, name)
	}
	return nil
}

func validPort(object string, port int32) error {
	if port < 1 || port > 65535 {
		return invalid("%s: port %d is not between 1 and 65535", object, port)
	}
	return nil
}

func validProtocol(object, protocol string) error {
	if protocol != protocolTCP && protocol != protocolUDP {
		return invalid("%s: protocol %q is unknown: use %s or %s", object, protocol, protocolTCP, protocolUDP)
	}
	return nil
}

func validSubnets(subnets []string) error {
	for i, s := range subnets {
		if s == "" {
			return invalid("a subnet has no name")
		}
		if slices.Contains(subnets[:i], s) {
			return invalid("subnet %q is given twice", s)
		}
	}
	return nil
}

// validPool checks all but the members.
func validPool(p api.Pool) error {
	object := "pool " + p.Name
	if err := validProtocol(object, p.Protocol); err != nil {
		return err
	}
	switch {
	case p.ProxyProtocol < 0 || p.ProxyProtocol > 2:
		return invalid("%s: proxyProtocol %d is unknown: use 0 (off), 1 or 2", object, p.ProxyProtocol)
	case p.ProxyProtocol > 0 && p.Protocol != protocolTCP:
		return invalid("%s: proxyProtocol needs protocol %s", object, protocolTCP)
	case p.AffinitySeconds < 0 || p.AffinitySeconds > maxAffinitySeconds:
		return invalid("%s: affinitySeconds %d is not between 0 and %d", object, p.AffinitySeconds, maxAffinitySeconds)
	}
	switch p.Algorithm {
	case "", api.AlgorithmRoundRobin, api.AlgorithmLeastConnections, api.AlgorithmSourceIP:
	default:
		return invalid("%s: algorithm %q is unknown: use %s, %s or %s", object, p.Algorithm, api.AlgorithmRoundRobin,
			api.AlgorithmLeastConnections, api.AlgorithmSourceIP)
	}
	return validHealthCheck(object, p.HealthCheck)
}

func validHealthCheck(object string, h api.HealthCheck) error {
	switch {
	case h.Protocol != protocolTCP && h.Protocol != protocolHTTP:
		return invalid("%s: health check protocol %q is unknown: use %s or %s", object, h.Protocol, protocolTCP, protocolHTTP)
	case h.Protocol == protocolTCP && h.Path != "":
		return invalid("%s: a TCP health check has no path", object)
	case h.Protocol == protocolHTTP && !strings.HasPrefix(h.Path, "/"):
		return invalid("%s: health check path %q must begin with a slash", object, h.Path)
	}
	for _, n := range []struct {
		field string
		value int
	}{
		{"intervalSeconds", h.IntervalSeconds},
		{"timeoutSeconds", h.TimeoutSeconds},
		{"healthyThreshold", h.HealthyThreshold},
		{"unhealthyThreshold", h.UnhealthyThreshold},
	} {
		if n.value < 1 {
			return invalid("%s: health check %s %d must be at least 1", object, n.field, n.value)
		}
	}
	if h.Port == 0 { // the member's own port
		return nil
	}
	return validPort(object+": health check", h.Port)
}

func validListener(lb *loadBalancer, l api.Listener) error {
	object := "listener " + l.Name
	if err := validProtocol(object, l.Protocol); err != nil {
		return err
	}
	if err := validPort(object, l.Port); err != nil {
		return err
	}
	i := poolIndex(lb, l.Pool)
	if i < 0 {
		return invalid("%s: pool %q does not exist in load balancer %s", object, l.Pool, lb.ID)
	}
	if p := lb.Pools[i]; p.Protocol != l.Protocol {
		return invalid("%s: protocol %s does not fit pool %s with protocol %s", object, l.Protocol, p.Name, p.Protocol)
	}
	if l.IdleTimeoutSeconds < 0 {
		return invalid("%s: idleTimeoutSeconds %d must not be negative", object, l.IdleTimeoutSeconds)
	}
	for _, cidr := range l.SourceRanges {
		if err := checkCanonical(cidr); err != nil {
			return invalid("%s: source range %v", object, err)
		}
	}
	return nil
}

// checkCanonical rejects a CIDR with host bits: it would be returned in another form than it was written in,
// and look changed forever.
func checkCanonical(cidr string) error {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return invalid("%q is not a CIDR", cidr)
	}
	if canonical := p.Masked(); canonical.String() != cidr {
		return invalid("%q is not canonical: write %s", cidr, canonical)
	}
	return nil
}
