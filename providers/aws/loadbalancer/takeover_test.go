package loadbalancer

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// The tests in this file take over load balancers of cloud-provider-aws under changes that it ignores.

// updateTo registers an additional node, with the current Service.
func (r *rig) updateTo(svc *v1.Service, node string) {
	r.t.Helper()
	r.launch(node)
	if err := r.manager.UpdateLoadBalancer(r.t.Context(), clusterName, svc, r.nodes); err != nil {
		r.t.Fatalf("update: %v", err)
	}
}

// calls returns the mutating calls since the log was reset.
func (r *rig) calls() string {
	var out []string
	for _, c := range r.log().Mutations() {
		out = append(out, c.Operation.Name)
	}
	return strings.Join(out, " ")
}

// preferSubnet adds a subnet to a zone that discovery prefers to the one in use. IDs are random, so it takes several.
func (r *rig) preferSubnet(zone string) {
	r.t.Helper()
	for i := range 8 {
		tags := map[string]string{"kubernetes.io/role/elb": "1", "kubernetes.io/cluster/sim": "owned"}
		if _, err := r.sim.AddSubnet(zone, netip.MustParsePrefix(fmt.Sprintf("10.0.%d.0/24", 48+i)), true, tags); err != nil {
			r.t.Fatal(err)
		}
	}
}

func TestHealthRulesFollowSubnetsOfLoadBalancer(t *testing.T) {
	r := newRig(t, sim.Options{})
	oldManager{r, t.Context()}.network(networkShape{local: true})
	r.preferSubnet("us-west-2a")
	r.restart()
	r.ensure(service(local))
	r.noMutations("another subnet in a zone of the load balancer")
	r.updateTo(service(local), "d")
	if calls := r.calls(); strings.Contains(calls, "SecurityGroup") {
		t.Errorf("calls %s", calls)
	}
}

func TestClassicLoadBalancerKeepsSubnetsInUse(t *testing.T) {
	r := newRig(t, sim.Options{})
	svc := service(without(annotation.KeyType))
	oldManager{r, t.Context()}.classic(classicShape{})
	r.preferSubnet("us-west-2a")
	r.restart()
	r.ensure(svc)
	r.noMutations("another subnet in a zone of the load balancer")
}

// elastic leaves a load balancer with Elastic IPs behind, in the subnets {public-2} and {public-0}.
func elastic(t *testing.T, addresses []string, pairs ...string) (*rig, *v1.Service) {
	t.Helper()
	a := adoption{svc: service(annotate(pairs...))}
	r := a.rig(t)
	oldManager{r, t.Context()}.network(networkShape{addresses: addresses})
	r.restart()
	return r, a.svc
}

func TestAnotherZoneDoesNotRefuseElasticIPs(t *testing.T) {
	r, svc := elastic(t, []string{"{elastic-1}", "{elastic-0}"}, annotation.KeyAllocations, "{elastic-1},{elastic-0}")
	r.ensure(svc)
	r.noMutations("taking over")
	r.wantEvent("keeps its subnets and addresses")
	r.updateTo(svc, "d")
	if calls := r.calls(); !strings.Contains(calls, "RegisterTargets") || strings.Contains(calls, "SetSubnets") {
		t.Errorf("calls %s", calls)
	}
}

func TestEditedTagsKeepPlacesOfElasticIPs(t *testing.T) {
	r, svc := elastic(t, []string{"{elastic-0}", "{elastic-1}"},
		annotation.KeySubnets, "{public-2},{public-0}", annotation.KeyAllocations, "{elastic-1},{elastic-0}")
	r.ensure(svc)
	r.noMutations("taking over")
	svc.Annotations[annotation.KeyTags] = "team=web"
	r.ensure(svc)
	if calls := r.calls(); strings.Contains(calls, "SetSubnets") || !strings.Contains(calls, "AddTags") {
		t.Errorf("calls %s", calls)
	}
	r.steady(svc)
}

