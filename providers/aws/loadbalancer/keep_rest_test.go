package loadbalancer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/statustest"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// TestNewTargetGroupKeepsHeldSettings verifies that an edit that replaces target groups changes no attribute that a
// take-over left as it was, whether it disrupts traffic or not. Those that the edit names are set.
func TestNewTargetGroupKeepsHeldSettings(t *testing.T) {
	const proxy, client = "proxy_protocol_v2.enabled=true", "preserve_client_ip.enabled=false"
	left := []string{"proxy_protocol_v2.enabled=false", "preserve_client_ip.enabled=true",
		"deregistration_delay.timeout_seconds=300"}
	interval := annotate(annotation.KeyHealthCheckInterval, "10")
	delay := func(seconds string) func(*v1.Service) {
		return annotate(annotation.KeyGroupAttributes, proxy+","+client+",deregistration_delay.timeout_seconds="+seconds)
	}
	for _, tt := range []struct {
		name string
		edit func(*v1.Service)
		want []string
	}{
		{"health check", interval, left},
		{"local traffic", func(s *v1.Service) {
			s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
		}, left},
		{"health check and an attribute", func(s *v1.Service) { interval(s); delay("30")(s) },
			append(slices.Clone(left[:2]), "deregistration_delay.timeout_seconds=30")},
		{"health check, and an attribute as it is", func(s *v1.Service) { interval(s); delay("300")(s) }, left},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := heldCase{svc: service(delay("60")), leave: func(m oldManager) { m.network(networkShape{}) }}
			r := c.takeOver(t)
			group := r.groupOn(80).TargetGroupArn
			tt.edit(c.svc)
			r.ensure(c.svc)
			if after := r.groupOn(80).TargetGroupArn; *after == *group {
				t.Error("the target group is not replaced")
			}
			for _, attribute := range tt.want {
				if fact := "port 80: target attribute " + attribute; !slices.Contains(r.shown(), fact) {
					t.Errorf("no longer true: %s; calls %s", fact, r.calls())
				}
			}
			c.held = []string{"target group attributes 443 proxy_protocol_v2.enabled",
				"target group attributes 80 proxy_protocol_v2.enabled"}
			r.wantKept(c, nil)
			r.steady(c.svc)
		})
	}
}

// TestNewTargetGroupKeepsClientAddresses is the same for an attribute that disrupts nothing, and is alone.
func TestNewTargetGroupKeepsClientAddresses(t *testing.T) {
	r := newRig(t, sim.Options{})
	oldManager{r, t.Context()}.network(networkShape{})
	r.restart()
	svc := service(annotate(annotation.KeyGroupAttributes, "preserve_client_ip.enabled=false"))
	r.ensure(svc)
	r.noMutations("taking over")
	svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
	r.ensure(svc)
	if fact := "port 80: target attribute preserve_client_ip.enabled=true"; !slices.Contains(r.shown(), fact) {
		t.Errorf("no longer true: %s; calls %s", fact, r.calls())
	}
	r.steady(svc)
}

// TestNewTargetGroupHasAllAttributes verifies that a new target group gets the attributes that an edit changes together
// with those that the one before has.
func TestNewTargetGroupHasAllAttributes(t *testing.T) {
	attributes := func(client string) func(*v1.Service) {
		return annotate(annotation.KeyGroupAttributes, "deregistration_delay.timeout_seconds=60,preserve_client_ip.enabled="+client)
	}
	r := newRig(t, sim.Options{})
	r.ensure(service(attributes("false")))
	r.ensure(service(attributes("true"), annotate(annotation.KeyHealthCheckInterval, "10")))
	for _, fact := range []string{"deregistration_delay.timeout_seconds=60", "preserve_client_ip.enabled=true"} {
		if !slices.Contains(r.shown(), "port 80: target attribute "+fact) {
			t.Errorf("not true: %s in %q", fact, r.shown())
		}
	}
}

