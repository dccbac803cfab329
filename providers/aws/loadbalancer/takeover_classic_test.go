package loadbalancer

import (
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	v1 "k8s.io/api/core/v1"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// leaveZone detaches the classic load balancer from the subnet of a zone, and returns that subnet.
func (m oldManager) leaveZone(zone string) string {
	m.t.Helper()
	ids, _ := m.publicSubnets()
	out := must(m.ec2.DescribeSubnets(m.ctx, &ec2.DescribeSubnetsInput{SubnetIds: ids}))(m.t)
	i := slices.IndexFunc(out.Subnets, func(s ec2types.Subnet) bool { return *s.AvailabilityZone == zone })
	id := *out.Subnets[i].SubnetId
	must(m.elb.DetachLoadBalancerFromSubnets(m.ctx, &elb.DetachLoadBalancerFromSubnetsInput{LoadBalancerName: awssdk.String(webName), Subnets: []string{id}}))(m.t)
	return id
}

// TestClassicLoadBalancerGetsZonesWithNodes verifies that a subnet in another zone is no cause for a change of a classic
// load balancer, and that a node that joins there is, also after a failure.
func TestClassicLoadBalancerGetsZonesWithNodes(t *testing.T) {
	r := newRig(t, sim.Options{})
	svc := service(without(annotation.KeyType))
	m := oldManager{r, t.Context()}
	m.classic(classicShape{})
	subnet := m.leaveZone("us-west-2c")
	r.restart()
	r.ensure(svc)
	r.noMutations("a subnet in another zone")

	r.restart()
	node, err := r.sim.Launch(world.Machine{Name: "d", Zone: "us-west-2c"})
	if err != nil {
		t.Fatal(err)
	}
	node.Spec.ProviderID = "aws:///us-west-2c/" + r.sim.Instance("d")
	r.nodes = append(r.nodes, node)
	r.sim.Front().SetFaults(kit.Fault{Kind: kit.FaultDenied, Operation: "AttachLoadBalancerToSubnets"})
	if err := r.manager.UpdateLoadBalancer(t.Context(), clusterName, svc, r.nodes); err == nil {
		t.Error("no error of the denied call")
	}
	r.restart()
	if err := r.manager.UpdateLoadBalancer(t.Context(), clusterName, svc, r.nodes); err != nil {
		t.Fatal(err)
	}
	if calls := r.calls(); calls != "AttachLoadBalancerToSubnets RegisterInstancesWithLoadBalancer" {
		t.Errorf("calls %s", calls)
	}
	b := must(r.elb.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{}))(t).LoadBalancerDescriptions[0]
	if !slices.Contains(b.Subnets, subnet) || len(b.Instances) != len(r.nodes) {
		t.Errorf("subnets %v, %d instances", b.Subnets, len(b.Instances))
	}
	r.steady(svc)
}

// TestNodesInUnservedZoneAreWarnedAbout verifies that nodes that an earlier manager registered, in a zone that the
// load balancer does not have, cause a warning and no change.
func TestNodesInUnservedZoneAreWarnedAbout(t *testing.T) {
	r := newRig(t, sim.Options{})
	m := oldManager{r, t.Context()}
	m.classic(classicShape{})
	out := must(r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: m.instanceIDs()}))(t)
	zone := *out.Reservations[0].Instances[0].Placement.AvailabilityZone
	m.leaveZone(zone)
	r.restart()
	r.ensure(service(without(annotation.KeyType)))
	r.noMutations("taking over")
	r.wantEvent("nodes in " + zone + " receive no traffic")
}