func TestReversedSubnetsKeepPlacesOfElasticIPs(t *testing.T) {
	for _, ours := range []bool{false, true} {
		t.Run(fmt.Sprintf("ours %t", ours), func(t *testing.T) {
			r, svc := elastic(t, []string{"{elastic-1}", "{elastic-0}"},
				annotation.KeySubnets, "{public-2},{public-0}", annotation.KeyAllocations, "{elastic-1},{elastic-0}")
			r.ensure(svc)
			if ours {
				svc.Annotations[annotation.KeyTags] = "team=web"
				r.ensure(svc)
				r.log().Reset()
			}
			svc.Annotations[annotation.KeySubnets] = r.named.Expand("{public-0},{public-2}")
			r.ensure(svc)
			if calls := r.calls(); strings.Contains(calls, "SetSubnets") {
				t.Errorf("calls %s", calls)
			}
			r.steady(svc)
		})
	}
}

// TestDisruptionsNeedACause verifies that settings which cloud-provider-aws ignores, or leaves behind, are held when
// the load balancer is taken over, that nodes still join, that another edit is applied and releases nothing, and that an
// edit of the setting, or an approval, is carried out. An edit to what was wanted before causes nothing.
func TestDisruptionsNeedACause(t *testing.T) {
	const policy = "ELBSecurityPolicy-TLS-1-2-2017-01"
	classic := without(annotation.KeyType)
	dual := func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} }
	for _, tt := range []struct {
		name  string
		svc   *v1.Service
		leave func(oldManager)
		// edit changes the setting afterwards, which makes the call: by itself, unless it is approved.
		edit     func(*v1.Service)
		call     string
		approved bool
	}{
		{"IPv6 as second family", service(dual), func(m oldManager) { m.network(networkShape{}) }, nil, "", false},
		{"edited subnets", service(annotate(annotation.KeySubnets, "{public-1}")), func(m oldManager) { m.network(networkShape{}) },
			annotate(annotation.KeySubnets, "{public-0}"), "SetSubnets", false},
		{"TLS port after a space", service(annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "8443, 443")),
			func(m oldManager) { m.network(networkShape{}) }, annotate(annotation.KeyTLSPorts, "443"), "ModifyListener", true},
		{"classic, HTTP in capitals", service(classic, annotate(annotation.KeyBackendProtocol, "HTTP")),
			func(m oldManager) { m.classic(classicShape{}) }, annotate(annotation.KeyBackendProtocol, "http"), "DeleteLoadBalancerListeners", true},
		{"classic, policy of a removed annotation", service(classic, annotate(annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443")),
			func(m oldManager) { m.classic(classicShape{tls: policy}) }, annotate(annotation.KeyTLSPolicy, "ELBSecurityPolicy-2016-08"),
			"SetLoadBalancerPoliciesOfListener", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := adoption{svc: tt.svc}
			r := a.rig(t)
			tt.leave(oldManager{r, t.Context()})
			r.restart()
			r.ensure(tt.svc)
			r.noMutations("taking over")
			r.wantEvent("LoadBalancerChangesHeld")
			r.updateTo(tt.svc, "d")
			if calls := r.calls(); !strings.Contains(calls, "Register") || len(strings.Fields(calls)) > 3 {
				t.Errorf("a node joins by %s", calls)
			}
			r.log().Reset()
			tt.svc.Spec.Ports = append(tt.svc.Spec.Ports, v1.ServicePort{Name: "more", Protocol: v1.ProtocolTCP, Port: 9443, NodePort: 30943})
			r.ensure(tt.svc)
			r.wantOnlyNewListener()
			if tt.edit == nil {
				return
			}
			r.log().Reset()
			tt.edit(tt.svc)
			if tt.approved {
				r.ensure(tt.svc)
				r.noMutations("an edit to what was wanted before")
				tt.svc.Annotations[intent.KeyApprove] = r.heldID(tt.svc)
			}
			for key, value := range tt.svc.Annotations {
				tt.svc.Annotations[key] = r.named.Expand(value)
			}
			r.ensure(tt.svc)
			if calls := r.calls(); !strings.Contains(calls, tt.call) {
				t.Errorf("calls of an edit: %s", calls)
			}
		})
	}
}

