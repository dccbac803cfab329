package sim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

type listener struct {
	arn, balancer, protocol string
	port                    int32
	policy                  string
	alpn                    []string
	// certificates begin with the default one.
	certificates []string
	actions      []action
	attributes   map[string]string
}

// action is what a listener does. Listeners of network load balancers forward, and nothing else.
type action struct {
	Type           string
	TargetGroupArn string
	Order          *int32
	ForwardConfig  *forward
}

type forward struct {
	TargetGroups []forwardGroup
	Stickiness   *struct {
		Enabled         bool
		DurationSeconds *int32
	} `q:"TargetGroupStickinessConfig"`
}

type forwardGroup struct {
	TargetGroupArn string
	Weight         *int32
}

// targetGroups returns the groups that a listener forwards to.
func (l *listener) targetGroups() []string {
	var out []string
	for _, a := range l.actions {
		out = append(out, a.groups()...)
	}
	return out
}

// forwardsTo returns requested each pair of a listener and a target group, so it makes no list.
func (l *listener) forwardsTo(group string) bool {
	for _, a := range l.actions {
		if a.TargetGroupArn == group {
			return true
		}
		if a.TargetGroupArn == "" && a.ForwardConfig != nil &&
			slices.ContainsFunc(a.ForwardConfig.TargetGroups, func(g forwardGroup) bool { return g.TargetGroupArn == group }) {
			return true
		}
	}
	return false
}

func (a action) groups() []string {
	if a.TargetGroupArn != "" {
		return []string{a.TargetGroupArn}
	}
	var out []string
	if a.ForwardConfig != nil {
		for _, g := range a.ForwardConfig.TargetGroups {
			out = append(out, g.TargetGroupArn)
		}
	}
	return out
}

func v2ListenerOperations() []operation {
	return []operation{
		read("DescribeListeners", (*tx).describeListeners),
		write("CreateListener", (*tx).createListener),
		write("ModifyListener", on((*tx).modifyListener)),
		write("DeleteListener", on((*tx).deleteListener)),
		read("DescribeListenerAttributes", on((*tx).describeListenerAttributes)),
		write("ModifyListenerAttributes", on((*tx).modifyListenerAttributes)),
		read("DescribeListenerCertificates", on((*tx).describeCertificates)),
		write("AddListenerCertificates", on((*tx).addCertificates)),
		write("RemoveListenerCertificates", on((*tx).removeCertificates)),
	}
}

type certificate struct {
	CertificateArn string
	IsDefault      *bool
}

type listenerInput struct {
	LoadBalancerArn string
	ofListener
	Protocol       string
	Port           *int32
	SslPolicy      *string
	Certificates   []certificate
	DefaultActions []action
	AlpnPolicy     []string
	Tags           []elbTag
}

// defaultPolicy is what a TLS listener gets that names no security policy.
const defaultPolicy = "ELBSecurityPolicy-2016-08"

func (t *tx) createListener(in listenerInput) (out listenersOutput, err error) {
	b, err := t.balancerOf(in.LoadBalancerArn)
	if err != nil {
		return out, err
	}
	if in.Port == nil || in.Protocol == "" {
		return out, validation("A listener port and protocol must be specified")
	}
	if len(in.DefaultActions) == 0 {
		return out, validation("A default action must be specified")
	}
	tags, err := checkELBTags(in.Tags)
	if err != nil {
		return out, err
	}
	l := &listener{balancer: b.arn, attributes: listenerAttributes(in.Protocol)}
	if err := t.change(l, in); err != nil {
		return out, err
	}
	if old := t.listenerOn(b.arn, l.port, nil); old != nil {
		if !sameListener(old, l) {
			return out, refuse("DuplicateListener", "A listener already exists on this port for this load balancer '%s'", b.arn)
		}
		out.Listeners.Member = []listenerView{t.viewListener(old)}
		return out, nil
	}
	if t.countListeners(b.arn) >= t.o.Quotas[QuotaListeners] {
		return out, refuse("TooManyListeners", "The maximum number of listeners for load balancer '%s' has been reached",
			b.arn)
	}
	l.arn = t.arn("elasticloadbalancing", fmt.Sprintf("listener/net/%s/%s/%016x", b.name, b.suffix,
		t.cloud.random.Uint64()))
	t.listeners[l.arn] = l
	t.setTags(l.arn, tags)
	t.hideNew(l.arn)
	t.markInUse(l)
	out.Listeners.Member = []listenerView{t.viewListener(l)}
	return out, nil
}

