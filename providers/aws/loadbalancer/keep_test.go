package loadbalancer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
)

// heldCase is a load balancer that was taken over, with disruptive differences that no edit causes.
type heldCase struct {
	name     string
	settings func(*Settings)
	svc      *v1.Service
	leave    func(oldManager)
	// adds are the calls of the take-over, sorted, which add something and disrupt nothing.
	adds string
	// edited begins the facts that the other edits change.
	edited string
	// stays is part of the facts that stay when a port is removed again.
	stays string
	// held are the differences, without the name of the load balancer.
	held []string
}

func onePort(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] }

func nodePort(s *v1.Service) { s.Spec.Ports[1].NodePort = 31443 }

func udp443(s *v1.Service) { s.Spec.Ports[1].Protocol = v1.ProtocolUDP }

func narrow(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.168.0.0/16"} }

func bothFamilies(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} }

// dualStack leaves a network load balancer with both families.
func (m oldManager) dualStack() {
	m.t.Helper()
	m.network(networkShape{})
	must(m.elbv2.SetIpAddressType(m.ctx, &elbv2.SetIpAddressTypeInput{LoadBalancerArn: m.balancer(webName).LoadBalancerArn,
		IpAddressType: elbv2types.IpAddressTypeDualstack}))(m.t)
}

