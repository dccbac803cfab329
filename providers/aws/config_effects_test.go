package aws

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/config"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/simtest"
)

// configEffect is what a key of cloud.conf does. Before and after are sections of the file without
// and with the key; see is what can be seen of it, and wants what is seen with the key.
type configEffect struct {
	before, after string
	see           func(*testing.T, *trial) string
	wants         string
}

// trial is a manager in a simulated cloud with one node.
type trial struct {
	*Cloud
	world    *sim.Cloud
	node     *v1.Node
	wire     *simtest.Recorder
	warnings []string
}

func try(t *testing.T, conf string) *trial {
	t.Helper()
	world, node := simtest.WithSelf(t, sim.Options{IPv6: true})
	group, err := world.AddSecurityGroup("shared", nil)
	if err != nil {
		t.Fatal(err)
	}
	node.Spec.ProviderID = "aws:///us-west-2a/" + world.Instance("self")
	r := &trial{world: world, node: node, wire: &simtest.Recorder{Base: world.Front().Transport()}}
	conf = strings.ReplaceAll(conf, "{shared}", group)
	cfg, warnings, err := config.Read("", []byte("[Global]\n"+conf))
	if err != nil {
		t.Fatal(err)
	}
	r.warnings = warnings.Strings()
	r.Cloud = newManagerOf(t, r.wire, cfg)
	return r
}

func global(with string, see func(*testing.T, *trial) string, wants string) configEffect {
	return configEffect{after: with + "\n", see: see, wants: wants}
}

// probing are the keys of the shared probe beside its mode.
const probing = "ClusterServiceLoadBalancerHealthProbeMode = Shared\n"

func configEffects() map[string]configEffect {
	section := func(service, region, url, signing, more string) string {
		return simtest.Located + fmt.Sprintf("[ServiceOverride \"1\"]\nService = %s\nRegion = %s\nURL = %s\nSigningRegion = %s\n%s", service, region, url, signing, more)
	}
	plain := section("EC2", "us-west-2", "http://ec2.test", "us-west-2", "")
	return map[string]configEffect{
		"Global/Zone":                 global("Zone = us-east-1a", seeRegion, "us-east-1"),
		"Global/Region":               global("Region = us-east-1", seeRegion, "us-east-1"),
		"Global/VPC":                  {before: simtest.Located, after: strings.Replace(simtest.Located, "vpc-0123", "vpc-4567", 1), see: seeVPC, wants: "vpc-4567"},
		"Global/SubnetID":             {before: simtest.Located, after: simtest.Located + "SubnetID = subnet-0123\n", see: seeSubnet, wants: "subnet-0123"},
		"Global/RouteTableID":         global("RouteTableID = rtb-0123", seeTable, "rtb-0123"),
		"Global/RoleARN":              global("RoleARN = arn:aws:iam::123456789012:role/ccm", seeCaller, "arn:aws:sts::123456789012:assumed-role/ccm/unified-ccm"),
		"Global/KubernetesClusterID":  global("KubernetesClusterID = prod", seeCluster, "prod legacy=false"),
		"Global/KubernetesClusterTag": global("KubernetesClusterTag = prod", seeCluster, "prod legacy=true"),
		"Global/NodeIPFamilies":       global("NodeIPFamilies = ipv6", seeFamilies, "IPv6"),
		"Global/LegacyMetrics":        global("LegacyMetrics = true", seeLegacy, "true"),
		"Global/SourceARN": {before: "RoleARN = arn:aws:iam::123456789012:role/ccm\n",
			after: "RoleARN = arn:aws:iam::123456789012:role/ccm\nSourceARN = arn:aws:eks:us-west-2:123456789012:cluster/prod\n", see: seeSource, wants: "arn:aws:eks:us-west-2:123456789012:cluster/prod"},
		"Global/DisableSecurityGroupIngress":                     global("DisableSecurityGroupIngress = true", seeClassicRules, "0 rules"),
		"Global/ElbSecurityGroup":                                global("ElbSecurityGroup = {shared}", seeClassicGroup, "shared"),
		"Global/ClusterServiceLoadBalancerHealthProbeMode":       global("ClusterServiceLoadBalancerHealthProbeMode = Shared", seeProbe, "HTTP:10256/healthz HTTP 10256 /healthz"),
		"Global/ClusterServiceSharedLoadBalancerHealthProbePort": {before: probing, after: probing + "ClusterServiceSharedLoadBalancerHealthProbePort = 8080\n", see: seeProbe, wants: "HTTP:8080/healthz HTTP 8080 /healthz"},
		"Global/ClusterServiceSharedLoadBalancerHealthProbePath": {before: probing, after: probing + "ClusterServiceSharedLoadBalancerHealthProbePath = /ready\n", see: seeProbe, wants: "HTTP:10256/ready HTTP 10256 /ready"},
		"Global/SupportedTopologyInstanceTypePattern":            global(`SupportedTopologyInstanceTypePattern = "."`, seeTopologyNeeded, "not initialised"),
		"Global/NLBSecurityGroupMode":                            global("NLBSecurityGroupMode = Managed", seeNetworkGroups, "1 groups"),
		`ServiceOverride "NAME"/Service`:                         {before: section("sts", "us-west-2", "http://ec2.test", "us-west-2", ""), after: plain, see: seeEndpoint, wants: "ec2.test us-west-2/ec2"},
		`ServiceOverride "NAME"/Region`:                          {before: section("EC2", "us-east-1", "http://ec2.test", "us-west-2", ""), after: plain, see: seeEndpoint, wants: "ec2.test us-west-2/ec2"},
		`ServiceOverride "NAME"/URL`:                             {before: plain, after: strings.Replace(plain, "ec2.test", "other.test", 1), see: seeEndpoint, wants: "other.test us-west-2/ec2"},
		`ServiceOverride "NAME"/SigningRegion`:                   {before: plain, after: section("EC2", "us-west-2", "http://ec2.test", "us-east-1", ""), see: seeEndpoint, wants: "ec2.test us-east-1/ec2"},
		`ServiceOverride "NAME"/SigningName`:                     {before: plain, after: plain + "SigningName = other\n", see: seeEndpoint, wants: "ec2.test us-west-2/other"},
		`ServiceOverride "NAME"/SigningMethod`:                   {before: plain, after: plain + "SigningMethod = v2\n", see: seeWarnings, wants: "has no effect: requests are signed with version 4"},
	}
}