func sameListener(a, b *listener) bool {
	return a.protocol == b.protocol && a.policy == b.policy && slices.Equal(a.targetGroups(), b.targetGroups()) &&
		slices.Equal(a.certificates, b.certificates) && slices.Equal(a.alpn, b.alpn)
}

// listenerOn finds the listener of a load balancer on a port: TCP and UDP share one port space.
func (t *tx) listenerOn(balancer string, port int32, but *listener) *listener {
	for _, l := range t.listeners {
		if l.balancer == balancer && l.port == port && l != but {
			return l
		}
	}
	return nil
}

func (t *tx) countListeners(balancer string) (n int) {
	for _, l := range t.listeners {
		if l.balancer == balancer {
			n++
		}
	}
	return n
}

// change applies a request to a listener, after checking all of it.
func (t *tx) change(l *listener, in listenerInput) error {
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
		after.policy = cmp.Or(after.policy, defaultPolicy)
	}
	if err := t.checkListener(&after); err != nil {
		return err
	}
	*l = after
	return nil
}

func (t *tx) checkListener(l *listener) error {
	if l.port < 1 || l.port > 65535 {
		return validation("Port '%d' must be between 1 and 65535", l.port)
	}
	if !slices.Contains([]string{"TCP", "TLS", "UDP", "TCP_UDP"}, l.protocol) {
		return refuse("UnsupportedProtocol", "Listener protocol '%s' is not supported for network load balancers", l.protocol)
	}
	if err := t.checkTLS(l); err != nil {
		return err
	}
	if len(l.actions) != 1 || l.actions[0].Type != "forward" || len(l.actions[0].groups()) == 0 {
		return refuse("InvalidLoadBalancerAction",
			"Network load balancers require exactly one default action of type 'forward'")
	}
	for _, arn := range l.targetGroups() {
		g, err := t.targetGroupOf(arn)
		if err != nil {
			return err
		}
		if !slices.Contains(compatible[l.protocol], g.protocol) {
			return refuse("IncompatibleProtocols",
				"The listener protocol '%s' is not supported with the target group protocol '%s'", l.protocol, g.protocol)
		}
		for _, other := range t.balancersOf(arn) {
			if other != l.balancer {
				return refuse("TargetGroupAssociationLimit",
					"The following target groups cannot be associated with more than one load balancer: %s", arn)
			}
		}
		b := t.balancers[l.balancer]
		if g.vpc != b.vpc {
			return refuse("InvalidConfigurationRequest", "The target group '%s' does not belong to the VPC of the load balancer",
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
func (t *tx) checkFamilies(b *balancer, l *listener, g *targetGroup) error {
	dual, datagrams := b.addressType == "dualstack", l.protocol == "UDP" || l.protocol == "TCP_UDP"
	switch {
	case g.addressType == "ipv6" && !dual:
		return refuse("InvalidConfigurationRequest", "IPv6 target groups require a dualstack load balancer")
	case dual && datagrams && b.sourceNAT != "on":
		return refuse("InvalidConfigurationRequest",
			"%s listeners of dualstack load balancers require EnablePrefixForIpv6SourceNat", l.protocol)
	case dual && datagrams && g.addressType == "ipv4" && t.o.RejectIPv4DualStackUDP:
		return refuse("InvalidConfigurationRequest",
			"You can't use an IPv4 target group with a %s listener for a dualstack load balancer", l.protocol)
	}
	return nil
}

// checkAllFamilies does so for all listeners of a load balancer that is to change.
func (t *tx) checkAllFamilies(b *balancer) error {
	for _, l := range t.listeners {
		if l.balancer != b.arn {
			continue
		}
		for _, arn := range l.targetGroups() {
			if err := t.checkFamilies(b, l, t.targetGroups[arn]); err != nil {
				return err
			}
		}
	}
	return nil
}

// compatible are the protocols of target groups that a listener of each protocol can forward to.
var compatible = map[string][]string{
	"TCP": {"TCP", "TCP_UDP"}, "TLS": {"TCP", "TLS"}, "UDP": {"UDP", "TCP_UDP"}, "TCP_UDP": {"TCP_UDP"},
}

func (t *tx) checkTLS(l *listener) error {
	if l.protocol != "TLS" {
		if len(l.certificates) > 0 {
			return refuse("InvalidConfigurationRequest", "Certificates cannot be specified for %s listeners", l.protocol)
		}
		if l.policy != "" {
			return refuse("InvalidConfigurationRequest", "A security policy cannot be specified for %s listeners", l.protocol)
		}
		return nil
	}
	if len(l.certificates) == 0 {
		return validation("A certificate must be specified for TLS listeners")
	}
	for _, c := range l.certificates {
		if err := t.checkCertificate(c); err != nil {
			return err
		}
	}
	if !strings.HasPrefix(l.policy, "ELBSecurityPolicy-") {
		return refuse("SSLPolicyNotFound", "SSL policy '%s' not found", l.policy)
	}
	return nil
}

// checkCertificate refuses certificates that do not exist: ARNs of another form, and where the options list
// certificates, all others.
func (t *tx) checkCertificate(arn string) error {
	well := strings.Contains(arn, ":acm:") && strings.Contains(arn, ":certificate/") ||
		strings.Contains(arn, ":iam:") && strings.Contains(arn, ":server-certificate/")
	if !well || len(t.o.Certificates) > 0 && !slices.Contains(t.o.Certificates, arn) {
		return refuse("CertificateNotFound", "Certificate ARN '%s' is not valid", arn)
	}
	return nil
}

// markInUse records since when the target groups of a listener are health-checked.
func (t *tx) markInUse(l *listener) {
	for _, arn := range l.targetGroups() {
		if g := t.targetGroups[arn]; g.usedSince.IsZero() {
			g.usedSince = t.now
		}
	}
}

func (t *tx) listenerOf(arn string) (*listener, error) {
	if l := t.listeners[arn]; l != nil {
		return l, nil
	}
	if !strings.Contains(arn, ":listener/") {
		return nil, validation("'%s' is not a valid listener ARN", arn)
	}
	return nil, refuse("ListenerNotFound", "One or more listeners not found")
}

func (t *tx) modifyListener(l *listener, in listenerInput) (out listenersOutput, err error) {
	if in.Port != nil && t.listenerOn(l.balancer, *in.Port, l) != nil {
		return out, refuse("DuplicateListener", "A listener already exists on this port for this load balancer '%s'",
			l.balancer)
	}
	if err := t.change(l, in); err != nil {
		return out, err
	}
	t.markInUse(l)
	out.Listeners.Member = []listenerView{t.viewListener(l)}
	return out, nil
}

func (t *tx) deleteListener(l *listener, _ struct{ ofListener }) (nothing, error) {
	delete(t.listeners, l.arn)
	t.removeRecords(l.arn)
	return nothing{}, nil
}

func (t *tx) describeListeners(in struct {
	elbPage
	LoadBalancerArn string
	ListenerArns    []string
}) (out listenersOutput, err error) {
	var found []*listener
	switch {
	case in.LoadBalancerArn != "" && len(in.ListenerArns) > 0, in.LoadBalancerArn == "" && len(in.ListenerArns) == 0:
		return out, validation("You must specify either listener ARNs or a load balancer ARN")
	case in.LoadBalancerArn != "":
		b, err := t.balancerOf(in.LoadBalancerArn)
		if err != nil {
			return out, err
		}
		for _, arn := range sortedIDs(t.listeners) {
			if t.listeners[arn].balancer == b.arn && t.visible(arn) {
				found = append(found, t.listeners[arn])
			}
		}
	}
	for _, arn := range in.ListenerArns {
		l, err := t.listenerOf(arn)
		if err != nil {
			return out, err
		}
		found = append(found, l)
	}
	out.Listeners, out.NextMarker, err = elbCut(found, in.elbPage, func(l *listener) string { return l.arn },
		t.viewListener)
	return out, err
}