func heldCases() []heldCase {
	const policy, otherPolicy = "ELBSecurityPolicy-TLS-1-2-2017-01", "ELBSecurityPolicy-2015-05"
	classic := without(annotation.KeyType)
	tls := annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443")
	network := func(m oldManager) { m.network(networkShape{}) }
	plain := func(m oldManager) { m.classic(classicShape{}) }
	encrypted := func(m oldManager) { m.network(networkShape{tls: policy}) }
	lists := func(ids string) func(*v1.Service) { return annotate(annotation.KeySubnets, ids) }
	return []heldCase{
		{name: "IPv6 is added", svc: service(bothFamilies), leave: network, held: []string{"load balancer addressType"}},
		{name: "IPv6 is added as first family", svc: service(ipv6First, annotate(annotation.KeyTargetType, "ip")), leave: network,
			// Rules for IPv4 would leave with the other targets too.
			stays: "tcp 31081-31081 0.0.0.0/0",
			held: []string{"listener 443 targetGroup", "listener 80 targetGroup", "load balancer addressType",
				"security group rules nodes.sim ingress tcp 30080 from 0.0.0.0/0",
				"security group rules nodes.sim ingress tcp 30443 from 0.0.0.0/0"}},
		{name: "IPv6 is removed", svc: service(), leave: oldManager.dualStack, held: []string{"address type addressType"}},
		{name: "other subnets", svc: service(lists("{public-1}")), leave: network,
			held: []string{"load balancer subnets us-west-2a", "load balancer subnets us-west-2c"}},
		{name: "other Elastic IPs", svc: service(annotate(annotation.KeySubnets, "{public-2},{public-0}",
			annotation.KeyAllocations, "{elastic-1},{elastic-2}")),
			leave: func(m oldManager) { m.network(networkShape{addresses: []string{"{elastic-1}", "{elastic-0}"}}) },
			held:  []string{"load balancer subnets us-west-2a"}},
		{name: "TCP becomes TLS", svc: service(tls), leave: network, held: []string{"listener 443 protocol"}},
		{name: "TCP becomes TLS to TLS targets", svc: service(tls, annotate(annotation.KeyBackendProtocol, "ssl")), leave: network,
			held: []string{"listener 443 protocol", "listener 443 targetGroup"}},
		{name: "TLS becomes TCP", svc: service(), leave: encrypted, held: []string{"listener 443 protocol"}},
		{name: "TLS becomes TCP with an idle timeout", svc: service(annotate(intent.KeyIdleTimeout, "400s")), leave: encrypted,
			adds: "AddTags ModifyListenerAttributes", held: []string{"listener 443 protocol"}},
		{name: "another TLS policy", svc: service(tls, annotate(annotation.KeyTLSPolicy, otherPolicy)), leave: encrypted,
			held: []string{"listener 443 sslPolicy"}},
		{name: "TCP becomes UDP", svc: service(udp443), leave: network,
			held: []string{"listener 443 protocol", "security group rules nodes.sim ingress tcp 30443 from 0.0.0.0/0"}},
		{name: "a port is removed", svc: service(onePort), leave: network,
			held: []string{"listener 443", "security group rules nodes.sim ingress tcp 30443 from 0.0.0.0/0"}},
		{name: "another node port", svc: service(nodePort), leave: network,
			held: []string{"listener 443 targetGroup", "security group rules nodes.sim ingress tcp 30443 from 0.0.0.0/0"}},
		{name: "other targets", svc: service(annotate(annotation.KeyTargetType, "ip")), leave: network,
			held: []string{"listener 443 targetGroup", "listener 80 targetGroup"}},
		{name: "another interval of health checks", svc: service(annotate(annotation.KeyHealthCheckInterval, "10")), leave: network,
			held: []string{"listener 443 targetGroup", "listener 80 targetGroup"}},
		{name: "PROXY protocol", svc: service(annotate(annotation.KeyGroupAttributes, "proxy_protocol_v2.enabled=true")), leave: network,
			held: []string{"target group attributes 443 proxy_protocol_v2.enabled", "target group attributes 80 proxy_protocol_v2.enabled"}},
		{name: "fewer clients", svc: service(narrow), leave: network, adds: "AuthorizeSecurityGroupIngress",
			held: []string{"security group rules nodes.sim ingress tcp 30080 from 0.0.0.0/0",
				"security group rules nodes.sim ingress tcp 30443 from 0.0.0.0/0"}},
		{name: "fewer clients of a managed group", settings: managed, svc: service(narrow),
			leave: func(m oldManager) { m.network(networkShape{managed: true}) },
			adds:  "AddTags AuthorizeSecurityGroupIngress AuthorizeSecurityGroupIngress",
			held: []string{"security group rules k8s-default-web-53cbc2b2ce ingress icmp type 3 code 4 from 0.0.0.0/0",
				"security group rules k8s-default-web-53cbc2b2ce ingress tcp 443 from 0.0.0.0/0",
				"security group rules k8s-default-web-53cbc2b2ce ingress tcp 80 from 0.0.0.0/0",
				"security group rules nodes.sim ingress tcp 30080 from 0.0.0.0/0",
				"security group rules nodes.sim ingress tcp 30443 from 0.0.0.0/0"}},
		{name: "another security group", settings: managed, svc: service(annotate(annotation.KeySecurityGroups, "{group-other}")),
			leave: func(m oldManager) { m.network(networkShape{group: "{group-own}"}) },
			adds:  "AddTags SetSecurityGroups",
			// Another port replaces the rules by address by one for the security group.
			edited: "nodes let in",
			held:   []string{"security groups of load balancer securityGroups {group-own}"}},
		{name: "classic, HTTP", svc: service(classic, annotate(annotation.KeyBackendProtocol, "http")), leave: plain,
			held: []string{"listeners listener 443", "listeners listener 80"}},
		{name: "classic, encrypted", svc: service(classic, tls, annotate(annotation.KeyBackendProtocol, "ssl",
			annotation.KeyTLSPorts, "*")), leave: plain,
			held: []string{"listeners listener 443", "listeners listener 80"}},
		{name: "classic, another node port", svc: service(classic, nodePort), leave: plain, held: []string{"listeners listener 443"}},
		{name: "classic, a port is removed", svc: service(classic, onePort), leave: plain,
			held: []string{"listeners listener 443",
				"security group rules k8s-elb-a0123abcd456789ef0123456789abcde ingress tcp 443 from 0.0.0.0/0"}},
		{name: "classic, TLS policy is removed", svc: service(classic, tls), leave: func(m oldManager) { m.classic(classicShape{tls: policy}) },
			held: []string{"policies of listener 443 policies"}},
		{name: "classic, another TLS policy", svc: service(classic, tls, annotate(annotation.KeyTLSPolicy, otherPolicy)),
			leave: func(m oldManager) { m.classic(classicShape{tls: policy}) }, held: []string{"policies of listener 443 policies"}},
		{name: "classic, PROXY protocol on", svc: service(classic, annotate(annotation.KeyProxyProtocol, "*")), leave: plain,
			held: []string{"policies of node port 30080 policies", "policies of node port 30443 policies"}},
		{name: "classic, PROXY protocol off", svc: service(classic), leave: func(m oldManager) { m.classic(classicShape{proxy: true}) },
			held: []string{"policies of node port 30080 policies", "policies of node port 30443 policies"}},
		{name: "classic, fewer subnets", svc: service(classic, lists("{public-0},{public-1}")), leave: plain,
			held: []string{"subnets subnets us-west-2c"}},
		{name: "classic, more subnets", svc: service(classic, lists("{public-0},{public-1},{public-2}")),
			leave: func(m oldManager) { plain(m); m.leaveZone("us-west-2c") }, held: []string{"subnets subnets us-west-2c"}},
		{name: "classic, fewer clients", svc: service(classic, narrow), leave: plain, adds: "AddTags AuthorizeSecurityGroupIngress",
			held: []string{"security group rules k8s-elb-a0123abcd456789ef0123456789abcde ingress icmp type 3 code 4 from 0.0.0.0/0",
				"security group rules k8s-elb-a0123abcd456789ef0123456789abcde ingress tcp 443 from 0.0.0.0/0",
				"security group rules k8s-elb-a0123abcd456789ef0123456789abcde ingress tcp 80 from 0.0.0.0/0"}},
		{name: "classic, another security group", svc: service(classic, annotate(annotation.KeySecurityGroups, "{group-other}")),
			leave: func(m oldManager) { m.classic(classicShape{group: "{group-own}"}) },
			adds:  "AddTags ApplySecurityGroupsToLoadBalancer AuthorizeSecurityGroupIngress",
			held:  []string{"security groups of load balancer securityGroups {group-own}"}},
	}
}

