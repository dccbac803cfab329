package aws_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// takeOver prepares a simulated cloud for the take-over from cloud-provider-aws.
func takeOver(generation string) *conformance.TakeOver {
	reads := 0
	if generation == "nlb" {
		reads = 4 // listeners, attributes, and the targets of two ports: AWS lists them for one load balancer at a time
	}
	return &conformance.TakeOver{
		ReadsPerLoadBalancer: reads,
		Create: func(ctx context.Context, w conformance.World, svc *v1.Service,
			nodes []*v1.Node) (conformance.ServiceUpdate, error) {
			o, err := newOtherManager(ctx, w.(*sim.Cloud), svc, nodes)
			if err != nil {
				return conformance.ServiceUpdate{}, err
			}
			create := o.classic
			if svc.Annotations[annotation.KeyType] == "nlb" {
				create = o.network
			}
			host, err := create(ctx)
			return conformance.ServiceUpdate{
				Status: v1.LoadBalancerStatus{Ingress: []v1.LoadBalancerIngress{{Hostname: host}}},
			}, err
		},
		Discover: addSubnets,
	}
}

// addSubnets adds subnets to the zones in use. IDs are random, so it takes several for one that discovery prefers.
func addSubnets(w conformance.World) error {
	world := w.(*sim.Cloud)
	for i := range 8 {
		tags := map[string]string{"kubernetes.io/role/elb": "1", "kubernetes.io/cluster/" + world.ClusterID(): "owned"}
		network := netip.MustParsePrefix(fmt.Sprintf("10.0.%d.0/24", 48+i))
		if _, err := world.AddSubnet(world.Region()+"a", network, true, tags); err != nil {
			return err
		}
	}
	return nil
}

const everywhere = "0.0.0.0/0"

// otherManager creates what cloud-provider-aws creates for a Service, with the same names, tags and descriptions. It
// tags a security group with its cluster alone, and everything else with the Service too.
type otherManager struct {
	ec2     *ec2.Client
	elb     *elb.Client
	elbv2   *elbv2.Client
	svc     *v1.Service
	service types.NamespacedName
	name    string
	tags    map[string]string
	// cluster is the cluster's ID in tags.
	cluster, vpc string
	subnets      []string
	instances    []string
	// nodeGroup is the security group of the nodes.
	nodeGroup string
}

func newOtherManager(ctx context.Context, world *sim.Cloud, svc *v1.Service, nodes []*v1.Node) (*otherManager, error) {
	config := awssdk.Config{
		Region: world.Region(), HTTPClient: &http.Client{Transport: world.Front().Direct()},
		Credentials: credentials.NewStaticCredentialsProvider(sim.AdministratorKey, "simulated", ""),
	}
	o := &otherManager{
		ec2: ec2.NewFromConfig(config), elb: elb.NewFromConfig(config), elbv2: elbv2.NewFromConfig(config),
		svc: svc, service: types.NamespacedName{Namespace: svc.Namespace, Name: svc.Name},
		name: names.LoadBalancerName(svc.UID), cluster: world.ClusterID(), vpc: world.VPC(), subnets: world.Subnets(false),
	}
	o.tags = map[string]string{
		"kubernetes.io/service-name": o.service.String(), "kubernetes.io/cluster/" + o.cluster: "owned",
	}
	for _, n := range nodes {
		o.instances = append(o.instances, world.Instance(n.Name))
	}
	found, err := o.ec2.DescribeSecurityGroups(ctx, &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("group-name"), Values: []string{"nodes." + o.cluster}}}})
	if err == nil && len(found.SecurityGroups) != 1 {
		err = fmt.Errorf("%d security groups of nodes, want 1", len(found.SecurityGroups))
	}
	if err != nil {
		return nil, err
	}
	o.nodeGroup = *found.SecurityGroups[0].GroupId
	return o, nil
}