// TestRestOfAChangeIsMade verifies that of a change with several fields only those are held that no edit causes.
func TestRestOfAChangeIsMade(t *testing.T) {
	const policy = "ELBSecurityPolicy-TLS-1-2-2017-01"
	classic := without(annotation.KeyType)
	tls := annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443")
	lists := func(ids string) func(*v1.Service) { return annotate(annotation.KeySubnets, ids) }
	for _, tt := range []struct {
		name string
		heldCase
		edit func(*v1.Service)
		// gone and added are facts.
		gone, added []string
	}{
		{"certificate of a listener that keeps its TLS policy", heldCase{
			svc:   service(tls, annotate(annotation.KeyTLSPolicy, "ELBSecurityPolicy-2015-05")),
			leave: func(m oldManager) { m.network(networkShape{tls: policy}) }, held: []string{"listener 443 sslPolicy"}},
			annotate(annotation.KeyCertificates, certificateB), []string{"port 443: certificate " + certificateA + " default=true"},
			[]string{"port 443: certificate " + certificateB + " default=true", "port 443: policy " + policy}},
		{"certificate of a listener that keeps its target groups", heldCase{
			svc: service(tls), leave: oldManager.weighted, held: []string{"listener 443 targetGroup"}},
			annotate(annotation.KeyCertificates, certificateB), []string{"port 443: certificate " + certificateA + " default=true"},
			[]string{"port 443: certificate " + certificateB + " default=true"}},
		{"one of two zones that leave", heldCase{
			svc: service(lists("{public-0},{public-1}")), leave: func(m oldManager) { m.network(networkShape{}) },
			held: []string{"load balancer subnets us-west-2c"}},
			lists("{public-0}"), []string{"subnet {public-1}"}, []string{"subnet {public-2}"}},
		{"classic, one of two zones that leave", heldCase{
			svc: service(classic, lists("{public-0},{public-1}")), leave: func(m oldManager) { m.classic(classicShape{}) },
			held: []string{"subnets subnets us-west-2c"}},
			lists("{public-0}"), []string{"subnet {public-1}"}, []string{"subnet {public-2}"}},
		{"classic, one of two ports", heldCase{
			svc:   service(classic, nodePort, port8080),
			leave: func(m oldManager) { m.classic(classicShape{}) }, adds: "AddTags AuthorizeSecurityGroupIngress CreateLoadBalancerListeners",
			held: []string{"listeners listener 443"}},
			func(s *v1.Service) { s.Spec.Ports[2].NodePort = 31999 }, []string{"port 8080: TCP to TCP 31080  []"},
			[]string{"port 8080: TCP to TCP 31999  []", "port 443: TCP to TCP 30443  []"}},
		{"the last zone while its successor is held", heldCase{
			svc:   service(lists("{public-0},{public-1}")),
			leave: func(m oldManager) { m.network(networkShape{}); m.setSubnets("{public-0}") },
			held:  []string{"load balancer subnets us-west-2b"}},
			lists("{public-1}"), nil, []string{"subnet {public-0}"}},
		{"UDP while IPv6 stays", heldCase{
			svc: service(), leave: oldManager.dualStack, held: []string{"address type addressType"}},
			func(s *v1.Service) { port8080(s); s.Spec.Ports[2].Protocol = v1.ProtocolUDP }, nil, []string{"addresses dualstack"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := tt.takeOver(t)
			tt.edit(tt.svc)
			for key, value := range tt.svc.Annotations {
				tt.svc.Annotations[key] = r.named.Expand(value)
			}
			forwards := r.forwards()
			r.ensure(tt.svc)
			facts := r.facts()
			for _, fact := range tt.gone {
				if slices.Contains(facts, fact) {
					t.Errorf("still true: %s", fact)
				}
			}
			for _, fact := range tt.added {
				if !slices.Contains(facts, fact) {
					t.Errorf("not true: %s in %q", fact, facts)
				}
			}
			if after := r.forwards(); after != forwards {
				t.Errorf("the listeners forward to %s, before to %s", after, forwards)
			}
			r.wantKept(tt.heldCase, nil)
			r.steady(tt.svc)
		})
	}
}

func port8080(s *v1.Service) {
	s.Spec.Ports = append(s.Spec.Ports, v1.ServicePort{Name: "other", Protocol: v1.ProtocolTCP, Port: 8080, NodePort: 31080})
}

// weighted leaves a network load balancer whose TLS listener forwards to two target groups.
func (m oldManager) weighted() {
	m.t.Helper()
	m.network(networkShape{tls: "ELBSecurityPolicy-TLS-1-2-2017-01"})
	l := m.listeners()[443]
	own := l.DefaultActions[0].TargetGroupArn
	other := must(m.elbv2.CreateTargetGroup(m.ctx, &elbv2.CreateTargetGroupInput{Name: awssdk.String("by-hand"),
		Port: awssdk.Int32(30443), Protocol: elbv2types.ProtocolEnumTcp, VpcId: &m.vpc, TargetType: elbv2types.TargetTypeEnumInstance,
	}))(m.t).TargetGroups[0].TargetGroupArn
	must(m.elbv2.ModifyListener(m.ctx, &elbv2.ModifyListenerInput{ListenerArn: l.ListenerArn, DefaultActions: []elbv2types.Action{{
		Type: elbv2types.ActionTypeEnumForward, ForwardConfig: &elbv2types.ForwardActionConfig{TargetGroups: []elbv2types.TargetGroupTuple{
			{TargetGroupArn: own, Weight: awssdk.Int32(3)}, {TargetGroupArn: other, Weight: awssdk.Int32(1)},
		}}}}}))(m.t)
}