// TestHeldPolicyIsNotCreated verifies that a classic load balancer that was taken over gets no policy while the changes
// that would use it are held: annotations that were edited while no manager ran are no cause.
func TestHeldPolicyIsNotCreated(t *testing.T) {
	const policy = "ELBSecurityPolicy-TLS-1-2-2017-01"
	tls := annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443")
	for _, tt := range []struct {
		name  string
		shape classicShape
		edit  func(*v1.Service)
	}{
		{"TLS policy removed", classicShape{tls: policy}, tls},
		{"another TLS policy", classicShape{tls: policy}, func(s *v1.Service) { tls(s); annotate(annotation.KeyTLSPolicy, "ELBSecurityPolicy-2015-05")(s) }},
		{"PROXY protocol added", classicShape{}, annotate(annotation.KeyProxyProtocol, "*")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			oldManager{r, t.Context()}.classic(tt.shape)
			r.restart()
			r.ensure(service(without(annotation.KeyType), tt.edit))
			r.noMutations("taking over")
			r.wantEvent("LoadBalancerChangesHeld")
		})
	}
}

// TestOrphansStayWhenTakenOver verifies that taking over removes nothing that cloud-provider-aws left behind. It goes
// with the next change, or with the load balancer.
func TestOrphansStayWhenTakenOver(t *testing.T) {
	for _, tt := range []struct {
		name string
		svc  *v1.Service
		// leave makes the load balancer and the orphans, left returns what is left of them.
		leave func(m oldManager)
		left  func(r *rig) []string
	}{
		// The Service had source ranges before.
		{"health rules", service(), func(m oldManager) {
			m.network(networkShape{})
			_, networks := m.publicSubnets()
			m.authorize(m.nodeGroup(), cidr("tcp", 30080, 30080, oldHealthRule, networks...))
		}, func(r *rig) []string {
			return slices.DeleteFunc(r.rules(), func(rule string) bool { return !strings.Contains(rule, oldHealthRule) })
		}},
		// The Service got security groups of its own later.
		{"managed group of a classic load balancer", service(without(annotation.KeyType), annotate(annotation.KeySecurityGroups, "{group-own}")), func(m oldManager) {
			m.classic(classicShape{group: "{group-own}"})
			m.group(oldClassicGroup, oldClassicDescription)
		}, func(r *rig) []string {
			return slices.DeleteFunc(slices.Collect(func(yield func(string) bool) {
				for name := range r.inventory() {
					if !yield(name) {
						return
					}
				}
			}), func(name string) bool { return name != "group "+oldClassicGroup })
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := adoption{svc: tt.svc}
			r := a.rig(t)
			tt.leave(oldManager{r, t.Context()})
			before := tt.left(r)
			if len(before) == 0 {
				t.Fatal("there are no orphans")
			}
			r.restart()
			r.ensure(a.svc)
			r.noMutations("taking over")
			r.steady(a.svc)
			if left := tt.left(r); !slices.Equal(left, before) {
				t.Errorf("%v are left of %v", left, before)
			}
			a.svc.Annotations[annotation.KeyCrossZone] = "true"
			r.ensure(a.svc)
			if left := tt.left(r); len(left) > 0 {
				t.Errorf("%v are left after another change", left)
			}
		})
	}
}

// TestTagsDoNotWaitForHeldChanges verifies that edited tags are applied while a change of a listener is held.
func TestTagsDoNotWaitForHeldChanges(t *testing.T) {
	r := newRig(t, sim.Options{})
	oldManager{r, t.Context()}.network(networkShape{tls: "ELBSecurityPolicy-TLS-1-2-2017-01"})
	r.restart()
	svc := service(annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443"), func(s *v1.Service) {
		s.Spec.Ports[1].Protocol = v1.ProtocolTCP
	})
	svc.Annotations[annotation.KeyTLSPorts] = "80" // edited while no manager ran: 443 becomes TCP
	r.ensure(svc)
	r.wantEvent("LoadBalancerChangesHeld")
	r.calls()
	svc.Annotations[annotation.KeyTags] = "team=web"
	r.ensure(svc)
	if calls := r.calls(); !strings.Contains(calls, "AddTags") {
		t.Errorf("calls %s", calls)
	}
}
