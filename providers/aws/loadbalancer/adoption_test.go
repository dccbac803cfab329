package loadbalancer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// adoption is a Service with the objects that an earlier manager made for it.
type adoption struct {
	name     string
	settings func(*Settings)
	svc      *v1.Service
	leave    func(oldManager)
	// groupRule says that our own creation needs one rule on nodes instead of several.
	groupRule bool
	// classicGroup is ElbSecurityGroup, by the name that a test gives it.
	classicGroup string
	// ownGroup says that the load balancer has a group of the user: nothing proves who wrote the rule for it on nodes.
	ownGroup bool
}

func adoptions() []adoption {
	classic := without(annotation.KeyType)
	managed := func(s *Settings) { s.ManagedGroups = true }
	const policy = "ELBSecurityPolicy-TLS-1-2-2017-01"
	ranges := func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.168.0.0/16"} }
	return []adoption{
		{name: "classic", svc: service(classic), leave: func(m oldManager) { m.classic(classicShape{}) }},
		{name: "classic, PROXY protocol", svc: service(classic, annotate(annotation.KeyProxyProtocol, "*")), leave: func(m oldManager) { m.classic(classicShape{proxy: true}) }},
		{name: "classic, TLS", svc: service(classic, annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443", annotation.KeyTLSPolicy, policy)),
			leave: func(m oldManager) { m.classic(classicShape{tls: policy}) }},
		{name: "classic, local traffic", svc: service(classic, local), leave: func(m oldManager) { m.classic(classicShape{local: true}) }},
		{name: "classic, ElbSecurityGroup", svc: service(classic), leave: func(m oldManager) { m.classic(classicShape{group: "{group-own}"}) }, classicGroup: "{group-own}", ownGroup: true},
		{name: "classic, security groups of the Service", svc: service(classic, annotate(annotation.KeySecurityGroups, "{group-own}")),
			leave: func(m oldManager) { m.classic(classicShape{group: "{group-own}"}) }, ownGroup: true},
		{name: "network, TLS", svc: service(annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443", annotation.KeyTLSPolicy, policy)),
			leave: func(m oldManager) { m.network(networkShape{tls: policy}) }},
		{name: "network, UDP, local traffic", svc: service(local, allUDP), leave: func(m oldManager) { m.network(networkShape{local: true, udp: true}) }},
		{name: "network, Elastic IPs", svc: service(annotate(annotation.KeySubnets, "{public-2},{public-0}", annotation.KeyAllocations, "{elastic-1},{elastic-0}")),
			leave: func(m oldManager) { m.network(networkShape{addresses: []string{"{elastic-1}", "{elastic-0}"}}) }},
		{name: "network", svc: service(), leave: func(m oldManager) { m.network(networkShape{}) }},
		{name: "network, local traffic", svc: service(local), leave: func(m oldManager) { m.network(networkShape{local: true}) }},
		{name: "network, source ranges", svc: service(ranges), leave: func(m oldManager) { m.network(networkShape{sources: []string{"192.168.0.0/16"}}) }},
		{name: "network, attributes of target groups", svc: service(annotate(annotation.KeyGroupAttributes, "preserve_client_ip.enabled=false,proxy_protocol_v2.enabled=true")),
			leave: func(m oldManager) {
				m.network(networkShape{attributes: map[string]string{"preserve_client_ip.enabled": "false", "proxy_protocol_v2.enabled": "true"}})
			}},
		{name: "network, security groups of the Service", settings: managed, svc: service(annotate(annotation.KeySecurityGroups, "{group-own}")),
			leave: func(m oldManager) { m.network(networkShape{group: "{group-own}"}) }, groupRule: true},
		{name: "network, managed security group", settings: managed, svc: service(), leave: func(m oldManager) { m.network(networkShape{managed: true}) }, groupRule: true},
		{name: "network, managed security group, local traffic", settings: managed, svc: service(local), leave: func(m oldManager) { m.network(networkShape{managed: true, local: true}) }, groupRule: true},
	}
}

// rig is a cloud that gives the same IDs each time, and which the Service names.
func (a adoption) rig(t *testing.T) *rig {
	t.Helper()
	settings := a.settings
	if settings == nil {
		settings = func(*Settings) {}
	}
	r := newRig(t, sim.Options{}, settings)
	r.name()
	for key, value := range a.svc.Annotations {
		a.svc.Annotations[key] = r.named.Expand(value)
	}
	if a.classicGroup != "" {
		r.settings.ClassicGroup = r.named.Expand(a.classicGroup)
		r.restart()
	}
	return r
}

func allUDP(s *v1.Service) {
	for i := range s.Spec.Ports {
		s.Spec.Ports[i].Protocol = v1.ProtocolUDP
	}
}

// TestAdoption pins that taking over from an earlier manager changes nothing, that nodes come and
// go from then on, and that a deletion leaves nothing of it but rules that nothing proves to be a manager's.
func TestAdoption(t *testing.T) {
	for _, a := range adoptions() {
		t.Run(a.name, func(t *testing.T) {
			r := a.rig(t)
			before := r.bare()
			a.leave(oldManager{r, t.Context()})
			r.restart()
			status := r.ensure(a.svc)
			r.noMutations("taking over")
			if len(status.Ingress) != 1 || !strings.Contains(status.Ingress[0].Hostname, webName) {
				t.Errorf("status %+v", status)
			}
			r.steady(a.svc)
			r.launch("d")
			if err := r.manager.UpdateLoadBalancer(t.Context(), clusterName, a.svc, r.nodes); err != nil {
				t.Fatal(err)
			}
			r.steady(a.svc)
			r.restart()
			r.remove(a.svc)
			before["instances"]++
			if a.ownGroup {
				before["security-group-rules"]++
			}
			r.sameInventory(before)
			if rules := r.rules(); len(rules) != 0 {
				t.Errorf("rules are left on nodes: %q", rules)
			}
		})
	}
}

// TestObjectsMatchThoseOfCloudProviderAWS pins that what we make is what an earlier manager makes for the
// same Service, but for our own tags.
func TestObjectsMatchThoseOfCloudProviderAWS(t *testing.T) {
	for _, a := range adoptions() {
		t.Run(a.name, func(t *testing.T) {
			theirs, ours := a.rig(t), a.rig(t)
			a.leave(oldManager{theirs, t.Context()})
			ours.ensure(a.svc)
			want, have := theirs.inventory(), ours.inventory()
			if a.groupRule {
				for _, list := range []map[string][]string{want, have} {
					list["rules of nodes.sim"] = nil
					// The Service's name is one tag more, which identifies the owner where --cluster-name changes.
					list["group "+oldManagedGroup] = slices.DeleteFunc(list["group "+oldManagedGroup], func(s string) bool { return s == "tag kubernetes.io/service-name=default/web" })
				}
			}
			if a.ownGroup {
				rules := have["rules of nodes.sim"]
				for i := range rules {
					rules[i] = strings.TrimSuffix(rules[i], names.ClassicGroupRule) // theirs has no description
				}
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("objects (-theirs +ours):\n%s", diff)
			}
		})
	}
}

// sameInventory compares what exists with what existed before.
func (r *rig) sameInventory(before map[string]int) {
	r.t.Helper()
	after := r.sim.Objects()
	delete(before, "instances")
	delete(after, "instances")
	if diff := cmp.Diff(nonZero(before), nonZero(after)); diff != "" {
		r.t.Errorf("objects (-before +after):\n%s", diff)
	}
}

// inventory describes every object of load balancers in words, without random IDs and our own tags.
func (r *rig) inventory() map[string][]string {
	r.t.Helper()
	list := map[string][]string{}
	groupNames := map[string]string{}
	groups := must(r.ec2.DescribeSecurityGroups(r.t.Context(), &ec2.DescribeSecurityGroupsInput{}))(r.t)
	for _, g := range groups.SecurityGroups {
		groupNames[*g.GroupId] = *g.GroupName
	}
	for _, g := range groups.SecurityGroups {
		tags := map[string]string{}
		for _, tag := range g.Tags {
			tags[*tag.Key] = *tag.Value
		}
		list["group "+*g.GroupName] = append([]string{*g.Description}, shown(tags)...)
		for _, p := range g.IpPermissions {
			ports := fmt.Sprintf("%s %d-%d from ", *p.IpProtocol, awssdk.ToInt32(p.FromPort), awssdk.ToInt32(p.ToPort))
			var rules []string
			for _, x := range p.IpRanges {
				rules = append(rules, ports+*x.CidrIp+" "+awssdk.ToString(x.Description))
			}
			for _, x := range p.Ipv6Ranges {
				rules = append(rules, ports+*x.CidrIpv6+" "+awssdk.ToString(x.Description))
			}
			for _, x := range p.UserIdGroupPairs {
				rules = append(rules, ports+groupNames[*x.GroupId]+" "+awssdk.ToString(x.Description))
			}
			key := "rules of " + *g.GroupName
			list[key] = slices.Sorted(slices.Values(append(list[key], rules...)))
		}
	}
	r.classicInventory(list, groupNames)
	r.networkInventory(list, groupNames)
	return list
}

func (r *rig) classicInventory(list map[string][]string, groupNames map[string]string) {
	r.t.Helper()
	ctx := r.t.Context()
	for _, b := range must(r.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{}))(r.t).LoadBalancerDescriptions {
		lines := []string{*b.Scheme, fmt.Sprintf("%d subnets, %d instances", len(b.Subnets), len(b.Instances)), fmt.Sprintf("check %s %d %d %d %d",
			*b.HealthCheck.Target, *b.HealthCheck.Interval, *b.HealthCheck.Timeout, *b.HealthCheck.HealthyThreshold, *b.HealthCheck.UnhealthyThreshold)}
		for _, id := range b.SecurityGroups {
			lines = append(lines, "in "+groupNames[id])
		}
		for _, l := range b.ListenerDescriptions {
			lines = append(lines, fmt.Sprintf("%s %d to %s %d, certificate %s, policies %v", *l.Listener.Protocol, l.Listener.LoadBalancerPort,
				*l.Listener.InstanceProtocol, *l.Listener.InstancePort, awssdk.ToString(l.Listener.SSLCertificateId), l.PolicyNames))
		}
		for _, s := range b.BackendServerDescriptions {
			lines = append(lines, fmt.Sprintf("node port %d: %v", *s.InstancePort, s.PolicyNames))
		}
		for _, p := range must(r.elb.DescribeLoadBalancerPolicies(ctx, &elb.DescribeLoadBalancerPoliciesInput{LoadBalancerName: b.LoadBalancerName}))(r.t).PolicyDescriptions {
			line := "policy " + *p.PolicyName + " " + *p.PolicyTypeName
			for _, a := range p.PolicyAttributeDescriptions {
				line += " " + *a.AttributeName + "=" + *a.AttributeValue
			}
			lines = append(lines, line)
		}
		a := must(r.elb.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerName: b.LoadBalancerName}))(r.t).LoadBalancerAttributes
		lines = append(lines, fmt.Sprintf("cross-zone %t, log %t, draining %t, idle %d", a.CrossZoneLoadBalancing.Enabled, a.AccessLog.Enabled, a.ConnectionDraining.Enabled, *a.ConnectionSettings.IdleTimeout))
		tags := map[string]string{}
		for _, tag := range must(r.elb.DescribeTags(ctx, &elb.DescribeTagsInput{LoadBalancerNames: []string{*b.LoadBalancerName}}))(r.t).TagDescriptions[0].Tags {
			tags[*tag.Key] = *tag.Value
		}
		list["classic "+*b.LoadBalancerName] = append(lines, shown(tags)...)
	}
}