// wantOnlyNewListener fails unless a listener was created, and nothing else of the load balancer changed.
func (r *rig) wantOnlyNewListener() {
	r.t.Helper()
	calls := r.log().Count()
	if calls["CreateListener"]+calls["CreateLoadBalancerListeners"] != 1 {
		r.t.Errorf("a further port makes the calls %v", calls)
	}
	for _, call := range []string{"SetSubnets", "SetIpAddressType", "ModifyListener", "DeleteListener", "DeleteLoadBalancerListeners",
		"SetLoadBalancerPoliciesOfListener", "DetachLoadBalancerFromSubnets", "AttachLoadBalancerToSubnets"} {
		if calls[call] > 0 {
			r.t.Errorf("a further port releases %s: %v", call, calls)
		}
	}
}

// heldID returns the ID of the held changes of a Service.
func (r *rig) heldID(svc *v1.Service) string {
	r.t.Helper()
	p, err := r.manager.PlanLoadBalancer(r.t.Context(), clusterName, svc, r.nodes, lbcommon.PlanOptions{})
	if err != nil || p.HeldID == "" {
		r.t.Fatalf("held %v, error %v", p.Held, err)
	}
	return p.HeldID
}

// untagInstance takes the cluster's tag from the instance of a node. The result restores it.
func (r *rig) untagInstance(node string) (restore func()) {
	r.t.Helper()
	ids, tag := []string{r.sim.Instance(node)}, ec2types.Tag{Key: awssdk.String("kubernetes.io/cluster/sim")}
	must(r.ec2.DeleteTags(r.t.Context(), &ec2.DeleteTagsInput{Resources: ids, Tags: []ec2types.Tag{tag}}))(r.t)
	return func() {
		tag.Value = awssdk.String("owned")
		must(r.ec2.CreateTags(r.t.Context(), &ec2.CreateTagsInput{Resources: ids, Tags: []ec2types.Tag{tag}}))(r.t)
	}
}

// byGeneration returns a Service for each kind of load balancer, with how cloud-provider-aws leaves it.
func byGeneration() map[string]adoption {
	return map[string]adoption{
		"network": {svc: service(), leave: func(m oldManager) { m.network(networkShape{}) }},
		"classic": {svc: service(without(annotation.KeyType)), leave: func(m oldManager) { m.classic(classicShape{}) }},
	}
}

func TestInstanceWithoutClusterTagReceivesNoTraffic(t *testing.T) {
	for name, a := range byGeneration() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			a.leave(oldManager{r, t.Context()})
			r.launch("d")
			restore := r.untagInstance("d")
			r.restart()
			r.ensure(a.svc)
			r.noMutations("an instance without the cluster's tag")
			r.wantEvent(r.sim.Instance("d") + " lacks the tag kubernetes.io/cluster/sim")
			r.steady(a.svc)
			restore()
			r.clock.Step(time.Minute)
			r.ensure(a.svc)
			if calls := r.calls(); !strings.Contains(calls, "Register") {
				t.Errorf("calls once it is tagged: %s", calls)
			}
			r.steady(a.svc)
		})
	}
}

// TestTakenOverClassicLoadBalancerKeepsIPv4 takes over a load balancer of a Service that requires both families, for
// which another manager created IPv4 alone: it stays, with a warning.
func TestTakenOverClassicLoadBalancerKeepsIPv4(t *testing.T) {
	a := byGeneration()["classic"]
	a.svc.Spec.IPFamilyPolicy = ptr.To(v1.IPFamilyPolicyRequireDualStack)
	a.svc.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}
	r := newRig(t, sim.Options{})
	a.leave(oldManager{r, t.Context()})
	r.restart()
	r.ensure(a.svc)
	r.noMutations("taking over")
	r.wantEvent("spec.ipFamilyPolicy")
	r.updateTo(a.svc, "d")
	if calls := r.calls(); !strings.Contains(calls, "Register") {
		t.Errorf("calls once a node joined: %s", calls)
	}
}

