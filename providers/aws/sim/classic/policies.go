package classic

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

type policyInput struct {
	balancerRef
	LoadBalancerPort int32
	InstancePort     int32
	PolicyName       string
	PolicyTypeName   string
	PolicyNames      []string
	PolicyAttributes []policyAttribute
}

func (t *Tx) createPolicy(b *balancer, in policyInput) (core.Nothing, error) {
	if in.PolicyTypeName != sslPolicyType && in.PolicyTypeName != proxyPolicyType {
		return core.Nothing{}, core.Refuse("PolicyTypeNotFound", "There is no policy type named %s", in.PolicyTypeName)
	}
	if in.PolicyName == "" {
		return core.Nothing{}, core.Validation("A policy name must be specified")
	}
	p := &policy{in.PolicyName, in.PolicyTypeName, in.PolicyAttributes}
	if old := b.policy(in.PolicyName); old != nil {
		if old.kind == p.kind && slices.Equal(old.attributes, p.attributes) {
			return core.Nothing{}, nil
		}
		return core.Nothing{}, core.Refuse("DuplicatePolicyName", "There is already a policy named %s for load balancer %s",
			in.PolicyName, b.name)
	}
	b.policies = append(b.policies, p)
	return core.Nothing{}, nil
}

func (t *Tx) deletePolicy(b *balancer, in policyInput) (core.Nothing, error) {
	used := slices.ContainsFunc(b.listeners,
		func(l *listener) bool { return slices.Contains(l.policies, in.PolicyName) })
	for _, names := range b.backends {
		used = used || slices.Contains(names, in.PolicyName)
	}
	if used {
		return core.Nothing{}, refuseConfiguration("The policy %s is in use", in.PolicyName)
	}
	b.policies = slices.DeleteFunc(b.policies, func(p *policy) bool { return p.name == in.PolicyName })
	return core.Nothing{}, nil
}

// checkPolicies rejects policies that the load balancer does not have.
func (b *balancer) checkPolicies(names []string) error {
	for _, name := range names {
		if b.policy(name) == nil {
			return core.Refuse("PolicyNotFound", "There is no policy with name %s for load balancer %s", name, b.name)
		}
	}
	return nil
}

// setBackendPolicies replaces the policies of an instance port, which at least one listener must use.
func (t *Tx) setBackendPolicies(b *balancer, in policyInput) (core.Nothing, error) {
	if err := b.checkPolicies(in.PolicyNames); err != nil {
		return core.Nothing{}, err
	}
	if !slices.ContainsFunc(b.listeners, func(l *listener) bool { return l.InstancePort == in.InstancePort }) {
		return core.Nothing{}, refuseConfiguration("No listener of load balancer %s uses instance port %d", b.name,
			in.InstancePort)
	}
	if len(in.PolicyNames) == 0 {
		delete(b.backends, in.InstancePort)
		return core.Nothing{}, nil
	}
	b.backends[in.InstancePort] = slices.Clone(in.PolicyNames)
	return core.Nothing{}, nil
}

func (t *Tx) setListenerPolicies(b *balancer, in policyInput) (core.Nothing, error) {
	if err := b.checkPolicies(in.PolicyNames); err != nil {
		return core.Nothing{}, err
	}
	l := b.listener(in.LoadBalancerPort)
	if l == nil {
		return core.Nothing{}, errNoListener(b, in.LoadBalancerPort)
	}
	l.policies = slices.Clone(in.PolicyNames)
	return core.Nothing{}, nil
}

type policyView struct {
	Name       string                         `xml:"PolicyName"`
	Type       string                         `xml:"PolicyTypeName"`
	Attributes query.Members[policyAttribute] `xml:"PolicyAttributeDescriptions"`
}

// describePolicies returns the policies of a load balancer. Without a load balancer, AWS returns its sample policies,
// and the simulator one of them.
func (t *Tx) describePolicies(in policyInput) (out struct {
	Policies query.Members[policyView] `xml:"PolicyDescriptions"`
}, err error) {
	policies := []*policy{{elb.DefaultPolicy, sslPolicyType,
		[]policyAttribute{{"Reference-Security-Policy", elb.DefaultPolicy}}}}
	if in.LoadBalancerName != "" {
		b, err := t.findBalancer(in.LoadBalancerName)
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
