package classic

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Types of policies, and their attributes, as the API names them.
const (
	proxyPolicyType      = "ProxyProtocolPolicyType"
	proxyPolicyAttribute = "ProxyProtocol"
	tlsPolicyType        = "SSLNegotiationPolicyType"
	tlsPolicyAttribute   = "Reference-Security-Policy"
	// predefinedPrefix is the prefix of AWS' own policies. A load balancer has the default one since its first
	// encrypted listener.
	predefinedPrefix = "ELBSecurityPolicy-"
	// defaultTLSPolicy is the default according to the documentation of predefined policies.
	defaultTLSPolicy = predefinedPrefix + "2016-08"
)

const (
	kindPolicy          = "policy"
	kindListenerPolicy  = "policies of listener"
	kindBackendPolicies = "policies of node port"
)

// diffPolicies plans the policies of node ports and of encrypted listeners. Policies are immutable: each is
// created once and then referenced.
func (d *differ) diffPolicies(have Balancer) {
	created := map[string]bool{}
	ensurePolicy := func(name, kind, attribute, value string) []plan.Ref {
		if slices.Contains(have.Policies, name) {
			return nil
		}
		change := d.policyCreate(name, kind, attribute, value)
		if !created[name] {
			created[name] = true
			d.add(change)
		}
		return []plan.Ref{change.Ref}
	}
	for _, port := range d.nodePorts() {
		d.diffBackendPolicies(have, port, ensurePolicy)
	}
	for _, want := range d.want.Listeners {
		if want.encrypted() {
			d.diffListenerPolicies(have, want, ensurePolicy)
		}
	}
}

// diffBackendPolicies plans the policies of a node port. That of a replaced listener keeps the PROXY protocol of the
// node port before, if it stays.
func (d *differ) diffBackendPolicies(have Balancer, port int32,
	ensurePolicy func(name, kind, attribute, value string) []plan.Ref) {
	policies, previous := have.Backends[port], d.previousNodePort(have, port)
	proxy := d.want.ProxyProtocol
	served := d.have.Balancer != nil && have.forwardsTo(previous)
	switches := served && slices.Contains(have.Backends[previous], names.ProxyProtocolPolicy) != proxy
	if switches && d.want.keeps(kindBackendPolicies, strconv.Itoa(int(previous)), fieldPolicies) {
		proxy, switches = !proxy, false
	}
	if slices.Contains(policies, names.ProxyProtocolPolicy) == proxy && !switches {
		return
	}
	desired := slices.DeleteFunc(slices.Clone(policies), func(p string) bool { return p == names.ProxyProtocolPolicy })
	var after []plan.Ref
	if proxy {
		desired = append(desired, names.ProxyProtocolPolicy)
		after = ensurePolicy(names.ProxyProtocolPolicy, proxyPolicyType, proxyPolicyAttribute, "true")
	}
	if switches {
		policies = have.Backends[previous]
	}
	change := d.policiesUpdate(kindBackendPolicies, port, policies, desired, after)
	if switches {
		change.Key = strconv.Itoa(int(previous))
		switchesProxy.Declare(&change)
	}
	d.add(change)
}

// previousNodePort returns the node port to which the listener of a desired node port forwards before the plan.
func (d *differ) previousNodePort(have Balancer, port int32) int32 {
	if have.forwardsTo(port) {
		return port
	}
	for _, want := range d.want.Listeners {
		i := slices.IndexFunc(have.Listeners, func(l Listener) bool { return l.Port == want.Port })
		if want.InstancePort == port && i >= 0 {
			return have.Listeners[i].InstancePort
		}
	}
	return port
}

// diffListenerPolicies plans the TLS policy of an encrypted listener. One that replaces another, or is made again, has
// the policy of that one, if it stays.
func (d *differ) diffListenerPolicies(have Balancer, want Listener,
	ensurePolicy func(name, kind, attribute, value string) []plan.Ref) {
	previous := have.encrypted(want)
	isReplaced := previous.Removed || !previous.sameImmutableFields(want)
	tlsPolicies := slices.DeleteFunc(slices.Clone(previous.Policies),
		func(p string) bool { return slices.Contains(have.Sticky, p) })
	if d.want.keeps(kindListenerPolicy, strconv.Itoa(int(want.Port)), fieldPolicies) {
		if isReplaced {
			d.add(d.policiesUpdate(kindListenerPolicy, want.Port, nil, tlsPolicies, nil))
		}
		return
	}
	name, reference := d.tlsPolicy(have, previous)
	isSame := slices.Contains(tlsPolicies, name)
	if name == "" || isSame && !isReplaced {
		return
	}
	after := ensurePolicy(name, tlsPolicyType, tlsPolicyAttribute, reference)
	// Of the listener's policies only those for sticky sessions stay: it has one for encryption.
	policies := []string{name}
	if !isReplaced {
		policies = append(slices.DeleteFunc(slices.Clone(previous.Policies),
			func(p string) bool { return !slices.Contains(have.Sticky, p) }), name)
	}
	change := d.policiesUpdate(kindListenerPolicy, want.Port, previous.Policies, policies, after)
	if len(previous.Policies) > 0 && !isSame {
		// The other policy may be weaker than the one in use, or refuse clients that this one accepts.
		changesPolicy.Declare(&change)
	}
	d.add(change)
}