// Every key of the reference has an effect that can be seen, which goes with the key.
func TestConfigKeysHaveEffect(t *testing.T) {
	table := configEffects()
	for _, key := range Descriptor().Config {
		name := key.Section + "/" + key.Key
		effect, tried := table[name]
		if !tried {
			t.Errorf("no test uses %s", name)
			continue
		}
		delete(table, name)
		t.Run(key.Key, func(t *testing.T) {
			if got := effect.see(t, try(t, effect.after)); !strings.Contains(got, effect.wants) {
				t.Errorf("with it: %s, want %s", got, effect.wants)
			}
			if got := effect.see(t, try(t, effect.before)); strings.Contains(got, effect.wants) {
				t.Errorf("without it too: %s", got)
			}
		})
	}
	for name := range table {
		t.Errorf("%s is tried and not documented", name)
	}
}

func (r *trial) connected(t *testing.T) connection {
	t.Helper()
	p, err := r.connection.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func seeRegion(t *testing.T, r *trial) string {
	if _, err := r.region.Get(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r.knownRegion()
}

func seeVPC(t *testing.T, r *trial) string    { return r.connected(t).environment.VPC }
func seeSubnet(t *testing.T, r *trial) string { return r.connected(t).environment.Subnet }

func seeTable(t *testing.T, r *trial) string {
	_, err := r.routes.ListRoutes(t.Context(), "kubernetes")
	return fmt.Sprint(err)
}

func seeCluster(t *testing.T, r *trial) string {
	// The instance that the manager runs on is another cluster's then, whose tag does not count.
	id := r.connected(t).environment
	return fmt.Sprintf("%s legacy=%t", id.ClusterID, id.LegacyTag)
}

func seeLegacy(_ *testing.T, r *trial) string { return fmt.Sprint(r.client.LegacyMetrics() != nil) }

func seeWarnings(_ *testing.T, r *trial) string { return strings.Join(r.warnings, "; ") }

func seeCaller(t *testing.T, r *trial) string {
	out, err := r.connected(t).clients.STS.GetCallerIdentity(t.Context(), &sts.GetCallerIdentityInput{})
	if err != nil {
		t.Fatal(err)
	}
	return *out.Arn
}

func seeSource(t *testing.T, r *trial) string {
	seeCaller(t, r)
	for _, sent := range r.wire.Sent() {
		if source := sent.Header.Get("X-Amz-Source-Arn"); source != "" {
			return source
		}
	}
	return ""
}

func seeEndpoint(t *testing.T, r *trial) string {
	_, _ = r.connected(t).clients.EC2.DescribeSecurityGroups(t.Context(), nil) // the response does not matter
	sent := r.wire.Last()
	parts := strings.Split(sent.Header.Get("Authorization"), "/")
	return fmt.Sprintf("%s %s/%s", sent.URL.Host, parts[2], parts[3])
}

func seeFamilies(t *testing.T, r *trial) string {
	found, err := r.instances.InstanceMetadata(t.Context(), r.node)
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(found.NodeAddresses, func(a v1.NodeAddress) bool {
		return a.Type == v1.NodeInternalIP && !strings.Contains(a.Address, ":")
	}) {
		return "IPv4"
	}
	return "IPv6"
}

func seeTopologyNeeded(t *testing.T, r *trial) string {
	r.world.Front().SetFaults(kit.Fault{Kind: kit.FaultError, Operation: "DescribeInstanceTopology", Times: kit.Always})
	if _, err := r.instances.InstanceMetadata(t.Context(), r.node); err != nil {
		return "not initialised"
	}
	return "initialised"
}

// ensure makes a load balancer of a generation, and returns its name.
func (r *trial) ensure(t *testing.T, annotations map[string]string) string {
	t.Helper()
	svc := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "0123abcd-4567-89ef-0123-456789abcdef", Annotations: annotations},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, IPFamilies: []v1.IPFamily{v1.IPv4Protocol}, Ports: []v1.ServicePort{{Protocol: v1.ProtocolTCP, Port: 80, NodePort: 30080}}}}
	if annotations != nil {
		svc.UID = "ffffabcd-4567-89ef-0123-456789abcdef"
	}
	if _, err := r.loadBalancer.EnsureLoadBalancer(t.Context(), "kubernetes", svc, []*v1.Node{r.node}); err != nil {
		t.Fatal(err)
	}
	return names.LoadBalancerName(svc.UID)
}