func (r *rig) networkInventory(list map[string][]string, groupNames map[string]string) {
	r.t.Helper()
	ctx := r.t.Context()
	targetGroups := map[string]string{}
	for _, g := range must(r.elbv2.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{}))(r.t).TargetGroups {
		targetGroups[*g.TargetGroupArn] = *g.TargetGroupName
		health := must(r.elbv2.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: g.TargetGroupArn}))(r.t)
		list["target group "+*g.TargetGroupName] = append([]string{
			fmt.Sprintf("%s %d %s, %d targets", g.Protocol, *g.Port, g.TargetType, len(health.TargetHealthDescriptions)),
			fmt.Sprintf("check %s %s %s every %d, %d %d", g.HealthCheckProtocol, *g.HealthCheckPort, awssdk.ToString(g.HealthCheckPath), *g.HealthCheckIntervalSeconds, *g.HealthyThresholdCount, *g.UnhealthyThresholdCount),
			fmt.Sprint("attributes ", r.groupAttributes(g.TargetGroupArn)),
		}, shown(r.tagsOf(g.TargetGroupArn))...)
	}
	for _, b := range must(r.elbv2.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{}))(r.t).LoadBalancers {
		lines := []string{fmt.Sprintf("%s %s %s in %d zones", b.Type, b.Scheme, b.IpAddressType, len(b.AvailabilityZones))}
		for _, id := range b.SecurityGroups {
			lines = append(lines, "in "+groupNames[id])
		}
		for _, z := range b.AvailabilityZones {
			for _, a := range z.LoadBalancerAddresses {
				lines = append(lines, *z.SubnetId+" has "+awssdk.ToString(a.AllocationId))
			}
		}
		list["network "+*b.LoadBalancerName] = append(lines, shown(r.tagsOf(b.LoadBalancerArn))...)
		for _, l := range must(r.elbv2.DescribeListeners(ctx, &elbv2.DescribeListenersInput{LoadBalancerArn: b.LoadBalancerArn}))(r.t).Listeners {
			list[fmt.Sprintf("listener %d", *l.Port)] = append([]string{fmt.Sprintf("%s to %s", l.Protocol, targetGroups[*l.DefaultActions[0].TargetGroupArn])}, shown(r.tagsOf(l.ListenerArn))...)
		}
	}
}