// nodePorts returns the node ports of the desired listeners, without duplicates.
func (d *differ) nodePorts() []int32 {
	ports := api.Convert(d.want.Listeners, func(l Listener) int32 { return l.InstancePort })
	slices.Sort(ports)
	return slices.Compact(ports)
}

// tlsPolicy returns the policy that an encrypted listener should have, and its name in AWS; "" if any is
// accepted. A policy of a removed annotation is replaced by AWS' default.
func (d *differ) tlsPolicy(have Balancer, listener Listener) (name, reference string) {
	if d.want.TLSPolicy != "" {
		return names.SSLNegotiationPolicy(d.want.TLSPolicy), d.want.TLSPolicy
	}
	if !slices.ContainsFunc(listener.Policies, func(p string) bool {
		return strings.HasPrefix(p, names.SSLNegotiationPolicyPrefix)
	}) {
		return "", ""
	}
	for _, p := range have.Policies {
		if strings.HasPrefix(p, predefinedPrefix) {
			return p, p
		}
	}
	return names.SSLNegotiationPolicy(defaultTLSPolicy), defaultTLSPolicy
}

func (d *differ) policyCreate(name, kind, attribute, value string) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: kindPolicy, Name: name, Action: plan.Create},
		Fields: []plan.Field{{Name: attribute, After: value}},
		Step:   policyCreation{name, kind, attribute, value, d.advice()},
	}
}

// policyCreation creates a policy with one attribute.
type policyCreation struct {
	name, kind, attribute, value string
	advice                       advice
}

// Do implements plan.Step.
func (s policyCreation) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	_, err := w.api.CreateLoadBalancerPolicy(ctx, &elb.CreateLoadBalancerPolicyInput{
		LoadBalancerName: &w.name, PolicyName: &s.name, PolicyTypeName: &s.kind,
		PolicyAttributes: []elbtypes.PolicyAttribute{{AttributeName: &s.attribute, AttributeValue: &s.value}},
	})
	err = s.advice.classify("CreateLoadBalancerPolicy", err)
	if cloudapi.Is(err, cloudapi.AlreadyExists) {
		err = nil // An earlier reply was lost. The name identifies the content of the policy.
	}
	return w.finishBalancer(err, func(b *Balancer) {
		if !slices.Contains(b.Policies, s.name) {
			b.Policies = append(slices.Clone(b.Policies), s.name)
		}
	})
}

// policiesUpdate returns the change of the policies of a port.
func (d *differ) policiesUpdate(kind string, port int32, before, policies []string, after []plan.Ref) plan.Change {
	change := plan.Change{
		Ref:    plan.Ref{Kind: kind, Name: strconv.Itoa(int(port)), Action: plan.Update},
		Fields: []plan.Field{{Name: fieldPolicies, Before: plan.ShowSet(before), After: plan.ShowSet(policies)}},
		After:  slices.Clone(after),
	}
	var step policiesStep = listenerPoliciesUpdate{port, policies}
	if kind == kindBackendPolicies {
		step = backendPoliciesUpdate{port, policies}
	}
	change.Step = step
	if slices.ContainsFunc(d.created, step.isOf) { // AWS may refuse the others
		change.After = append(change.After, d.listenersRef(plan.Create))
	}
	return change
}

// orderPolicies lets encrypted listeners that are replaced wait for the policies that are created: AWS may refuse one,
// such as with an unknown name, and then no port closes. The creation of listeners gets what sets their policies.
func (d *differ) orderPolicies() {
	var tls, proxy []plan.Ref
	var updates []policiesStep
	for _, c := range d.plan.Changes {
		switch {
		case c.Kind == kindPolicy && c.Name == names.ProxyProtocolPolicy: // AWS does not refuse it
			proxy = append(proxy, c.Ref)
		case c.Kind == kindPolicy:
			tls = append(tls, c.Ref)
		}
		if step, ok := c.Step.(policiesStep); ok && slices.ContainsFunc(d.created, step.isOf) {
			updates = append(updates, step)
		}
	}
	replacements := d.splitReplacement(len(tls) > 0)
	for i, c := range d.plan.Changes {
		switch step := c.Step.(type) {
		case listenersCreation:
			step.policies = updates
			d.plan.Changes[i].Step, d.plan.Changes[i].Order = step, proxy
			if len(replacements) > 0 {
				d.plan.Changes[i].After = append(slices.Clone(c.After), replacements...)
			}
		case listenersReplacement:
			step.creation.policies = updates
			d.plan.Changes[i].Step, d.plan.Changes[i].Order = step, proxy
			if slices.ContainsFunc(step.creation.want, Listener.encrypted) {
				d.plan.Changes[i].Order = slices.Concat(proxy, tls)
			}
		}
	}
}

