package aws_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/aws"
	"github.com/unified-ccm/unified-ccm/providers/aws/controllers"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// policyScenarios change Services and nodes in the ways that only AWS has, and that the scenarios of all clouds lack.
type policyScenarios struct {
	*testing.T
	world *sim.Cloud
	cloud cloudprovider.Interface
	nodes []*v1.Node
}

func newPolicyScenarios(t *testing.T, document []byte) *policyScenarios {
	t.Helper()
	world, err := sim.New(sim.Options{Policy: document})
	if err != nil {
		t.Fatal(err)
	}
	l := &policyScenarios{T: t, world: world, cloud: start(t, world)}
	for _, name := range []string{"a", "b"} {
		l.nodes = append(l.nodes, l.join(name, "10.244.1.0/24"))
	}
	return l
}

func start(t *testing.T, world *sim.Cloud) cloudprovider.Interface {
	t.Helper()
	cloud, err := managerOn(world, "NLBSecurityGroupMode = Managed\n")(conformance.ManagerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return cloud
}

// join launches a machine, and returns its initialised node.
func (l *policyScenarios) join(name string, cidrs ...string) *v1.Node {
	l.Helper()
	node, err := l.world.Launch(conformance.Machine{Name: name, Zone: "us-west-2a", PodCIDRs: cidrs})
	if err != nil {
		l.Fatal(err)
	}
	node.Spec.ProviderID = "aws:///us-west-2a/" + l.world.Instance(name)
	node.Spec.Taints = nil
	return node
}

// service is a Service of two ports with these annotations.
func service(annotations map[string]string) *v1.Service {
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web",
			UID: types.UID("01234567-89ab-cdef-0123-456789abcdef"), Annotations: annotations},
		Spec: v1.ServiceSpec{
			Type: v1.ServiceTypeLoadBalancer, SessionAffinity: v1.ServiceAffinityNone,
			ExternalTrafficPolicy: v1.ServiceExternalTrafficPolicyCluster, IPFamilies: []v1.IPFamily{v1.IPv4Protocol},
			Ports: []v1.ServicePort{
				{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080},
				{Name: "https", Protocol: v1.ProtocolTCP, Port: 443, NodePort: 30443},
			},
		},
	}
}

// ensure reconciles a Service.
func (l *policyScenarios) ensure(svc *v1.Service, nodes []*v1.Node) {
	l.Helper()
	balancers, _ := l.cloud.LoadBalancer()
	if _, err := balancers.EnsureLoadBalancer(l.Context(), "conformance", svc, nodes); err != nil {
		l.Errorf("annotations %v: %v", svc.Annotations, err)
	}
}

func (l *policyScenarios) remove(svc *v1.Service) {
	l.Helper()
	balancers, _ := l.cloud.LoadBalancer()
	if err := balancers.EnsureLoadBalancerDeleted(l.Context(), "conformance", svc); err != nil {
		l.Errorf("deleting: %v", err)
	}
}

func certificate(letter string) string {
	return "arn:aws:acm:us-west-2:123456789012:certificate/" + strings.Repeat(letter, 8) + "-1234-1234-1234-123456789012"
}

// with returns the annotations of all versions of a Service, with those of one version.
func with(all map[string]string, pairs ...string) map[string]string {
	out := maps.Clone(all)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
	}
	return out
}

// changeNetworkLoadBalancer changes everything that can be changed of a network load balancer.
func (l *policyScenarios) changeNetworkLoadBalancer() {
	subnets := l.world.Subnets(false)
	first, second := l.group("first"), l.group("second")
	nlb := map[string]string{annotation.KeyType: "nlb", annotation.KeySecurityGroups: first,
		annotation.KeySubnets: strings.Join(subnets[:2], ",")}
	tls := with(nlb, annotation.KeyTLSPorts, "https")
	versions := []*v1.Service{
		service(with(nlb)),
		service(with(nlb, annotation.KeySecurityGroups, second, annotation.KeySubnets, strings.Join(subnets, ","))),
		service(with(nlb, annotation.KeyCrossZone, "true", annotation.KeyTags, "team=a", intent.KeyIdleTimeout, "100s",
			annotation.KeyGroupAttributes, "deregistration_delay.timeout_seconds=10")),
		service(with(tls, annotation.KeyCertificates, certificate("a")+","+certificate("b"))),
		service(with(tls, annotation.KeyCertificates, certificate("a")+","+certificate("c"))),
	}
	dual := service(with(nlb))
	both := v1.IPFamilyPolicyPreferDualStack
	dual.Spec.IPFamilies, dual.Spec.IPFamilyPolicy = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol}, &both
	for _, svc := range append(versions, dual) {
		l.ensure(svc, l.nodes)
	}
	l.remove(dual)
}