// TestUnclearGroupsOfNodesKeepRules verifies that a load balancer follows nodes when their security group is not clear
// any more, and that no rule is removed. Only a new one is refused.
func TestUnclearGroupsOfNodesKeepRules(t *testing.T) {
	for name, a := range byGeneration() {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			a.leave(oldManager{r, t.Context()})
			nodes := r.untag("nodes.sim")
			more := must(r.sim.AddSecurityGroup("more", nil))(t)
			for _, n := range r.nodes {
				must(r.ec2.ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{
					InstanceId: awssdk.String(r.sim.Instance(n.Name)), Groups: []string{nodes, more},
				}))(t)
			}
			rules := r.rules()
			r.restart()
			r.ensure(a.svc)
			r.noMutations("taking over")
			r.wantEvent("none has the cluster's tag")
			r.nodes = r.nodes[1:]
			r.updateTo(a.svc, "d")
			r.ensure(a.svc)
			if diff := cmp.Diff(rules, r.rules()); diff != "" || !strings.Contains(r.calls(), "Register") {
				t.Errorf("calls %s, rules (-before +after):\n%s", r.calls(), diff)
			}
			other := a.svc.DeepCopy()
			other.Name, other.UID = "other", "ffffffff-4567-89ef-0123-456789abcdef"
			r.ensureError(other, "none has the cluster's tag")
		})
	}
}

// untagParts takes all tags from the target groups and listeners of the only load balancer, as cloud-provider-aws left
// them before it tagged them.
func (r *rig) untagParts() {
	r.t.Helper()
	ctx := r.t.Context()
	var arns []string
	for _, g := range must(r.elbv2.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{}))(r.t).TargetGroups {
		arns = append(arns, *g.TargetGroupArn)
	}
	in := &elbv2.DescribeListenersInput{LoadBalancerArn: r.balancer(webName).LoadBalancerArn}
	for _, l := range must(r.elbv2.DescribeListeners(ctx, in))(r.t).Listeners {
		arns = append(arns, *l.ListenerArn)
	}
	must(r.elbv2.RemoveTags(ctx, &elbv2.RemoveTagsInput{ResourceArns: arns,
		TagKeys: []string{"kubernetes.io/service-name", "kubernetes.io/cluster/sim", names.ClusterUIDTag}}))(r.t)
}

// takeOver takes over a network load balancer, which changes nothing, and lets a node join.
func (r *rig) takeOver(svc *v1.Service) {
	r.t.Helper()
	r.restart()
	r.ensure(svc)
	r.noMutations("taking over")
	r.steady(svc)
	r.updateTo(svc, "d")
	if calls := r.calls(); calls != "RegisterTargets RegisterTargets" {
		r.t.Errorf("a node joins by %s", calls)
	}
}

// TestUntaggedPartsAreTakenOver verifies that target groups and listeners without tags are used, tagged with the first
// change that is made anyway, and deleted, also if the deletion is interrupted.
func TestUntaggedPartsAreTakenOver(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		t.Run(fmt.Sprintf("interrupted %t", interrupted), func(t *testing.T) {
			r := newRig(t, sim.Options{})
			before := r.bare()
			oldManager{r, t.Context()}.network(networkShape{})
			r.untagParts()
			r.takeOver(service())
			r.restart()
			if interrupted {
				r.sim.Front().SetFaults(kit.Fault{Kind: kit.FaultKillBefore, Operation: "DeleteTargetGroup", Times: 1})
				r.sim.Front().OnKill(func() {})
				_ = r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, service())
				r.sim.Front().SetFaults()
				r.sim.Front().Revive()
				r.restart()
			}
			r.remove(service())
			before["instances"]++
			r.sameInventory(before)
		})
	}
}

func TestUntaggedPartsAreTaggedWithFirstChange(t *testing.T) {
	r := newRig(t, sim.Options{})
	oldManager{r, t.Context()}.network(networkShape{})
	r.untagParts()
	r.restart()
	r.ensure(service())
	r.ensure(service(annotate(annotation.KeyCrossZone, "true")))
	if got := r.tagsOf(r.groupOn(80).TargetGroupArn)["kubernetes.io/service-name"]; got != "default/web" {
		t.Errorf("the target group is tagged for %q", got)
	}
	r.steady(service(annotate(annotation.KeyCrossZone, "true")))
}

// TestTagsOfAnnotationAreAddedWithFirstChange verifies that tags that were added to the Service later, which
// cloud-provider-aws ignores on network load balancers, are no change at the take-over.
func TestTagsOfAnnotationAreAddedWithFirstChange(t *testing.T) {
	r := newRig(t, sim.Options{})
	oldManager{r, t.Context()}.network(networkShape{})
	r.restart()
	svc := service(annotate(annotation.KeyTags, "team=web"))
	r.ensure(svc)
	r.noMutations("taking over")
	r.steady(svc)
	svc = service(annotate(annotation.KeyTags, "team=store"))
	r.ensure(svc)
	if calls := r.calls(); !strings.HasPrefix(calls, "AddTags") {
		t.Errorf("calls once the tags are edited: %s", calls)
	}
	if got := r.tagsOf(r.balancer(webName).LoadBalancerArn)["team"]; got != "store" {
		t.Errorf("team=%s", got)
	}
}