// splitReplacement gives the encrypted listeners a replacement of their own, if they wait for what the others do not
// wait for. It returns the changes that it adds.
func (d *differ) splitReplacement(waits bool) []plan.Ref {
	i := slices.IndexFunc(d.plan.Changes, func(c plan.Change) bool {
		_, ok := c.Step.(listenersReplacement)
		return ok
	})
	if i < 0 || !waits {
		return nil
	}
	change := d.plan.Changes[i]
	step := change.Step.(listenersReplacement)
	plain := func(l Listener) bool { return !l.encrypted() }
	wantEncrypted := slices.DeleteFunc(slices.Clone(step.creation.want), plain)
	wantPlain := slices.DeleteFunc(slices.Clone(step.creation.want), Listener.encrypted)
	becomesEncrypted := func(l Listener) bool { return hasPort(wantEncrypted, l.Port) }
	encrypted := slices.DeleteFunc(slices.Clone(step.before), func(l Listener) bool { return !becomesEncrypted(l) })
	others := slices.DeleteFunc(slices.Clone(step.before), becomesEncrypted)
	if len(others) == 0 {
		return nil
	}
	d.plan.Changes[i] = d.replaceAgain(change, others, wantPlain)
	if len(encrypted) == 0 {
		return nil
	}
	change.Name += ", encrypted"
	change = d.replaceAgain(change, encrypted, wantEncrypted)
	d.plan.Add(change)
	return []plan.Ref{change.Ref}
}

// replaceAgain returns the replacement of some listeners of another one.
func (d *differ) replaceAgain(change plan.Change, before, want []Listener) plan.Change {
	after := change.After
	change = d.listenersReplace(change.Name, before, want)
	change.After = after
	return change
}

// policiesMade reports whether the policies of a port were set in a plan.
func policiesMade(ids *plan.Handles, kind string, port int32) bool {
	return ids.Has(plan.Handle(kind + " " + strconv.Itoa(int(port))))
}

// setPoliciesMade records that the policies of a port were set, unless there is an error.
func setPoliciesMade(ids *plan.Handles, kind string, port int32, err error) {
	if err == nil {
		ids.Set(plan.Handle(kind+" "+strconv.Itoa(int(port))), kind)
	}
}

// backendPoliciesUpdate replaces the policies of a node port.
type backendPoliciesUpdate struct {
	port     int32
	policies []string
}

// Do implements plan.Step. The creation of a listener may have made it.
func (s backendPoliciesUpdate) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	if policiesMade(ids, kindBackendPolicies, s.port) {
		return nil
	}
	_, err := w.api.SetLoadBalancerPoliciesForBackendServer(ctx, &elb.SetLoadBalancerPoliciesForBackendServerInput{
		LoadBalancerName: &w.name, InstancePort: aws.Int32(s.port), PolicyNames: s.policies,
	})
	setPoliciesMade(ids, kindBackendPolicies, s.port, err)
	return w.finishBalancer(awserr.Wrap("SetLoadBalancerPoliciesForBackendServer", err),
		func(b *Balancer) { b.setBackend(s.port, s.policies) })
}

func (s backendPoliciesUpdate) isOf(l Listener) bool { return l.InstancePort == s.port }

// listenerPoliciesUpdate replaces the policies of a listener.
type listenerPoliciesUpdate struct {
	port     int32
	policies []string
}

// Do implements plan.Step. The creation of a listener may have made it.
func (s listenerPoliciesUpdate) Do(ctx context.Context, w writer, ids *plan.Handles) error {
	if policiesMade(ids, kindListenerPolicy, s.port) {
		return nil
	}
	_, err := w.api.SetLoadBalancerPoliciesOfListener(ctx, &elb.SetLoadBalancerPoliciesOfListenerInput{
		LoadBalancerName: &w.name, LoadBalancerPort: s.port, PolicyNames: s.policies,
	})
	setPoliciesMade(ids, kindListenerPolicy, s.port, err)
	return w.finishBalancer(awserr.Wrap("SetLoadBalancerPoliciesOfListener", err), func(b *Balancer) {
		b.changeListener(s.port, func(l *Listener) { l.Policies = s.policies })
	})
}

func (s listenerPoliciesUpdate) isOf(l Listener) bool { return l.Port == s.port }