// changeClassicLoadBalancer changes everything that can be changed of a classic load balancer.
func (l *policyScenarios) changeClassicLoadBalancer() {
	subnets := l.world.Subnets(false)
	group := l.group("classic")
	some := map[string]string{annotation.KeySubnets: strings.Join(subnets[:2], ",")}
	tls := with(some, annotation.KeyTLSPorts, "https", annotation.KeyBackendProtocol, "tcp")
	versions := []*v1.Service{
		service(with(some, annotation.KeyTags, "team=a")),
		service(with(some, annotation.KeyTags, "team=b")),
		service(with(some, annotation.KeySubnets, strings.Join(subnets[1:], ","), annotation.KeyExtraSecurityGroups, group)),
		service(with(some, annotation.KeyProxyProtocol, "*", annotation.KeyCrossZone, "true")),
		service(with(tls, annotation.KeyCertificates, certificate("a"))),
		service(with(tls, annotation.KeyCertificates, certificate("b"),
			annotation.KeyTLSPolicy, "ELBSecurityPolicy-TLS-1-2-2017-01")),
	}
	for _, svc := range versions {
		l.ensure(svc, l.nodes)
	}
	last := versions[len(versions)-1]
	l.ensure(last, l.nodes[:1])
	l.remove(last)
}

func (l *policyScenarios) group(name string) string {
	l.Helper()
	id, err := l.world.AddSecurityGroup(name, map[string]string{"kubernetes.io/cluster/" + l.world.ClusterID(): "shared"})
	if err != nil {
		l.Fatal(err)
	}
	return id
}

// changeNodes moves a pod CIDR to another instance, which replaces the blackhole route, reads a Fargate node, and tags an
// instance.
func (l *policyScenarios) changeNodes(ctx context.Context) {
	routes, _ := l.cloud.Routes()
	add := func(node *v1.Node) {
		l.Helper()
		route := &cloudprovider.Route{TargetNode: types.NodeName(node.Name), DestinationCIDR: "10.244.7.0/24"}
		if err := routes.CreateRoute(ctx, "conformance", node.Name, route); err != nil {
			l.Errorf("route to node %s: %v", node.Name, err)
		}
	}
	instances, _ := l.cloud.InstancesV2()
	for _, name := range []string{"c", "d"} {
		node := l.join(name, "10.244.7.0/24")
		if _, err := instances.InstanceMetadata(ctx, node); err != nil {
			l.Errorf("node %s: %v", name, err)
		}
		add(node)
		if name == "c" {
			if err := l.world.Terminate(name); err != nil {
				l.Fatal(err)
			}
			l.cloud = start(l.T, l.world)
			routes, _ = l.cloud.Routes()
			instances, _ = l.cloud.InstancesV2()
		}
	}
	ip, err := l.world.LaunchFargate("us-west-2a")
	if err != nil {
		l.Fatal(err)
	}
	fargate := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "fargate"}}
	fargate.Spec.ProviderID = "aws:///us-west-2a/fargate-" + ip.String()
	if exists, err := instances.InstanceExists(ctx, fargate); err != nil || !exists {
		l.Errorf("Fargate node exists: %v, %v", exists, err)
	}
	l.tagInstance(ctx)
}

// tagInstance lets the tagging controller tag the instance of a node.
func (l *policyScenarios) tagInstance(ctx context.Context) {
	l.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	client := fake.NewClientset(l.nodes[0])
	watch, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		l.Fatal(err)
	}
	defer watch.Stop()
	flags, set := &controllers.Flags{}, pflag.NewFlagSet("tagging", pflag.ContinueOnError)
	flags.Add(set)
	if err := set.Parse([]string{"--tags=team=a", "--resources=instance"}); err != nil {
		l.Fatal(err)
	}
	cloud, err := newCloud(l.world, "", aws.WithFlags(flags))
	if err != nil {
		l.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	started, err := cloud.StartController(ctx, "tagging", provider.ControllerContext{
		Client: client, Nodes: factory.Core().V1().Nodes(), Owns: cloud.OwnsNode,
	})
	if err != nil || !started {
		l.Fatalf("started %v, %v", started, err)
	}
	factory.Start(ctx.Done())
	for {
		select {
		case event := <-watch.ResultChan():
			if node, ok := event.Object.(*v1.Node); ok && node.Labels[names.TaggedLabel] != "" {
				l.untagInstance(ctx, client, node.Name)
				return
			}
		case <-ctx.Done():
			l.Error("the instance was not tagged")
			return
		}
	}
}

// untagInstance deletes a tagged Node, and waits until the tagging controller has removed the tags of its instance.
func (l *policyScenarios) untagInstance(ctx context.Context, client *fake.Clientset, node string) {
	l.Helper()
	l.world.Front().Log().Reset()
	if err := client.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{}); err != nil {
		l.Fatal(err)
	}
	for l.world.Front().Log().Count()["DeleteTags"] == 0 {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			l.Error("the tags of the instance were not removed")
			return
		}
	}
}