// forwards are the target groups of the listener 443 of a network load balancer, with their weights.
func (r *rig) forwards() string {
	r.t.Helper()
	var out []string
	for _, b := range must(r.elbv2.DescribeLoadBalancers(r.t.Context(), &elbv2.DescribeLoadBalancersInput{}))(r.t).LoadBalancers {
		in := &elbv2.DescribeListenersInput{LoadBalancerArn: b.LoadBalancerArn}
		for _, l := range must(r.elbv2.DescribeListeners(r.t.Context(), in))(r.t).Listeners {
			if *l.Port != 443 || l.DefaultActions[0].ForwardConfig == nil {
				continue
			}
			for _, g := range l.DefaultActions[0].ForwardConfig.TargetGroups {
				out = append(out, fmt.Sprintf("%s %d", *g.TargetGroupArn, awssdk.ToInt32(g.Weight)))
			}
		}
	}
	return strings.Join(out, ", ")
}

// TestRulesOfKeptSecurityGroupStay verifies that nodes still allow the traffic of a security group that the load balancer
// does not leave.
func TestRulesOfKeptSecurityGroupStay(t *testing.T) {
	for _, generation := range []annotation.Type{annotation.Network, annotation.Classic} {
		t.Run(string(generation), func(t *testing.T) {
			c := heldCase{settings: managed, adds: "AddTags ApplySecurityGroupsToLoadBalancer AuthorizeSecurityGroupIngress",
				svc: service(annotate(annotation.KeyType, string(generation), annotation.KeySecurityGroups, "{group-other}"))}
			if generation == annotation.Network {
				c.adds = "AddTags AuthorizeSecurityGroupIngress SetSecurityGroups"
			} else {
				delete(c.svc.Annotations, annotation.KeyType)
			}
			c.leave = func(m oldManager) {
				svc := c.svc.DeepCopy()
				svc.Annotations[annotation.KeySecurityGroups] = m.named.Expand("{group-own}")
				m.ensure(svc)
				if generation == annotation.Network {
					m.strip("unified-ccm.io/")
				} else {
					must(m.elb.RemoveTags(m.ctx, &elb.RemoveTagsInput{LoadBalancerNames: []string{webName},
						Tags: []elbtypes.TagKeyOnly{{Key: awssdk.String(names.AppliedTag)}}}))(m.t)
				}
				m.services = statustest.Services{}
			}
			r := c.takeOver(t)
			if rules := r.rulesFrom(r.named.Expand("{group-own}")); len(rules) != 1 {
				t.Errorf("rules %q", rules)
			}
			r.steady(c.svc)
		})
	}
}

// TestRemadeListenerKeepsHeldPolicies verifies that an edit that replaces a listener of a classic load balancer does not
// change its TLS policy or the PROXY protocol as well.
func TestRemadeListenerKeepsHeldPolicies(t *testing.T) {
	const policy = "ELBSecurityPolicy-TLS-1-2-2017-01"
	classic := without(annotation.KeyType)
	tls := annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443")
	for name, tt := range map[string]struct {
		heldCase
		// stays is part of the facts after the edit.
		stays []string
	}{
		"another TLS policy": {heldCase{svc: service(classic, tls, annotate(annotation.KeyTLSPolicy, "ELBSecurityPolicy-2015-05")),
			leave: func(m oldManager) { m.classic(classicShape{tls: policy}) }, held: []string{"policies of listener 443 policies"}},
			[]string{"port 443: SSL to TCP 31443 " + certificateA + " [k8s-SSLNegotiationPolicy-" + policy + "]"}},
		"TLS policy is removed": {heldCase{svc: service(classic, tls),
			leave: func(m oldManager) { m.classic(classicShape{tls: policy}) }, held: []string{"policies of listener 443 policies"}},
			[]string{"port 443: SSL to TCP 31443 " + certificateA + " [k8s-SSLNegotiationPolicy-" + policy + "]"}},
		"PROXY protocol on": {heldCase{svc: service(classic, annotate(annotation.KeyProxyProtocol, "*")),
			leave: func(m oldManager) { m.classic(classicShape{}) },
			held:  []string{"policies of node port 30080 policies", "policies of node port 31443 policies"}}, nil},
		"PROXY protocol off": {heldCase{svc: service(classic),
			leave: func(m oldManager) { m.classic(classicShape{proxy: true}) },
			held:  []string{"policies of node port 30080 policies", "policies of node port 31443 policies"}},
			[]string{"node port 31443: [k8s-proxyprotocol-enabled]"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := tt.takeOver(t)
			nodePort(tt.svc)
			r.ensure(tt.svc)
			for _, fact := range tt.stays {
				if !slices.Contains(r.facts(), fact) {
					t.Errorf("not true: %s in %q by %s", fact, r.facts(), r.calls())
				}
			}
			r.wantKept(tt.heldCase, nil)
			r.steady(tt.svc)
		})
	}
}

// setSubnets changes the subnets of a network load balancer by hand.
func (m oldManager) setSubnets(ids ...string) {
	m.t.Helper()
	for i := range ids {
		ids[i] = m.named.Expand(ids[i])
	}
	must(m.elbv2.SetSubnets(m.ctx, &elbv2.SetSubnetsInput{LoadBalancerArn: m.balancer(webName).LoadBalancerArn, Subnets: ids}))(m.t)
}