var networkKind = map[string]string{annotation.KeyType: "nlb"}

func seeClassicGroup(t *testing.T, r *trial) string {
	name := r.ensure(t, nil)
	c := r.connected(t).clients
	out, err := c.ELB.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	groups, err := c.EC2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: out.LoadBalancerDescriptions[0].SecurityGroups})
	if err != nil {
		t.Fatal(err)
	}
	return *groups.SecurityGroups[0].GroupName
}

// seeClassicRules counts what the nodes' group lets in from other groups.
func seeClassicRules(t *testing.T, r *trial) string {
	r.ensure(t, nil)
	out, err := r.connected(t).clients.EC2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{
		Filters: []ec2types.Filter{{Name: awssdk.String("group-name"), Values: []string{"nodes.sim"}}}})
	if err != nil {
		t.Fatal(err)
	}
	rules, own := 0, *out.SecurityGroups[0].GroupId
	for _, p := range out.SecurityGroups[0].IpPermissions {
		for _, pair := range p.UserIdGroupPairs {
			if *pair.GroupId != own {
				rules++
			}
		}
	}
	return fmt.Sprintf("%d rules", rules)
}

// seeProbe is the health check of both generations.
func seeProbe(t *testing.T, r *trial) string {
	ctx, classic := t.Context(), r.ensure(t, nil)
	r.ensure(t, networkKind)
	c := r.connected(t).clients
	balancers, err := c.ELB.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{classic}})
	if err != nil {
		t.Fatal(err)
	}
	groups, err := c.ELBV2.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{})
	if err != nil {
		t.Fatal(err)
	}
	g := groups.TargetGroups[0]
	return fmt.Sprintf("%s %s %s %s", *balancers.LoadBalancerDescriptions[0].HealthCheck.Target, g.HealthCheckProtocol, *g.HealthCheckPort, awssdk.ToString(g.HealthCheckPath))
}

func seeNetworkGroups(t *testing.T, r *trial) string {
	name := r.ensure(t, networkKind)
	out, err := r.connected(t).clients.ELBV2.DescribeLoadBalancers(t.Context(), &elbv2.DescribeLoadBalancersInput{Names: []string{name}})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d groups", len(out.LoadBalancers[0].SecurityGroups))
}
