package loadbalancer

import (
	"slices"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// disruptive returns the kinds of the changes that a Service would cause, and that disrupt traffic or more.
func (r *rig) disruptive(svc *v1.Service) []string {
	r.t.Helper()
	p, err := r.manager.PlanLoadBalancer(r.t.Context(), clusterName, svc, r.nodes, lbcommon.PlanOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	if len(p.Held) > 0 {
		r.t.Errorf("a change of the Service is held: %s", p.Held[0].Reason)
	}
	var kinds []string
	for _, c := range p.Changes {
		if c.Disrupts.Severe() {
			kinds = append(kinds, c.Kind+" "+string(c.Disrupts))
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// TestEffects verifies that the declared effects disrupt, and that the names of fields have different hashes.
func TestEffects(t *testing.T) {
	intenttest.VerifyEffects(t, Effects())
	if err := applied.CheckFieldNames(intenttest.FieldNames(annotation.Vocabulary("aws"))); err != nil {
		t.Error(err)
	}
}

// TestDisruptions verifies what the changes of security groups, PROXY protocol and TLS policies declare to disrupt.
func TestDisruptions(t *testing.T) {
	const first, second = "ELBSecurityPolicy-TLS-1-2-2017-01", "ELBSecurityPolicy-2016-08"
	classic := without(annotation.KeyType)
	ranges := func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.168.0.0/16"} }
	tls := func(policy string) func(*v1.Service) {
		return annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443", annotation.KeyTLSPolicy, policy)
	}
	groups := func(ids string) func(*v1.Service) { return annotate(annotation.KeySecurityGroups, ids) }
	proxy := func(value string) func(*v1.Service) {
		return annotate(annotation.KeyGroupAttributes, "proxy_protocol_v2.enabled="+value)
	}
	const attachment, rules = "security groups of load balancer traffic", "security group rules traffic"
	for _, tt := range []struct {
		name          string
		before, after *v1.Service
		want          []string
	}{
		{"classic, a group is detached", service(classic, groups("{group-own},{group-other}")),
			service(classic, groups("{group-own}")), []string{attachment}},
		{"classic, a group is attached", service(classic, groups("{group-own}")),
			service(classic, groups("{group-own},{group-other}")), nil},
		{"classic, fewer clients", service(classic), service(classic, ranges), []string{rules}},
		{"classic, more clients", service(classic, ranges), service(classic), nil},
		{"classic, PROXY protocol on", service(classic), service(classic, annotate(annotation.KeyProxyProtocol, "*")),
			[]string{"policies of node port traffic"}},
		{"classic, PROXY protocol off", service(classic, annotate(annotation.KeyProxyProtocol, "*")), service(classic),
			[]string{"policies of node port traffic"}},
		{"classic, TLS policy", service(classic, tls(first)), service(classic, tls(second)),
			[]string{"policies of listener traffic"}},
		{"network, a group is detached", service(groups("{group-own},{group-other}")), service(groups("{group-own}")),
			[]string{attachment}},
		{"network, a group is attached", service(groups("{group-own}")), service(groups("{group-own},{group-other}")), nil},
		{"network, fewer clients", service(), service(ranges), []string{rules}},
		{"network, more clients", service(ranges), service(), nil},
		{"network, PROXY protocol on", service(), service(proxy("true")), []string{"target group attributes traffic"}},
		{"network, PROXY protocol off", service(proxy("true")), service(proxy("false")),
			[]string{"target group attributes traffic"}},
		{"network, TLS policy", service(tls(first)), service(tls(second)), []string{"listener traffic"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, sim.Options{}, managed)
			r.name()
			r.named.Add("{group-other}", must(r.sim.AddSecurityGroup("other", nil))(t))
			for _, svc := range []*v1.Service{tt.before, tt.after} {
				for key, value := range svc.Annotations {
					svc.Annotations[key] = r.named.Expand(value)
				}
			}
			r.ensure(tt.before)
			r.restart()
			if got := r.disruptive(tt.after); !slices.Equal(got, tt.want) {
				t.Errorf("disruptive changes %q, want %q", got, tt.want)
			}
			r.ensure(tt.after)
			r.steady(tt.after)
		})
	}
}

// TestAnotherSharedSecurityGroupIsHeld verifies that an edit of the configuration takes no group away by itself: the other
// one is added.
func TestAnotherSharedSecurityGroupIsHeld(t *testing.T) {
	a := adoption{svc: service(without(annotation.KeyType)), classicGroup: "{group-own}"}
	r := a.rig(t)
	r.ensure(a.svc)
	before := r.securityGroups(a.svc)
	r.settings.ClassicGroup = must(r.sim.AddSecurityGroup("other", nil))(t)
	r.restart()
	r.ensure(a.svc)
	if calls := sortedWords(r.calls()); calls != "AddTags ApplySecurityGroupsToLoadBalancer AuthorizeSecurityGroupIngress" {
		t.Errorf("calls %s", calls)
	}
	want := append(before, r.settings.ClassicGroup)
	if got := r.securityGroups(a.svc); plan.ShowSet(got) != plan.ShowSet(want) {
		t.Errorf("security groups %v, want %v", got, want)
	}
	r.wantEvent("LoadBalancerChangesHeld")
	if p, err := r.manager.PlanLoadBalancer(t.Context(), clusterName, a.svc, r.nodes, lbcommon.PlanOptions{}); err != nil ||
		!slices.ContainsFunc(p.Held, func(h plan.HeldChange) bool { return h.Disrupts == plan.DisruptsTraffic }) {
		t.Errorf("held %v, %v", p.Held, err)
	}
}

// TestRuleAddedByHandStaysWhenTakenOver verifies that a further client of a managed security group keeps its access, also
// after other changes of the load balancer.
func TestRuleAddedByHandStaysWhenTakenOver(t *testing.T) {
	r := newRig(t, sim.Options{})
	m := oldManager{r, t.Context()}
	m.classic(classicShape{})
	group := *must(r.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("group-name"), Values: []string{oldClassicGroup}},
	}}))(t).SecurityGroups[0].GroupId
	m.authorize(group, cidr("tcp", 9000, 9000, "by hand", "192.0.2.0/24"))
	r.restart()
	svc := service(without(annotation.KeyType))
	r.ensure(svc)
	r.noMutations("taking over")
	r.wantEvent("LoadBalancerChangesHeld")
	svc.Annotations[annotation.KeyCrossZone] = "true"
	r.ensure(svc)
	r.restart()
	r.ensure(svc)
	if calls := r.calls(); calls != "" {
		t.Errorf("calls after a change: %s", calls)
	}
}