// classic creates a classic load balancer and returns its host name.
func (o *otherManager) classic(ctx context.Context) (string, error) {
	group, err := o.createGroup(ctx)
	if err != nil {
		return "", err
	}
	in := &elb.CreateLoadBalancerInput{LoadBalancerName: &o.name, Subnets: o.subnets, SecurityGroups: []string{group}}
	for key, value := range o.tags {
		in.Tags = append(in.Tags, elbtypes.Tag{Key: awssdk.String(key), Value: awssdk.String(value)})
	}
	tcp := awssdk.String("TCP")
	for _, p := range o.svc.Spec.Ports {
		in.Listeners = append(in.Listeners, elbtypes.Listener{Protocol: tcp, InstanceProtocol: tcp, LoadBalancerPort: p.Port,
			InstancePort: &p.NodePort})
	}
	lb, err := o.elb.CreateLoadBalancer(ctx, in)
	if err != nil {
		return "", err
	}
	_, err = o.elb.ModifyLoadBalancerAttributes(ctx, &elb.ModifyLoadBalancerAttributesInput{LoadBalancerName: &o.name,
		LoadBalancerAttributes: &elbtypes.LoadBalancerAttributes{
			AccessLog: &elbtypes.AccessLog{}, ConnectionDraining: &elbtypes.ConnectionDraining{},
			CrossZoneLoadBalancing: &elbtypes.CrossZoneLoadBalancing{},
			ConnectionSettings:     &elbtypes.ConnectionSettings{IdleTimeout: awssdk.Int32(60)},
		}})
	if err != nil {
		return "", err
	}
	_, err = o.elb.ConfigureHealthCheck(ctx, &elb.ConfigureHealthCheckInput{LoadBalancerName: &o.name,
		HealthCheck: &elbtypes.HealthCheck{Target: awssdk.String(fmt.Sprintf("TCP:%d", o.svc.Spec.Ports[0].NodePort)),
			Interval: awssdk.Int32(10), Timeout: awssdk.Int32(5), HealthyThreshold: awssdk.Int32(2),
			UnhealthyThreshold: awssdk.Int32(6)}})
	if err != nil {
		return "", err
	}
	var instances []elbtypes.Instance
	for _, id := range o.instances {
		instances = append(instances, elbtypes.Instance{InstanceId: &id})
	}
	_, err = o.elb.RegisterInstancesWithLoadBalancer(ctx, &elb.RegisterInstancesWithLoadBalancerInput{
		LoadBalancerName: &o.name, Instances: instances})
	if err != nil {
		return "", err
	}
	return *lb.DNSName, o.authorize(ctx, o.nodeGroup, ec2types.IpPermission{IpProtocol: awssdk.String("-1"),
		UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: &group}}})
}

// createGroup creates the security group of a classic load balancer.
func (o *otherManager) createGroup(ctx context.Context) (string, error) {
	tag := ec2types.Tag{Key: awssdk.String("kubernetes.io/cluster/" + o.cluster), Value: awssdk.String("owned")}
	group, err := o.ec2.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		GroupName:   awssdk.String(names.ClassicGroupName(o.name)),
		Description: awssdk.String(names.ClassicGroupDescription(o.name, o.service)), VpcId: &o.vpc,
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup,
			Tags: []ec2types.Tag{tag}}},
	})
	if err != nil {
		return "", err
	}
	open := []ec2types.IpPermission{permission("icmp", 3, 4, "")}
	for _, p := range o.svc.Spec.Ports {
		open = append(open, permission("tcp", p.Port, p.Port, ""))
	}
	return *group.GroupId, o.authorize(ctx, *group.GroupId, open...)
}

