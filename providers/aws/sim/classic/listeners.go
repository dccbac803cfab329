package classic

import (
	"cmp"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
)

// listener is one port of a classic load balancer.
type listener struct {
	Protocol         string
	LoadBalancerPort int32
	InstanceProtocol string
	InstancePort     int32
	SSLCertificateID string `q:"SSLCertificateId" xml:"SSLCertificateId,omitempty"`
	policies         []string
}

func listenerOperations() []core.Operation[*Tx] {
	return []core.Operation[*Tx]{
		core.Write("CreateLoadBalancerListeners", core.On((*Tx).createListeners)),
		core.Write("DeleteLoadBalancerListeners", core.On((*Tx).deleteListeners)),
		core.Write("SetLoadBalancerListenerSSLCertificate", core.On((*Tx).setCertificate)),
	}
}

// layers are the protocols of a classic load balancer; both sides of a listener are of the same layer.
var layers = map[string]int{"HTTP": 7, "HTTPS": 7, "TCP": 4, "SSL": 4}

// checkListener completes and checks a listener that is added to others.
func (t *Tx) checkListener(have []*listener, l listener) error {
	front := strings.ToUpper(l.Protocol)
	back := strings.ToUpper(cmp.Or(l.InstanceProtocol, defaultInstanceProtocol(front)))
	switch {
	case layers[front] == 0:
		return core.Validation("Listener protocol '%s' must be one of HTTP, HTTPS, TCP, SSL", l.Protocol)
	case layers[front] != layers[back]:
		return core.Refuse("UnsupportedProtocol",
			"Listener protocol '%s' and instance protocol '%s' must be of the same layer",
			front, l.InstanceProtocol)
	case l.LoadBalancerPort < 1 || l.LoadBalancerPort > 65535:
		return core.Validation("Listener port '%d' must be between 1 and 65535", l.LoadBalancerPort)
	}
	if front == "HTTPS" || front == "SSL" {
		if l.SSLCertificateID == "" {
			return core.Validation("SSL Certificate must be specified for SSL/HTTPS listeners")
		}
		if t.CheckCertificate(l.SSLCertificateID) != nil {
			return core.Refuse("CertificateNotFound", "Server Certificate not found for the key: %s", l.SSLCertificateID)
		}
	}
	for _, old := range have {
		if old.LoadBalancerPort == l.LoadBalancerPort && !old.same(l) {
			return core.Refuse("DuplicateListener", "A listener already exists for port %d, but with a different InstancePort, "+
				"Protocol, or SSLCertificateId", l.LoadBalancerPort)
		}
	}
	return nil
}

func defaultInstanceProtocol(front string) string {
	if layers[front] == 7 {
		return "HTTP"
	}
	return "TCP"
}

func (l *listener) same(other listener) bool {
	other = other.complete()
	return l.Protocol == other.Protocol && l.InstanceProtocol == other.InstanceProtocol &&
		l.InstancePort == other.InstancePort &&
		l.SSLCertificateID == other.SSLCertificateID
}

// complete formats protocols as AWS does.
func (l listener) complete() listener {
	l.Protocol = strings.ToUpper(l.Protocol)
	l.InstanceProtocol = strings.ToUpper(cmp.Or(l.InstanceProtocol, defaultInstanceProtocol(l.Protocol)))
	return l
}

// addListeners adds listeners that were checked; an existing one stays unchanged. TLS listeners get the
// default negotiation policy.
func (b *balancer) addListeners(listeners []listener) {
	for _, l := range listeners {
		l = l.complete()
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

func (t *Tx) createListeners(b *balancer, in balancerInput) (core.Nothing, error) {
	have := slices.Clone(b.listeners)
	for _, l := range in.Listeners {
		if err := t.checkListener(have, l); err != nil {
			return core.Nothing{}, err
		}
		done := l.complete()
		have = append(have, &done)
	}
	b.addListeners(in.Listeners)
	return core.Nothing{}, nil
}

// deleteListeners ignores ports without a listener.
func (t *Tx) deleteListeners(b *balancer, in struct {
	ofBalancer
	LoadBalancerPorts []int32
}) (core.Nothing, error) {
	b.listeners = slices.DeleteFunc(b.listeners, func(l *listener) bool {
		return slices.Contains(in.LoadBalancerPorts, l.LoadBalancerPort)
	})
	return core.Nothing{}, nil
}

func (t *Tx) setCertificate(b *balancer, in struct {
	ofBalancer
	LoadBalancerPort int32
	SSLCertificateID string `q:"SSLCertificateId"`
}) (core.Nothing, error) {
	l := b.listener(in.LoadBalancerPort)
	switch {
	case l == nil:
		return core.Nothing{}, core.Refuse("ListenerNotFound", "No listener found on port %d for load balancer %s",
			in.LoadBalancerPort,
			b.name)
	case l.SSLCertificateID == "":
		return core.Nothing{}, core.RefuseConfiguration("The listener on port %d does not use SSL or HTTPS",
			in.LoadBalancerPort)
	case t.CheckCertificate(in.SSLCertificateID) != nil:
		return core.Nothing{}, core.Refuse("CertificateNotFound", "Server Certificate not found for the key: %s",
			in.SSLCertificateID)
	}
	l.SSLCertificateID = in.SSLCertificateID
	return core.Nothing{}, nil
}