// facts are what exists, without settings that the tests edit: each rule of a security group is a fact of its own.
func (r *rig) facts() []string {
	r.t.Helper()
	var out []string
	for _, fact := range r.shown() {
		rest, isGroup := strings.CutPrefix(fact, "security group ")
		if !isGroup {
			out = append(out, fact)
			continue
		}
		name, rules, _ := strings.Cut(rest, " ")
		out = append(out, "security group "+name)
		for rule := range strings.SplitSeq(rules, ", ") {
			out = append(out, name+" "+rule)
		}
	}
	return slices.DeleteFunc(out, func(fact string) bool {
		return strings.HasPrefix(fact, "tag ") || strings.Contains(fact, "cross_zone") || strings.HasPrefix(fact, "cross zone")
	})
}

// heldDifferences are the disruptive differences that are held.
func (r *rig) heldDifferences(svc *v1.Service) []string {
	r.t.Helper()
	p, err := r.manager.PlanLoadBalancer(r.t.Context(), clusterName, svc, r.nodes, lbcommon.PlanOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, d := range (plan.Plan{Held: p.Held}).Differences() {
		out = append(out, r.named.Replace(strings.Replace(d.String(), " "+webName, "", 1)))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func sortedWords(text string) string {
	return strings.Join(slices.Sorted(slices.Values(strings.Fields(text))), " ")
}

// takeOver leaves a load balancer to a new manager.
func (c heldCase) takeOver(t *testing.T) *rig {
	t.Helper()
	a := adoption{svc: c.svc, settings: c.settings}
	r := a.rig(t)
	r.named.Add("{group-other}", must(r.sim.AddSecurityGroup("other", nil))(t))
	for key, value := range c.svc.Annotations {
		c.svc.Annotations[key] = r.named.Expand(value)
	}
	c.leave(oldManager{r, t.Context()})
	r.restart()
	r.ensure(c.svc)
	if calls := sortedWords(r.calls()); calls != c.adds {
		t.Errorf("taking over calls %q, want %q", calls, c.adds)
	}
	r.wantEvent("LoadBalancerChangesHeld")
	return r
}

// wantKept fails unless all of these facts are true, and the same differences are held.
func (r *rig) wantKept(c heldCase, before []string) {
	r.t.Helper()
	after := r.facts()
	for _, fact := range before {
		isEdited := c.edited != "" && strings.HasPrefix(fact, c.edited)
		if !isEdited && !slices.Contains(after, fact) {
			r.t.Errorf("no longer true: %s", fact)
		}
	}
	// The target groups of the other ports become those of IPv6 as well, once that is approved.
	held := slices.DeleteFunc(r.heldDifferences(c.svc), func(d string) bool {
		return strings.Contains(d, "8080 target") || strings.Contains(d, "8081 target") || strings.Contains(d, "tcp 3108")
	})
	if !slices.Equal(held, c.held) {
		r.t.Errorf("held:\n%q, want\n%q", held, c.held)
	}
}

// TestUnrelatedEditsReleaseNothing verifies for each kind of held difference that other edits of the Service are applied,
// and only these: what is held stays as it is, nodes join it, and nothing is left to do.
func TestUnrelatedEditsReleaseNothing(t *testing.T) {
	for _, c := range heldCases() {
		t.Run(c.name, func(t *testing.T) {
			r := c.takeOver(t)
			before := r.facts()
			r.wantKept(c, before)
			r.steady(c.svc)
			c.svc.Annotations[annotation.KeyCrossZone] = "true"
			r.ensure(c.svc)
			if calls := strings.Fields(r.calls()); len(calls) == 0 || !strings.HasPrefix(calls[0], "ModifyLoadBalancerAttributes") ||
				slices.ContainsFunc(calls[1:], func(call string) bool { return call != "AddTags" }) {
				t.Errorf("another edit calls %q", calls)
			}
			r.wantKept(c, before)
			for _, port := range []int32{8080, 8081} {
				c.svc.Spec.Ports = append(c.svc.Spec.Ports, v1.ServicePort{Name: fmt.Sprintf("p%d", port),
					Protocol: v1.ProtocolTCP, Port: port, NodePort: 23000 + port})
				r.log().Reset()
				r.ensure(c.svc)
				if calls := r.log().Count(); calls["CreateListener"]+calls["CreateLoadBalancerListeners"] != 1 ||
					calls["ModifyListener"]+calls["DeleteListener"]+calls["SetSubnets"]+calls["SetIpAddressType"] > 0 {
					t.Errorf("another port calls %s", r.calls())
				}
				r.wantKept(c, before)
				r.steady(c.svc)
			}
			r.joins(c.svc)
			r.steady(c.svc)
			r.wantKept(c, before)
			c.svc.Spec.Ports = c.svc.Spec.Ports[:len(c.svc.Spec.Ports)-1]
			r.ensure(c.svc)
			for _, fact := range r.facts() {
				isLeft := strings.Contains(fact, "8081") || strings.Contains(fact, "31081")
				if isLeft && !strings.HasPrefix(fact, "node port") && (c.stays == "" || !strings.Contains(fact, c.stays)) {
					t.Errorf("left of a removed port: %s", fact)
				}
			}
			r.wantKept(c, before)
			r.steady(c.svc)
		})
	}
}

// joins lets a node join, and fails unless each target group, or the classic load balancer, gets it.
func (r *rig) joins(svc *v1.Service) {
	r.t.Helper()
	r.launch("d")
	r.named.Add("{node-d}", r.sim.Instance("d"))
	if svc.Annotations[annotation.KeyTargetType] == "ip" {
		address := r.privateIP(r.nodes[len(r.nodes)-1])
		r.named.Add("{address-d}", address)
		r.nodes[len(r.nodes)-1].Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}
	}
	r.log().Reset()
	r.ensure(svc)
	facts := r.shown()
	for _, port := range []string{"port 80: ", "port 443: ", "port 8080: ", ""} {
		isNetwork := annotation.TypeOf(svc.Annotations) == annotation.Network
		if isNetwork == (port == "") {
			continue
		}
		node, address := port+"target {node-d}", port+"target {address-d}"
		if !slices.Contains(facts, node) && !slices.Contains(facts, address) {
			r.t.Errorf("%sthe node has not joined by %s", port, r.calls())
		}
	}
}

// TestApprovedDifferencesAreApplied verifies that all held differences, which other edits have kept, are applied together
// once they are approved, and that nothing is left to do.
func TestApprovedDifferencesAreApplied(t *testing.T) {
	for _, c := range heldCases() {
		t.Run(c.name, func(t *testing.T) {
			r := c.takeOver(t)
			c.svc.Spec.Ports = append(c.svc.Spec.Ports, v1.ServicePort{Name: "other", Protocol: v1.ProtocolTCP, Port: 8080, NodePort: 31080})
			r.ensure(c.svc)
			p, err := r.manager.PlanLoadBalancer(t.Context(), clusterName, c.svc, r.nodes, lbcommon.PlanOptions{})
			if err != nil || p.HeldID == "" {
				t.Fatalf("nothing is held: %v", err)
			}
			c.svc.Annotations[intent.KeyApprove] = p.HeldID
			r.ensure(c.svc)
			delete(c.svc.Annotations, intent.KeyApprove)
			if held := r.heldDifferences(c.svc); len(held) > 0 {
				t.Errorf("held after the approval: %q", held)
			}
			r.steady(c.svc)
		})
	}
}

// TestHeldAddressesHoldNothingElse verifies that other changes of a network load balancer are made while its subnets stay
// as they are.
func TestHeldAddressesHoldNothingElse(t *testing.T) {
	tls := annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443")
	for _, tt := range []struct {
		name string
		edit func(*v1.Service)
		// calls are made, sorted.
		calls string
	}{
		{"certificate", annotate(annotation.KeyCertificates, certificateB), "AddTags ModifyListener"},
		// The TLS listener gets fewer tags than the other parts: its certificates may be by hand.
		{"tags", annotate(annotation.KeyTags, "team=web"), "AddTags AddTags AddTags AddTags"},
		{"a target group is replaced", annotate(annotation.KeyHealthCheckInterval, "10"),
			"AddTags CreateTargetGroup CreateTargetGroup DeleteTargetGroup DeleteTargetGroup DeregisterTargets DeregisterTargets " +
				"ModifyListener ModifyListener ModifyListener ModifyListener ModifyListener ModifyListener RegisterTargets RegisterTargets"},
		{"attributes of target groups", annotate(annotation.KeyGroupAttributes, "deregistration_delay.timeout_seconds=60"),
			"AddTags ModifyTargetGroupAttributes ModifyTargetGroupAttributes"},
		{"a port is removed", onePort, "AddTags DeleteListener DeleteTargetGroup RevokeSecurityGroupIngress"},
		{"TLS becomes TCP", annotate(annotation.KeyTLSPorts, "8443"), "AddTags ModifyListener"},
		{"another zone, which is not held", annotate(annotation.KeySubnets, "{public-0},{public-1}"), ""},
		{"another zone", annotate(annotation.KeySubnets, "{public-0}"), "AddTags SetSubnets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := heldCase{svc: service(tls, annotate(annotation.KeySubnets, "{public-1}")),
				leave: func(m oldManager) { m.network(networkShape{tls: "ELBSecurityPolicy-TLS-1-2-2017-01"}) }}
			r := c.takeOver(t)
			tt.edit(c.svc)
			for key, value := range c.svc.Annotations {
				c.svc.Annotations[key] = r.named.Expand(value)
			}
			r.ensure(c.svc)
			if calls := sortedWords(r.calls()); calls != tt.calls {
				t.Errorf("calls %q, want %q", calls, tt.calls)
			}
			if held := r.heldDifferences(c.svc); !slices.Contains(held, "load balancer subnets us-west-2c") {
				t.Errorf("held %q", held)
			}
			r.steady(c.svc)
		})
	}
}

