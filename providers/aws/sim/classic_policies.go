package sim

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// Types of policies that can be made here.
const (
	sslPolicyType   = "SSLNegotiationPolicyType"
	proxyPolicyType = "ProxyProtocolPolicyType"
)

type classicPolicy struct {
	name, kind string
	attributes []policyAttribute
}

type policyAttribute struct {
	Name  string `q:"AttributeName" xml:"AttributeName"`
	Value string `q:"AttributeValue" xml:"AttributeValue"`
}

func classicPolicyOperations() []operation {
	return []operation{
		read("DescribeLoadBalancerPolicies", (*tx).describePolicies),
		write("CreateLoadBalancerPolicy", on((*tx).createPolicy)),
		write("DeleteLoadBalancerPolicy", on((*tx).deletePolicy)),
		write("SetLoadBalancerPoliciesForBackendServer", on((*tx).setBackendPolicies)),
		write("SetLoadBalancerPoliciesOfListener", on((*tx).setListenerPolicies)),
	}
}

func (b *classic) policy(name string) *classicPolicy {
	for _, p := range b.policies {
		if p.name == name {
			return p
		}
	}
	return nil
}

type policyInput struct {
	ofClassic
	LoadBalancerPort int32
	InstancePort     int32
	PolicyName       string
	PolicyTypeName   string
	PolicyNames      []string
	PolicyAttributes []policyAttribute
}

func (t *tx) createPolicy(b *classic, in policyInput) (nothing, error) {
	if in.PolicyTypeName != sslPolicyType && in.PolicyTypeName != proxyPolicyType {
		return nothing{}, refuse("PolicyTypeNotFound", "There is no policy type named %s", in.PolicyTypeName)
	}
	if in.PolicyName == "" {
		return nothing{}, validation("A policy name must be specified")
	}
	p := &classicPolicy{in.PolicyName, in.PolicyTypeName, in.PolicyAttributes}
	if old := b.policy(in.PolicyName); old != nil {
		if old.kind == p.kind && slices.Equal(old.attributes, p.attributes) {
			return nothing{}, nil
		}
		return nothing{}, refuse("DuplicatePolicyName", "There is already a policy named %s for load balancer %s",
			in.PolicyName, b.name)
	}
	b.policies = append(b.policies, p)
	return nothing{}, nil
}

func (t *tx) deletePolicy(b *classic, in policyInput) (nothing, error) {
	used := slices.ContainsFunc(b.listeners,
		func(l *classicListener) bool { return slices.Contains(l.policies, in.PolicyName) })
	for _, names := range b.backends {
		used = used || slices.Contains(names, in.PolicyName)
	}
	if used {
		return nothing{}, refuseClassic("The policy %s is in use", in.PolicyName)
	}
	b.policies = slices.DeleteFunc(b.policies, func(p *classicPolicy) bool { return p.name == in.PolicyName })
	return nothing{}, nil
}

// checkPolicies refuses policies that the load balancer does not have.
func (b *classic) checkPolicies(names []string) error {
	for _, name := range names {
		if b.policy(name) == nil {
			return refuse("PolicyNotFound", "There is no policy with name %s for load balancer %s", name, b.name)
		}
	}
	return nil
}

// setBackendPolicies replaces the policies of an instance port, which some listener must use.
func (t *tx) setBackendPolicies(b *classic, in policyInput) (nothing, error) {
	if err := b.checkPolicies(in.PolicyNames); err != nil {
		return nothing{}, err
	}
	if !slices.ContainsFunc(b.listeners, func(l *classicListener) bool { return l.InstancePort == in.InstancePort }) {
		return nothing{}, refuseClassic("No listener of load balancer %s uses instance port %d", b.name, in.InstancePort)
	}
	if len(in.PolicyNames) == 0 {
		delete(b.backends, in.InstancePort)
		return nothing{}, nil
	}
	b.backends[in.InstancePort] = slices.Clone(in.PolicyNames)
	return nothing{}, nil
}

func (t *tx) setListenerPolicies(b *classic, in policyInput) (nothing, error) {
	if err := b.checkPolicies(in.PolicyNames); err != nil {
		return nothing{}, err
	}
	l := b.listener(in.LoadBalancerPort)
	if l == nil {
		return nothing{}, refuse("ListenerNotFound", "No listener found on port %d for load balancer %s", in.LoadBalancerPort,
			b.name)
	}
	l.policies = slices.Clone(in.PolicyNames)
	return nothing{}, nil
}

type policyView struct {
	Name       string                         `xml:"PolicyName"`
	Type       string                         `xml:"PolicyTypeName"`
	Attributes query.Members[policyAttribute] `xml:"PolicyAttributeDescriptions"`
}

// describePolicies shows the policies of a load balancer. Without one, AWS shows its sample policies; here is one of
// them.
func (t *tx) describePolicies(in policyInput) (out struct {
	Policies query.Members[policyView] `xml:"PolicyDescriptions"`
}, err error) {
	policies := []*classicPolicy{{defaultPolicy, sslPolicyType,
		[]policyAttribute{{"Reference-Security-Policy", defaultPolicy}}}}
	if in.LoadBalancerName != "" {
		b, err := t.classicOf(in.LoadBalancerName)
		if err != nil {
			return out, err
		}
		if err := b.checkPolicies(in.PolicyNames); err != nil {
			return out, err
		}
		policies = b.policies
	}
	for _, p := range policies {
		if len(in.PolicyNames) == 0 || slices.Contains(in.PolicyNames, p.name) {
			out.Policies.Member = append(out.Policies.Member, policyView{p.name, p.kind, query.MembersOf(p.attributes)})
		}
	}
	return out, nil
}