// network creates a network load balancer and returns its host name.
func (o *otherManager) network(ctx context.Context) (string, error) {
	var tags []elbv2types.Tag
	for key, value := range o.tags {
		tags = append(tags, elbv2types.Tag{Key: awssdk.String(key), Value: awssdk.String(value)})
	}
	in := &elbv2.CreateLoadBalancerInput{Name: &o.name, Type: elbv2types.LoadBalancerTypeEnumNetwork,
		Scheme: elbv2types.LoadBalancerSchemeEnumInternetFacing, Tags: tags}
	for _, id := range o.subnets {
		in.SubnetMappings = append(in.SubnetMappings, elbv2types.SubnetMapping{SubnetId: &id})
	}
	made, err := o.elbv2.CreateLoadBalancer(ctx, in)
	if err != nil {
		return "", err
	}
	lb := made.LoadBalancers[0]
	open := []ec2types.IpPermission{permission("icmp", 3, 4, names.MTURule)}
	for _, p := range o.svc.Spec.Ports {
		if err := o.createListener(ctx, *lb.LoadBalancerArn, p, tags); err != nil {
			return "", err
		}
		open = append(open, permission("tcp", p.NodePort, p.NodePort, names.ClientRule(o.name)))
	}
	for _, rule := range open {
		// All network load balancers of a cluster share the rule for path MTU discovery.
		if err := o.authorize(ctx, o.nodeGroup, rule); err != nil && *rule.IpProtocol != "icmp" {
			return "", err
		}
	}
	return *lb.DNSName, nil
}

// createListener creates the target group and the listener of a port.
func (o *otherManager) createListener(ctx context.Context, lb string, p v1.ServicePort, tags []elbv2types.Tag) error {
	made, err := o.elbv2.CreateTargetGroup(ctx, &elbv2.CreateTargetGroupInput{
		Name: awssdk.String(names.TargetGroupName(names.TargetGroup{ClusterID: o.cluster, Service: o.service, Port: p.Port,
			NodePort: p.NodePort, Protocol: "TCP", TargetType: "instance", HealthProtocol: "TCP", HealthInterval: 30})),
		Port: &p.NodePort, Protocol: elbv2types.ProtocolEnumTcp, VpcId: &o.vpc,
		TargetType: elbv2types.TargetTypeEnumInstance, Tags: tags,
		HealthCheckPort: awssdk.String("traffic-port"), HealthCheckProtocol: elbv2types.ProtocolEnumTcp,
		HealthCheckIntervalSeconds: awssdk.Int32(30), HealthyThresholdCount: awssdk.Int32(3),
		UnhealthyThresholdCount: awssdk.Int32(3),
	})
	if err != nil {
		return err
	}
	group := made.TargetGroups[0].TargetGroupArn
	var targets []elbv2types.TargetDescription
	for _, id := range o.instances {
		targets = append(targets, elbv2types.TargetDescription{Id: &id, Port: &p.NodePort})
	}
	_, err = o.elbv2.RegisterTargets(ctx, &elbv2.RegisterTargetsInput{TargetGroupArn: group, Targets: targets})
	if err != nil {
		return err
	}
	_, err = o.elbv2.CreateListener(ctx, &elbv2.CreateListenerInput{
		LoadBalancerArn: &lb, Port: &p.Port, Protocol: elbv2types.ProtocolEnumTcp, Tags: tags,
		DefaultActions: []elbv2types.Action{{Type: elbv2types.ActionTypeEnumForward, TargetGroupArn: group}},
	})
	return err
}

func (o *otherManager) authorize(ctx context.Context, group string, permissions ...ec2types.IpPermission) error {
	_, err := o.ec2.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group,
		IpPermissions: permissions})
	return err
}

// permission allows a range of ports to all clients; an empty description is none.
func permission(protocol string, from, to int32, description string) ec2types.IpPermission {
	r := ec2types.IpRange{CidrIp: awssdk.String(everywhere)}
	if description != "" {
		r.Description = &description
	}
	return ec2types.IpPermission{IpProtocol: &protocol, FromPort: &from, ToPort: &to, IpRanges: []ec2types.IpRange{r}}
}