// TestConfigurationReleasesNothing verifies that differences which follow from the configuration stay held while the
// Service is edited.
func TestConfigurationReleasesNothing(t *testing.T) {
	shared := func(s *Settings) { s.Shared = &annotation.SharedProbe{Port: 10256, Path: "/healthz"} }
	for _, tt := range []struct {
		name   string
		svc    *v1.Service
		before func(*Settings)
		after  func(*Settings)
		held   []string
	}{
		{"shared probes", service(), func(*Settings) {}, shared, []string{"listener 443 targetGroup", "listener 80 targetGroup"}},
		{"probes of each Service", service(), shared, func(s *Settings) { s.Shared = nil },
			[]string{"listener 443 targetGroup", "listener 80 targetGroup",
				"security group rules nodes.sim ingress tcp 10256 from 10.0.0.0/20",
				"security group rules nodes.sim ingress tcp 10256 from 10.0.16.0/20",
				"security group rules nodes.sim ingress tcp 10256 from 10.0.32.0/20"}},
		{"classic, ElbSecurityGroup", service(without(annotation.KeyType)), func(*Settings) {},
			func(s *Settings) { s.ClassicGroup = "{group-own}" }, []string{"security groups of load balancer securityGroups"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := adoption{svc: tt.svc, settings: tt.before}
			r := a.rig(t)
			r.ensure(tt.svc)
			before := r.securityGroups(tt.svc)
			tt.after(&r.settings)
			r.settings.ClassicGroup = r.named.Expand(r.settings.ClassicGroup)
			r.restart()
			r.ensure(tt.svc)
			for _, port := range []int32{8080, 8081} {
				tt.svc.Spec.Ports = append(tt.svc.Spec.Ports, v1.ServicePort{Name: fmt.Sprintf("p%d", port),
					Protocol: v1.ProtocolTCP, Port: port, NodePort: 23000 + port})
				r.log().Reset()
				r.ensure(tt.svc)
				if calls := r.log().Count(); calls["CreateListener"]+calls["CreateLoadBalancerListeners"] != 1 ||
					calls["ModifyListener"] > 0 {
					t.Errorf("another port calls %s", r.calls())
				}
				held := r.heldDifferences(tt.svc)
				for i := range held {
					held[i], _, _ = strings.Cut(held[i], " sg-")
				}
				if !slices.Equal(held, tt.held) {
					t.Errorf("held %q, want %q", held, tt.held)
				}
				r.steady(tt.svc)
			}
			if after := r.securityGroups(tt.svc); slices.ContainsFunc(before, func(id string) bool { return !slices.Contains(after, id) }) {
				t.Errorf("security groups %v, before %v", after, before)
			}
		})
	}
}
