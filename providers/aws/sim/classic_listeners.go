package sim

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// classicListener is one port of a classic load balancer.
type classicListener struct {
	Protocol         string
	LoadBalancerPort int32
	InstanceProtocol string
	InstancePort     int32
	SSLCertificateID string `q:"SSLCertificateId"`
	policies         []string
}

func classicListenerOperations() []operation {
	return []operation{
		write("CreateLoadBalancerListeners", on((*tx).createClassicListeners)),
		write("DeleteLoadBalancerListeners", on((*tx).deleteClassicListeners)),
		write("SetLoadBalancerListenerSSLCertificate", on((*tx).setClassicCertificate)),
	}
}

// layers are the protocols of a classic load balancer; both sides of a listener are of the same layer.
var layers = map[string]int{"HTTP": 7, "HTTPS": 7, "TCP": 4, "SSL": 4}

// checkClassicListener completes and checks a listener that is added to others.
func (t *tx) checkClassicListener(have []*classicListener, l classicListener) error {
	front := strings.ToUpper(l.Protocol)
	back := strings.ToUpper(cmp.Or(l.InstanceProtocol, defaultInstanceProtocol(front)))
	switch {
	case layers[front] == 0:
		return validation("Listener protocol '%s' must be one of HTTP, HTTPS, TCP, SSL", l.Protocol)
	case layers[front] != layers[back]:
		return refuse("UnsupportedProtocol", "Listener protocol '%s' and instance protocol '%s' must be of the same layer",
			front, l.InstanceProtocol)
	case l.LoadBalancerPort < 1 || l.LoadBalancerPort > 65535:
		return validation("Listener port '%d' must be between 1 and 65535", l.LoadBalancerPort)
	case l.InstancePort < 1 || l.InstancePort > 65535:
		return validation("Instance port '%d' must be between 1 and 65535", l.InstancePort)
	}
	if front == "HTTPS" || front == "SSL" {
		if l.SSLCertificateID == "" {
			return validation("SSL Certificate must be specified for SSL/HTTPS listeners")
		}
		if t.checkCertificate(l.SSLCertificateID) != nil {
			return refuse("CertificateNotFound", "Server Certificate not found for the key: %s", l.SSLCertificateID)
		}
	}
	for _, old := range have {
		if old.LoadBalancerPort == l.LoadBalancerPort && !old.same(l) {
			return refuse("DuplicateListener", "A listener already exists for port %d, but with a different InstancePort, "+
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

func (l *classicListener) same(other classicListener) bool {
	other = other.complete()
	return l.Protocol == other.Protocol && l.InstanceProtocol == other.InstanceProtocol &&
		l.InstancePort == other.InstancePort &&
		l.SSLCertificateID == other.SSLCertificateID
}

// complete writes protocols as AWS shows them.
func (l classicListener) complete() classicListener {
	l.Protocol = strings.ToUpper(l.Protocol)
	l.InstanceProtocol = strings.ToUpper(cmp.Or(l.InstanceProtocol, defaultInstanceProtocol(l.Protocol)))
	return l
}

// addListeners adds listeners that were checked; an existing one stays as it is. TLS listeners
// get the default negotiation policy.
func (b *classic) addListeners(listeners []classicListener) {
	for _, l := range listeners {
		l = l.complete()
		if b.listener(l.LoadBalancerPort) != nil {
			continue
		}
		if l.SSLCertificateID != "" {
			if b.policy(defaultPolicy) == nil {
				b.policies = append(b.policies, &classicPolicy{name: defaultPolicy, kind: sslPolicyType,
					attributes: []policyAttribute{{"Reference-Security-Policy", defaultPolicy}}})
			}
			l.policies = []string{defaultPolicy}
		}
		b.listeners = append(b.listeners, &l)
	}
}

func (b *classic) listener(port int32) *classicListener {
	for _, l := range b.listeners {
		if l.LoadBalancerPort == port {
			return l
		}
	}
	return nil
}

func (t *tx) createClassicListeners(b *classic, in classicInput) (nothing, error) {
	have := slices.Clone(b.listeners)
	for _, l := range in.Listeners {
		if err := t.checkClassicListener(have, l); err != nil {
			return nothing{}, err
		}
		done := l.complete()
		have = append(have, &done)
	}
	b.addListeners(in.Listeners)
	return nothing{}, nil
}

// deleteClassicListeners ignores ports without a listener.
func (t *tx) deleteClassicListeners(b *classic, in struct {
	ofClassic
	LoadBalancerPorts []string
}) (nothing, error) {
	b.listeners = slices.DeleteFunc(b.listeners, func(l *classicListener) bool {
		return slices.Contains(in.LoadBalancerPorts, strconv.Itoa(int(l.LoadBalancerPort)))
	})
	return nothing{}, nil
}

func (t *tx) setClassicCertificate(b *classic, in struct {
	ofClassic
	LoadBalancerPort int32
	SSLCertificateID string `q:"SSLCertificateId"`
}) (nothing, error) {
	l := b.listener(in.LoadBalancerPort)
	switch {
	case l == nil:
		return nothing{}, refuse("ListenerNotFound", "No listener found on port %d for load balancer %s", in.LoadBalancerPort,
			b.name)
	case l.SSLCertificateID == "":
		return nothing{}, refuseClassic("The listener on port %d does not use SSL or HTTPS", in.LoadBalancerPort)
	case t.checkCertificate(in.SSLCertificateID) != nil:
		return nothing{}, refuse("CertificateNotFound", "Server Certificate not found for the key: %s", in.SSLCertificateID)
	}
	l.SSLCertificateID = in.SSLCertificateID
	return nothing{}, nil
}