// groupAttributes are all attributes of a target group.
func (r *rig) groupAttributes(arn *string) map[string]string {
	r.t.Helper()
	attributes := map[string]string{}
	for _, a := range must(r.elbv2.DescribeTargetGroupAttributes(r.t.Context(), &elbv2.DescribeTargetGroupAttributesInput{TargetGroupArn: arn}))(r.t).Attributes {
		attributes[*a.Key] = *a.Value
	}
	return attributes
}

// shown lists tags but our own.
func shown(tags map[string]string) []string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if !strings.HasPrefix(key, "unified-ccm.io/") {
			lines = append(lines, "tag "+key+"="+tags[key])
		}
	}
	return lines
}

// TestRemovedAnnotationRestoresDefaultAttributes pins that target groups keep the attributes that an annotation
// once set, as earlier managers leave them when the annotation goes.
func TestRemovedAnnotationRestoresDefaultAttributes(t *testing.T) {
	r := newRig(t, sim.Options{})
	oldManager{r, t.Context()}.network(networkShape{attributes: map[string]string{"preserve_client_ip.enabled": "false"}})
	r.restart()
	r.ensure(service())
	r.noMutations("taking over")
	if got := r.groupAttributes(r.groupOn(80).TargetGroupArn)["preserve_client_ip.enabled"]; got != "false" {
		t.Errorf("preserve_client_ip.enabled is %s", got)
	}
	r.steady(service())
}

