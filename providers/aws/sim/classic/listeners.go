package classic

import (
	"cmp"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
)

// layers are the OSI layers of the protocols of a classic load balancer; both sides of a listener have the same one.
var layers = map[string]int{"HTTP": 7, "HTTPS": 7, "TCP": 4, "SSL": 4}

// Types of policies that clients can create.
const (
	sslPolicyType   = "SSLNegotiationPolicyType"
	proxyPolicyType = "ProxyProtocolPolicyType"
)

// checkListeners checks listeners that are added to existing ones.
func (t *Tx) checkListeners(existing []*listener, added []listener) error {
	existing = slices.Clone(existing)
	for _, l := range added {
		if err := t.checkListener(existing, l); err != nil {
			return err
		}
		existing = append(existing, new(l.normalized()))
	}
	return nil
}

// checkListener checks a listener that is added to others.
func (t *Tx) checkListener(others []*listener, l listener) error {
	n := l.normalized()
	switch {
	case layers[n.Protocol] == 0:
		return core.Validation("Listener protocol '%s' must be one of HTTP, HTTPS, TCP, SSL", l.Protocol)
	case layers[n.Protocol] != layers[n.InstanceProtocol]:
		return core.Refuse("UnsupportedProtocol",
			"Listener protocol '%s' and instance protocol '%s' must be of the same layer", n.Protocol, l.InstanceProtocol)
	case l.LoadBalancerPort < 1 || l.LoadBalancerPort > 65535:
		return core.Validation("Listener port '%d' must be between 1 and 65535", l.LoadBalancerPort)
	}
	if n.Protocol == "HTTPS" || n.Protocol == "SSL" {
		if l.SSLCertificateID == "" {
			return core.Validation("SSL Certificate must be specified for SSL/HTTPS listeners")
		}
		if t.CheckCertificate(l.SSLCertificateID) != nil {
			return core.Refuse("CertificateNotFound", "Server Certificate not found for the key: %s", l.SSLCertificateID)
		}
	}
	for _, old := range others {
		if old.LoadBalancerPort == l.LoadBalancerPort && !old.equals(l) {
			return core.Refuse("DuplicateListener", "A listener already exists for port %d, but with a different InstancePort, "+
				"Protocol, or SSLCertificateId", l.LoadBalancerPort)
		}
	}
	return nil
}

func defaultInstanceProtocol(protocol string) string {
	if layers[protocol] == 7 {
		return "HTTP"
	}
	return "TCP"
}

func (l *listener) equals(other listener) bool {
	other = other.normalized()
	return l.Protocol == other.Protocol && l.InstanceProtocol == other.InstanceProtocol &&
		l.InstancePort == other.InstancePort && l.SSLCertificateID == other.SSLCertificateID
}

// normalized returns the listener with the protocols that AWS shows: in upper case, and with the default.
func (l listener) normalized() listener {
	l.Protocol = strings.ToUpper(l.Protocol)
	l.InstanceProtocol = strings.ToUpper(cmp.Or(l.InstanceProtocol, defaultInstanceProtocol(l.Protocol)))
	return l
}

// addListeners adds listeners that were checked; an existing one stays unchanged. TLS listeners get the
// default negotiation policy.
func (b *balancer) addListeners(listeners []listener) {
	for _, l := range listeners {
		l = l.normalized()
		if b.listener(l.LoadBalancerPort) != nil {
			continue
		}
		if l.SSLCertificateID != "" {
			if b.policy(elb.DefaultPolicy) == nil {
				b.policies = append(b.policies, &policy{name: elb.DefaultPolicy, kind: sslPolicyType,
					attributes: []policyAttribute{{"Reference-Security-Policy", elb.DefaultPolicy}}})
			}
			l.policies = []string{elb.DefaultPolicy}
		}
		b.listeners = append(b.listeners, &l)
	}
}

func (b *balancer) listener(port int32) *listener {
	for _, l := range b.listeners {
		if l.LoadBalancerPort == port {
			return l
		}
	}
	return nil
}

func errNoListener(b *balancer, port int32) error {
	return core.Refuse("ListenerNotFound", "No listener found on port %d for load balancer %s", port, b.name)
}

// deleteListeners ignores ports without a listener.
func (t *Tx) deleteListeners(b *balancer, in struct {
	balancerRef
	LoadBalancerPorts []int32
}) (core.Nothing, error) {
	b.listeners = slices.DeleteFunc(b.listeners, func(l *listener) bool {
		return slices.Contains(in.LoadBalancerPorts, l.LoadBalancerPort)
	})
	return core.Nothing{}, nil
}

func (t *Tx) setCertificate(b *balancer, in struct {
	balancerRef
	LoadBalancerPort int32
	SSLCertificateID string `q:"SSLCertificateId"`
}) (core.Nothing, error) {
	l := b.listener(in.LoadBalancerPort)
	switch {
	case l == nil:
		return core.Nothing{}, errNoListener(b, in.LoadBalancerPort)
	case l.SSLCertificateID == "":
		return core.Nothing{}, refuseConfiguration("The listener on port %d does not use SSL or HTTPS",
			in.LoadBalancerPort)
	case t.CheckCertificate(in.SSLCertificateID) != nil:
		return core.Nothing{}, core.Refuse("CertificateNotFound", "Server Certificate not found for the key: %s",
			in.SSLCertificateID)
	}
	l.SSLCertificateID = in.SSLCertificateID
	return core.Nothing{}, nil
}
