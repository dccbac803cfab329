package nlb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
)

// targetGroups returns the groups that a listener forwards to.
func (l *listener) targetGroups() []string {
	var out []string
	for _, a := range l.actions {
		out = append(out, a.groups()...)
	}
	return out
}

type certificate struct {
	CertificateArn string
	IsDefault      *bool
}

type listenerInput struct {
	LoadBalancerArn string
	listenerRef
	Protocol       string
	Port           *int32
	SslPolicy      *string
	Certificates   []certificate
	DefaultActions []action
	AlpnPolicy     []string
	Tags           []elb.Tag
}

func (t *Tx) createListener(in listenerInput) (out listenersOutput, err error) {
	b, err := t.findBalancer(in.LoadBalancerArn)
	if err != nil {
		return out, err
	}
	if in.Port == nil || in.Protocol == "" {
		return out, core.Validation("A listener port and protocol must be specified")
	}
	if len(in.DefaultActions) == 0 {
		return out, core.Validation("A default action must be specified")
	}
	tags, err := elb.CheckTags(in.Tags)
	if err != nil {
		return out, err
	}
	l := &listener{balancer: b.arn, attributes: listenerAttributes(in.Protocol)}
	if err := t.configure(l, in); err != nil {
		return out, err
	}
	if old := t.listenerOn(b.arn, l.port); old != nil {
		if !equalListeners(old, l) {
			return out, core.Refuse("DuplicateListener", "A listener already exists on this port for this load balancer '%s'",
				b.arn)
		}
		out.Listeners.Member = []listenerView{t.viewListener(old)}
		return out, nil
	}
	if len(t.listenersOf(b.arn)) >= t.Options.Quotas[core.QuotaListeners] {
		return out, core.Refuse("TooManyListeners", "The maximum number of listeners for load balancer '%s' has been reached",
			b.arn)
	}
	l.arn = t.ARN("elasticloadbalancing", fmt.Sprintf("listener/net/%s/%s/%016x", b.name, b.suffix,
		t.Random.Uint64()))
	t.listeners[l.arn] = l
	t.SetTags(l.arn, tags)
	t.HideNew(l.arn)
	t.markInUse(l)
	out.Listeners.Member = []listenerView{t.viewListener(l)}
	return out, nil
}

func equalListeners(a, b *listener) bool {
	return a.protocol == b.protocol && a.policy == b.policy && slices.Equal(a.targetGroups(), b.targetGroups()) &&
		slices.Equal(a.certificates, b.certificates) && slices.Equal(a.alpn, b.alpn)
}

// listenersOf returns the listeners of a load balancer, sorted by port.
func (t *Tx) listenersOf(balancer string) []*listener {
	var out []*listener
	for _, l := range t.listeners {
		if l.balancer == balancer {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b *listener) int { return cmp.Compare(a.port, b.port) })
	return out
}

// listenerOn returns the listener of a load balancer on a port, nil if there is none. TCP and UDP share one port space.
func (t *Tx) listenerOn(balancer string, port int32) *listener {
	for _, l := range t.listeners {
		if l.balancer == balancer && l.port == port {
			return l
		}
	}
	return nil
}

// configure applies a request to a listener, after all checks.
func (t *Tx) configure(l *listener, in listenerInput) error {
	after := *l
	if in.Port != nil {
		after.port = *in.Port
	}
	after.protocol = cmp.Or(in.Protocol, l.protocol)
	if in.DefaultActions != nil {
		after.actions = in.DefaultActions
	}
	if in.Certificates != nil {
		after.certificates = nil
		for _, c := range in.Certificates {
			after.certificates = append(after.certificates, c.CertificateArn)
		}
		if len(l.certificates) > 1 {
			after.certificates = append(after.certificates, l.certificates[1:]...)
		}
	}
	if in.SslPolicy != nil {
		after.policy = *in.SslPolicy
	}
	if in.AlpnPolicy != nil {
		after.alpn = in.AlpnPolicy
	}
	if after.protocol != "TLS" && l.protocol == "TLS" {
		after.certificates, after.policy, after.alpn = nil, "", nil
	}
	if after.protocol == "TLS" {
		after.policy = cmp.Or(after.policy, elb.DefaultPolicy)
	}
	if err := t.checkListener(&after); err != nil {
		return err
	}
	if after.protocol != l.protocol {
		after.attributes = listenerAttributes(after.protocol)
	}
	*l = after
	return nil
}

func (t *Tx) checkListener(l *listener) error {
	if !slices.Contains([]string{"TCP", "TLS", "UDP", "TCP_UDP"}, l.protocol) {
		return core.Refuse("UnsupportedProtocol", "Listener protocol '%s' is not supported for network load balancers",
			l.protocol)
	}
	if err := t.checkTLS(l); err != nil {
		return err
	}
	if len(l.actions) != 1 || l.actions[0].Type != "forward" || len(l.actions[0].groups()) == 0 {
		return core.Refuse("InvalidLoadBalancerAction",
			"Network load balancers require exactly one default action of type 'forward'")
	}
	for _, arn := range l.targetGroups() {
		g, err := t.findTargetGroup(arn)
		if err != nil {
			return err
		}
		if !slices.Contains(groupProtocols[l.protocol], g.protocol) {
			return core.Refuse("IncompatibleProtocols",
				"The listener protocol '%s' is not supported with the target group protocol '%s'", l.protocol, g.protocol)
		}
		for _, other := range t.balancersOf(arn) {
			if other != l.balancer {
				return core.Refuse("TargetGroupAssociationLimit",
					"The following target groups cannot be associated with more than one load balancer: %s", arn)
			}
		}
		b := t.balancers[l.balancer]
		if g.VPC != b.VPC {
			return refuseConfiguration("The target group '%s' does not belong to the VPC of the load balancer",
				arn)
		}
		if err := t.checkFamilies(b, l, g); err != nil {
			return err
		}
	}
	return nil
}