// TestTargetGroupOfAnotherNameIsAdopted verifies that the target group of a listener is used whatever its name is, if
// its settings are those that are wanted.
func TestTargetGroupOfAnotherNameIsAdopted(t *testing.T) {
	saved := oldPorts
	t.Cleanup(func() { oldPorts = saved })
	oldPorts = []oldPort{{80, 30080, "k8s-default-web-0000000001", "", ""}, {443, 30443, "web-by-hand", "", ""}}
	r := newRig(t, sim.Options{})
	before := r.bare()
	oldManager{r, t.Context()}.network(networkShape{})
	r.takeOver(service())
	r.ensure(service(annotate(annotation.KeyHealthCheckHealthy, "4")))
	if calls := r.calls(); strings.Contains(calls, "CreateTargetGroup") {
		t.Errorf("another health check is made by %s", calls)
	}
	r.remove(service())
	before["instances"]++
	r.sameInventory(before)
}

// TestSettingsThatTodayIgnoresAreWarnings verifies that settings which cloud-provider-aws ignores on a network load
// balancer refuse no Service.
func TestSettingsThatTodayIgnoresAreWarnings(t *testing.T) {
	for key, value := range map[string]string{
		annotation.KeyProxyProtocol: "true", annotation.KeyIdleTimeout: "350s", annotation.KeyDraining: "yes",
		annotation.KeyDrainTimeout: "0", annotation.KeyAccessLogInterval: "10", annotation.KeySecurityGroups: "sg-1",
		annotation.KeyTags: "team=web,team=store,", annotation.KeyNodeLabels: "pool=x,pool=y,",
		annotation.KeyTLSPorts: "443,443", annotation.KeyGroupAttributes: "preserve_client_ip.enabled=true,",
		annotation.KeyBackendProtocol: "grpc", annotation.KeyHealthCheckPath: "ready",
	} {
		t.Run(key, func(t *testing.T) {
			r := newRig(t, sim.Options{})
			for _, n := range r.nodes {
				n.Labels = map[string]string{"pool": "y"}
			}
			r.ensure(service(annotate(key, value)))
			if key != annotation.KeyGroupAttributes {
				r.wantEvent(key)
			}
			r.steady(service(annotate(key, value)))
		})
	}
}

// TestPolicyCoversUntaggedParts takes over target groups and listeners without tags under the published policy.
func TestPolicyCoversUntaggedParts(t *testing.T) {
	policy, err := os.ReadFile("../../../deploy/aws/iam-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, sim.Options{Policy: bytes.ReplaceAll(policy, []byte("CLUSTER_ID"), []byte("sim"))})
	before := r.bare()
	oldManager{r, t.Context()}.network(networkShape{})
	r.untagParts()
	r.restart()
	r.ensure(service())
	r.updateTo(service(), "d")
	changed := service(annotate(annotation.KeyCrossZone, "true", annotation.KeyHealthCheckHealthy, "4",
		annotation.KeyCertificates, certificateA, annotation.KeyTLSPorts, "443"))
	r.ensure(changed)
	r.steady(changed)
	r.untagParts()
	r.restart()
	r.remove(changed)
	before["instances"]++
	r.sameInventory(before)
}

// TestDescriptionOfManagedGroupDoesNotMatter verifies that the managed security group is found by its name alone. Its
// description cannot change, and earlier releases of ccm gave another one.
func TestDescriptionOfManagedGroupDoesNotMatter(t *testing.T) {
	saved := oldManagedDescription
	t.Cleanup(func() { oldManagedDescription = saved })
	oldManagedDescription = "another description"
	r := newRig(t, sim.Options{}, managed)
	before := r.bare()
	oldManager{r, t.Context()}.network(networkShape{managed: true})
	r.restart()
	r.ensure(service())
	r.noMutations("taking over")
	r.steady(service())
	r.remove(service())
	r.sameAs(t, before)
}