// TestAdoptedSharedGroupKeepsItsRules pins what today's manager breaks: of two classic load balancers
// behind ElbSecurityGroup, the deletion of one leaves the rule on nodes that the other lives by, and
// neither the taking over nor a deletion edits the group itself. The rule has no description: it stays.
func TestAdoptedSharedGroupKeepsItsRules(t *testing.T) {
	a := adoption{svc: service(without(annotation.KeyType)), classicGroup: "{group-own}"}
	r := a.rig(t)
	m := oldManager{r, t.Context()}
	shared := r.settings.ClassicGroup
	m.authorize(shared, cidr("tcp", 80, 80, "by hand", "0.0.0.0/0"))
	before := r.inventory()
	m.classic(classicShape{group: "{group-own}"})
	before["rules of nodes.sim"] = r.inventory()["rules of nodes.sim"]
	other := service(without(annotation.KeyType), func(s *v1.Service) { s.Name, s.UID = "other", "ffffffff-4567-89ef-0123-456789abcdef" })
	r.ensure(other)
	r.restart()
	r.remove(a.svc)
	if got := r.inventory()["rules of nodes.sim"]; !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "from own") }) {
		t.Errorf("the other load balancer has lost its rule on nodes: %q", got)
	}
	r.remove(other)
	if diff := cmp.Diff(before, r.inventory()); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
}