// takeOverUntagged takes over listeners and target groups of an earlier manager that did not tag them, and changes
// and deletes them before they are tagged: tags are the last change of a plan, and here they are denied at first.
func (l *policyScenarios) takeOverUntagged() {
	ctx := l.Context()
	nlb := map[string]string{annotation.KeyType: "nlb", annotation.KeySubnets: strings.Join(l.world.Subnets(false), ",")}
	old := service(with(nlb))
	old.Spec.Ports = append(old.Spec.Ports,
		v1.ServicePort{Name: "third", Protocol: v1.ProtocolTCP, Port: 81, NodePort: 30081})
	other, err := newOtherManager(ctx, l.world, old, l.nodes)
	if err != nil {
		l.Fatal(err)
	}
	if _, err = other.network(ctx); err != nil {
		l.Fatal(err)
	}
	tls := with(nlb, annotation.KeyTLSPorts, "https", annotation.KeyCertificates, certificate("a"))
	svc := old
	for _, step := range []struct {
		nodes       []*v1.Node
		annotations map[string]string
		ports       int
	}{
		{l.nodes[:1], nlb, 3},
		{l.nodes, nlb, 3},
		{l.nodes, with(nlb, annotation.KeyHealthCheckHealthy, "4"), 3},
		{l.nodes, with(nlb, annotation.KeyGroupAttributes, "deregistration_delay.timeout_seconds=10"), 3},
		{l.nodes, with(nlb, intent.KeyIdleTimeout, "100s"), 3},
		{l.nodes, tls, 3},
		{l.nodes, with(tls, annotation.KeyCertificates, certificate("a")+","+certificate("b")), 3},
		{l.nodes, with(tls, annotation.KeyCertificates, certificate("a")+","+certificate("c")), 3},
		{l.nodes, tls, 2},
	} {
		other.untag(l)
		l.cloud = start(l.T, l.world)
		l.ensure(svc, l.nodes)
		svc = svc.DeepCopy()
		svc.Annotations, svc.Spec.Ports = step.annotations, old.Spec.Ports[:step.ports]
		l.world.SetDisruption(sim.Disruption{Denied: []string{"elasticloadbalancing:AddTags"}})
		l.ensureDenied(svc, step.nodes)
		l.world.SetDisruption(sim.Disruption{})
		l.ensure(svc, step.nodes)
	}
	other.untag(l)
	l.cloud = start(l.T, l.world)
	l.remove(old)
}

// ensureDenied reconciles a Service with everything but its tags.
func (l *policyScenarios) ensureDenied(svc *v1.Service, nodes []*v1.Node) {
	l.Helper()
	balancers, _ := l.cloud.LoadBalancer()
	_, err := balancers.EnsureLoadBalancer(l.Context(), "conformance", svc, nodes)
	if err != nil && !strings.Contains(err.Error(), "elasticloadbalancing:AddTags") {
		l.Errorf("annotations %v: %v", svc.Annotations, err)
	}
}

// untag removes all tags from the target groups and listeners of the load balancer.
func (o *otherManager) untag(l *policyScenarios) {
	l.Helper()
	ctx := l.Context()
	balancers, err := o.elbv2.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{Names: []string{o.name}})
	if err != nil {
		l.Fatal(err)
	}
	balancer := balancers.LoadBalancers[0].LoadBalancerArn
	listeners, err := o.elbv2.DescribeListeners(ctx, &elbv2.DescribeListenersInput{LoadBalancerArn: balancer})
	if err != nil {
		l.Fatal(err)
	}
	groups, err := o.elbv2.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{LoadBalancerArn: balancer})
	if err != nil {
		l.Fatal(err)
	}
	var arns []string
	for _, found := range listeners.Listeners {
		arns = append(arns, *found.ListenerArn)
	}
	for _, found := range groups.TargetGroups {
		arns = append(arns, *found.TargetGroupArn)
	}
	_, err = o.elbv2.RemoveTags(ctx, &elbv2.RemoveTagsInput{ResourceArns: arns,
		TagKeys: []string{names.ServiceTag, "kubernetes.io/cluster/" + o.cluster, names.ClusterUIDTag}})
	if err != nil {
		l.Fatal(err)
	}
}

// wantNoLoadBalancers verifies that all objects of the load balancers were deleted.
func (l *policyScenarios) wantNoLoadBalancers(before map[string]int) {
	l.Helper()
	after := l.world.Objects()
	for _, kind := range []string{"load-balancers", "listeners", "target-groups", "targets", "classic-load-balancers"} {
		if after[kind] != 0 {
			l.Errorf("%d %s exist after the deletion", after[kind], kind)
		}
	}
	if after["security-group-rules"] < before["security-group-rules"] {
		l.Errorf("of %d rules of security groups, %d are left", before["security-group-rules"], after["security-group-rules"])
	}
}