// checkFamilies rejects IP versions of a load balancer that its listener cannot forward to a target group. The user
// guide for network load balancers has these rules in "Create a listener", "Create a target group" and "Create a
// Network Load Balancer".
func (t *Tx) checkFamilies(b *balancer, l *listener, g *targetGroup) error {
	dual, datagrams := b.addressType == addressTypeDualStack, l.protocol == "UDP" || l.protocol == "TCP_UDP"
	switch {
	case g.addressType == addressTypeIPv6 && !dual:
		return refuseConfiguration("IPv6 target groups require a dualstack load balancer")
	case dual && datagrams && b.sourceNAT != "on":
		return refuseConfiguration(
			"%s listeners of dualstack load balancers require EnablePrefixForIpv6SourceNat", l.protocol)
	case dual && datagrams && g.addressType == addressTypeIPv4:
		return refuseConfiguration(
			"You can't use an IPv4 target group with a %s listener for a dualstack load balancer", l.protocol)
	}
	return nil
}

// checkAllFamilies checks the IP versions of a changed load balancer for all of its listeners.
func (t *Tx) checkAllFamilies(b *balancer) error {
	for _, l := range t.listenersOf(b.arn) {
		for _, arn := range l.targetGroups() {
			if err := t.checkFamilies(b, l, t.targetGroups[arn]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Tx) checkTLS(l *listener) error {
	if l.protocol != "TLS" {
		if len(l.certificates) > 0 {
			return refuseConfiguration("Certificates cannot be specified for %s listeners", l.protocol)
		}
		if l.policy != "" {
			return refuseConfiguration("A security policy cannot be specified for %s listeners",
				l.protocol)
		}
		return nil
	}
	if len(l.certificates) == 0 {
		return core.Validation("A certificate must be specified for TLS listeners")
	}
	for _, c := range l.certificates {
		if err := t.CheckCertificate(c); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(l.policy, "ELBSecurityPolicy-") {
		return core.Refuse("SSLPolicyNotFound", "SSL policy '%s' not found", l.policy)
	}
	return nil
}

// markInUse records when the health checks of a listener's target groups start.
func (t *Tx) markInUse(l *listener) {
	for _, arn := range l.targetGroups() {
		if g := t.targetGroups[arn]; g.usedSince.IsZero() {
			g.usedSince = t.Now
		}
	}
}

func (t *Tx) findListener(arn string) (*listener, error) {
	return find(t.listeners, arn, "listener", "listener",
		core.Refuse("ListenerNotFound", "One or more listeners not found"))
}

func (t *Tx) modifyListener(l *listener, in listenerInput) (out listenersOutput, err error) {
	if in.Port != nil && *in.Port != l.port && t.listenerOn(l.balancer, *in.Port) != nil {
		return out, core.Refuse("DuplicateListener", "A listener already exists on this port for this load balancer '%s'",
			l.balancer)
	}
	if err := t.checkProtocolChange(l, in.Protocol); err != nil {
		return out, err
	}
	if err := t.configure(l, in); err != nil {
		return out, err
	}
	t.markInUse(l)
	out.Listeners.Member = []listenerView{t.viewListener(l)}
	return out, nil
}

// checkProtocolChange rejects another protocol of a listener that AWS does not change in place. The parameter Protocol
// of ModifyListener in the API reference has this rule for dual-stack load balancers.
func (t *Tx) checkProtocolChange(l *listener, protocol string) error {
	datagrams := func(p string) bool { return p == "UDP" || p == "TCP_UDP" }
	fixed := t.Options.FixedProtocols && datagrams(l.protocol) ||
		datagrams(protocol) && (t.Options.FixedProtocols || t.balancers[l.balancer].addressType == addressTypeDualStack)
	if fixed && protocol != "" && protocol != l.protocol {
		return refuseConfiguration("The protocol of the listener cannot be changed from '%s' to '%s'", l.protocol, protocol)
	}
	return nil
}

func (t *Tx) deleteListener(l *listener, _ struct{ listenerRef }) (core.Nothing, error) {
	t.removeListener(l)
	return core.Nothing{}, nil
}

func (t *Tx) removeListener(l *listener) {
	delete(t.listeners, l.arn)
	t.RemoveRecords(l.arn)
}

func (t *Tx) describeListeners(in struct {
	elb.Page
	LoadBalancerArn string
	ListenerArns    []string
}) (out listenersOutput, err error) {
	var found []*listener
	switch {
	case in.LoadBalancerArn != "" && len(in.ListenerArns) > 0, in.LoadBalancerArn == "" && len(in.ListenerArns) == 0:
		return out, core.Validation("You must specify either listener ARNs or a load balancer ARN")
	case in.LoadBalancerArn != "":
		b, err := t.findBalancer(in.LoadBalancerArn)
		if err != nil {
			return out, err
		}
		for _, arn := range core.VisibleIDs(t.Base(), t.listeners) {
			if t.listeners[arn].balancer == b.arn {
				found = append(found, t.listeners[arn])
			}
		}
	}
	for _, arn := range in.ListenerArns {
		l, err := t.findListener(arn)
		if err != nil {
			return out, err
		}
		found = append(found, l)
	}
	out.Listeners, out.NextMarker, err = elb.Cut(found, in.Page, func(l *listener) string { return l.arn },
		t.viewListener)
	return out, err
}
