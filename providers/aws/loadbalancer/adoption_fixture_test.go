package loadbalancer

import (
	"context"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// These are the objects that cloud-provider-aws leaves behind for the Service default/web of
// Package test (TCP 80 → 30080, TCP 443 → 30443), in a cluster with the ID sim and the --cluster-name
// kubernetes. Every name is written out: what the code computes must be the same.
const (
	oldClassicGroup = "k8s-elb-a0123abcd456789ef0123456789abcde"
	oldManagedGroup = "k8s-default-web-53cbc2b2ce"
	oldClientRule   = "kubernetes.io/rule/nlb/client=a0123abcd456789ef0123456789abcde"
	oldHealthRule   = "kubernetes.io/rule/nlb/health=a0123abcd456789ef0123456789abcde"
	oldMTURule      = "kubernetes.io/rule/nlb/mtu"
)

// Descriptions of security groups that cloud-provider-aws creates. The second is a variable for a test.
const oldClassicDescription = "Security group for Kubernetes ELB a0123abcd456789ef0123456789abcde (default/web)"

var oldManagedDescription = "[k8s] Managed SecurityGroup for LoadBalancer"

// oldPort is a port with the name of its target group, by how it is probed.
type oldPort struct {
	port, nodePort              int32
	plain, localProbe, localUDP string
}

var oldPorts = []oldPort{
	{80, 30080, "k8s-default-web-0c0c21ccc4", "k8s-default-web-253aec8c49", "k8s-default-web-f2d3d0caab"},
	{443, 30443, "k8s-default-web-34dd572b18", "k8s-default-web-1981d1a945", "k8s-default-web-dd71e97f52"},
}

// oldManager writes what the earlier manager wrote.
type oldManager struct {
	*rig
	ctx context.Context
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (m oldManager) instanceIDs() []string {
	var ids []string
	for _, n := range m.nodes {
		ids = append(ids, m.sim.Instance(n.Name))
	}
	return ids
}

// publicSubnets are the public subnets by ID, with their networks.
func (m oldManager) publicSubnets() (ids, networks []string) {
	m.t.Helper()
	out := must(m.ec2.DescribeSubnets(m.ctx, &ec2.DescribeSubnetsInput{Filters: []ec2types.Filter{{Name: awssdk.String("tag-key"), Values: []string{"kubernetes.io/role/elb"}}}}))(m.t)
	for _, s := range out.Subnets {
		ids, networks = append(ids, *s.SubnetId), append(networks, *s.CidrBlock)
	}
	return ids, networks
}

func (m oldManager) nodeGroup() string {
	m.t.Helper()
	out := must(m.ec2.DescribeSecurityGroups(m.ctx, &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{{Name: awssdk.String("group-name"), Values: []string{"nodes.sim"}}}}))(m.t)
	return *out.SecurityGroups[0].GroupId
}

func (m oldManager) authorize(group string, permissions ...ec2types.IpPermission) {
	m.t.Helper()
	must(m.ec2.AuthorizeSecurityGroupIngress(m.ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &group, IpPermissions: permissions}))(m.t)
}

// cidr is a permission for networks; without a description where that is empty.
func cidr(protocol string, from, to int32, description string, networks ...string) ec2types.IpPermission {
	p := ec2types.IpPermission{IpProtocol: &protocol, FromPort: &from, ToPort: &to}
	for _, n := range networks {
		r := ec2types.IpRange{CidrIp: awssdk.String(n)}
		if description != "" {
			r.Description = &description
		}
		p.IpRanges = append(p.IpRanges, r)
	}
	return p
}

// group makes a managed security group, which has the cluster's tag alone.
func (m oldManager) group(name, description string) string {
	m.t.Helper()
	id := *must(m.ec2.CreateSecurityGroup(m.ctx, &ec2.CreateSecurityGroupInput{
		GroupName: &name, Description: &description, VpcId: &m.vpc,
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup,
			Tags: []ec2types.Tag{{Key: awssdk.String("kubernetes.io/cluster/sim"), Value: awssdk.String("owned")}}}},
	}))(m.t).GroupId
	m.authorize(id, cidr("tcp", 80, 80, "", "0.0.0.0/0"), cidr("tcp", 443, 443, "", "0.0.0.0/0"), cidr("icmp", 3, 4, "", "0.0.0.0/0"))
	return id
}

// classicShape says which options of a classic load balancer are in use.
type classicShape struct {
	proxy, local bool
	tls          string // the policy
	// group is the security group that its owner has made, in place of a managed one.
	group string
}

// classic leaves a classic load balancer behind.
func (m oldManager) classic(shape classicShape) {
	t := m.t
	t.Helper()
	name := awssdk.String(webName)
	subnets, _ := m.publicSubnets()
	group := m.named.Expand(shape.group)
	if group == "" {
		group = m.group(oldClassicGroup, oldClassicDescription)
	}
	listeners := []elbtypes.Listener{
		{Protocol: awssdk.String("TCP"), InstanceProtocol: awssdk.String("TCP"), LoadBalancerPort: 80, InstancePort: awssdk.Int32(30080)},
		{Protocol: awssdk.String("TCP"), InstanceProtocol: awssdk.String("TCP"), LoadBalancerPort: 443, InstancePort: awssdk.Int32(30443)},
	}
	if shape.tls != "" {
		listeners[1].Protocol, listeners[1].SSLCertificateId = awssdk.String("SSL"), awssdk.String(certificateA)
	}
	must(m.elb.CreateLoadBalancer(m.ctx, &elb.CreateLoadBalancerInput{
		LoadBalancerName: name, Subnets: subnets, SecurityGroups: []string{group}, Listeners: listeners,
		Tags: []elbtypes.Tag{{Key: awssdk.String("kubernetes.io/service-name"), Value: awssdk.String("default/web")}, {Key: awssdk.String("kubernetes.io/cluster/sim"), Value: awssdk.String("owned")}},
	}))(t)
	policy := func(name, kind, attribute, value string) {
		must(m.elb.CreateLoadBalancerPolicy(m.ctx, &elb.CreateLoadBalancerPolicyInput{LoadBalancerName: awssdk.String(webName), PolicyName: &name, PolicyTypeName: &kind,
			PolicyAttributes: []elbtypes.PolicyAttribute{{AttributeName: &attribute, AttributeValue: &value}}}))(t)
	}
	if shape.proxy {
		policy("k8s-proxyprotocol-enabled", "ProxyProtocolPolicyType", "ProxyProtocol", "true")
		for _, p := range oldPorts {
			must(m.elb.SetLoadBalancerPoliciesForBackendServer(m.ctx, &elb.SetLoadBalancerPoliciesForBackendServerInput{LoadBalancerName: name,
				InstancePort: awssdk.Int32(p.nodePort), PolicyNames: []string{"k8s-proxyprotocol-enabled"}}))(t)
		}
	}
	if shape.tls != "" {
		policy("k8s-SSLNegotiationPolicy-"+shape.tls, "SSLNegotiationPolicyType", "Reference-Security-Policy", shape.tls)
		must(m.elb.SetLoadBalancerPoliciesOfListener(m.ctx, &elb.SetLoadBalancerPoliciesOfListenerInput{LoadBalancerName: name, LoadBalancerPort: 443,
			PolicyNames: []string{"k8s-SSLNegotiationPolicy-" + shape.tls}}))(t)
	}
	must(m.elb.ModifyLoadBalancerAttributes(m.ctx, &elb.ModifyLoadBalancerAttributesInput{LoadBalancerName: name, LoadBalancerAttributes: &elbtypes.LoadBalancerAttributes{
		AccessLog: &elbtypes.AccessLog{}, ConnectionDraining: &elbtypes.ConnectionDraining{}, CrossZoneLoadBalancing: &elbtypes.CrossZoneLoadBalancing{},
		ConnectionSettings: &elbtypes.ConnectionSettings{IdleTimeout: awssdk.Int32(60)},
	}}))(t)
	target := "TCP:30080"
	if shape.local {
		target = "HTTP:31000/healthz"
	}
	must(m.elb.ConfigureHealthCheck(m.ctx, &elb.ConfigureHealthCheckInput{LoadBalancerName: name, HealthCheck: &elbtypes.HealthCheck{
		Target: &target, Interval: awssdk.Int32(10), Timeout: awssdk.Int32(5), HealthyThreshold: awssdk.Int32(2), UnhealthyThreshold: awssdk.Int32(6)}}))(t)
	m.authorize(m.nodeGroup(), ec2types.IpPermission{IpProtocol: awssdk.String("-1"), UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: &group}}})
	var instances []elbtypes.Instance
	for _, id := range m.instanceIDs() {
		instances = append(instances, elbtypes.Instance{InstanceId: awssdk.String(id)})
	}
	must(m.elb.RegisterInstancesWithLoadBalancer(m.ctx, &elb.RegisterInstancesWithLoadBalancerInput{LoadBalancerName: name, Instances: instances}))(t)
}

// networkShape says which options of a network load balancer are in use.
type networkShape struct {
	managed, local, udp bool
	sources             []string
	// tls is the policy of port 443.
	tls string
	// addresses are the Elastic IPs of the subnets, which are those of {public-2} and {public-0} then.
	addresses []string
	// group is the security group that its owner has made, in place of a managed one.
	group string
	// attributes of the target groups that are not AWS' default.
	attributes map[string]string
}

var oldTags = []elbv2types.Tag{
	{Key: awssdk.String("kubernetes.io/service-name"), Value: awssdk.String("default/web")},
	{Key: awssdk.String("kubernetes.io/cluster/sim"), Value: awssdk.String("owned")},
}

// network leaves a network load balancer behind.
func (m oldManager) network(shape networkShape) {
	t := m.t
	t.Helper()
	subnets, networks := m.publicSubnets()
	in := &elbv2.CreateLoadBalancerInput{Name: awssdk.String(webName), Type: elbv2types.LoadBalancerTypeEnumNetwork, Scheme: elbv2types.LoadBalancerSchemeEnumInternetFacing, Tags: oldTags}
	if len(shape.addresses) > 0 {
		subnets = []string{m.named.Expand("{public-2}"), m.named.Expand("{public-0}")}
	}
	for i, id := range subnets {
		if len(shape.addresses) > 0 {
			in.SubnetMappings = append(in.SubnetMappings, elbv2types.SubnetMapping{SubnetId: awssdk.String(id), AllocationId: awssdk.String(m.named.Expand(shape.addresses[i]))})
			continue
		}
		in.SubnetMappings = append(in.SubnetMappings, elbv2types.SubnetMapping{SubnetId: awssdk.String(id)})
	}
	switch {
	case shape.managed:
		in.SecurityGroups = []string{m.group(oldManagedGroup, oldManagedDescription)}
	case shape.group != "":
		in.SecurityGroups = []string{m.named.Expand(shape.group)}
	}
	b := must(m.elbv2.CreateLoadBalancer(m.ctx, in))(t).LoadBalancers[0]
	for _, p := range oldPorts {
		m.port(*b.LoadBalancerArn, p, shape)
	}
	m.nodeRules(shape, networks)
}

// port makes one port's target group and listener.
func (m oldManager) port(balancer string, p oldPort, shape networkShape) {
	t := m.t
	t.Helper()
	in := &elbv2.CreateTargetGroupInput{
		Name: awssdk.String(p.plain), Port: awssdk.Int32(p.nodePort), Protocol: elbv2types.ProtocolEnumTcp, VpcId: &m.vpc, TargetType: elbv2types.TargetTypeEnumInstance, Tags: oldTags,
		HealthCheckPort: awssdk.String("traffic-port"), HealthCheckProtocol: elbv2types.ProtocolEnumTcp, HealthCheckIntervalSeconds: awssdk.Int32(30),
		HealthyThresholdCount: awssdk.Int32(3), UnhealthyThresholdCount: awssdk.Int32(3),
	}
	if shape.local {
		in.Name, in.HealthCheckPort, in.HealthCheckPath = awssdk.String(p.localProbe), awssdk.String("31000"), awssdk.String("/healthz")
		in.HealthCheckProtocol, in.HealthCheckIntervalSeconds = elbv2types.ProtocolEnumHttp, awssdk.Int32(10)
		in.HealthyThresholdCount, in.UnhealthyThresholdCount = awssdk.Int32(2), awssdk.Int32(2)
	}
	protocol := elbv2types.ProtocolEnumTcp
	if shape.udp {
		protocol, in.Protocol, in.Name = elbv2types.ProtocolEnumUdp, elbv2types.ProtocolEnumUdp, awssdk.String(p.localUDP)
	}
	group := must(m.elbv2.CreateTargetGroup(m.ctx, in))(t).TargetGroups[0].TargetGroupArn
	for key, value := range shape.attributes {
		must(m.elbv2.ModifyTargetGroupAttributes(m.ctx, &elbv2.ModifyTargetGroupAttributesInput{TargetGroupArn: group,
			Attributes: []elbv2types.TargetGroupAttribute{{Key: awssdk.String(key), Value: awssdk.String(value)}}}))(t)
	}
	var targets []elbv2types.TargetDescription
	for _, id := range m.instanceIDs() {
		targets = append(targets, elbv2types.TargetDescription{Id: awssdk.String(id), Port: awssdk.Int32(p.nodePort)})
	}
	must(m.elbv2.RegisterTargets(m.ctx, &elbv2.RegisterTargetsInput{TargetGroupArn: group, Targets: targets}))(t)
	listener := &elbv2.CreateListenerInput{
		LoadBalancerArn: &balancer, Port: awssdk.Int32(p.port), Protocol: protocol, Tags: oldTags,
		DefaultActions: []elbv2types.Action{{Type: elbv2types.ActionTypeEnumForward, TargetGroupArn: group}},
	}
	if shape.tls != "" && p.port == 443 {
		listener.Protocol, listener.SslPolicy = elbv2types.ProtocolEnumTls, awssdk.String(shape.tls)
		listener.Certificates = []elbv2types.Certificate{{CertificateArn: awssdk.String(certificateA)}}
	}
	must(m.elbv2.CreateListener(m.ctx, listener))(t)
}

// nodeRules opens the nodes, by address in every mode.
func (m oldManager) nodeRules(shape networkShape, networks []string) {
	m.t.Helper()
	sources := shape.sources
	if len(sources) == 0 {
		sources = []string{"0.0.0.0/0"}
	}
	if len(shape.addresses) > 0 {
		networks = []string{networks[2], networks[0]}
	}
	rules := []ec2types.IpPermission{cidr("icmp", 3, 4, oldMTURule, sources...)}
	protocol := "tcp"
	if shape.udp {
		protocol = "udp"
	}
	for _, p := range oldPorts {
		rules = append(rules, cidr(protocol, p.nodePort, p.nodePort, oldClientRule, sources...))
		if len(shape.sources) > 0 && !shape.local {
			rules = append(rules, cidr("tcp", p.nodePort, p.nodePort, oldHealthRule, networks...))
		}
	}
	if shape.local {
		rules = append(rules, cidr("tcp", 31000, 31000, oldHealthRule, networks...))
	}
	m.authorize(m.nodeGroup(), rules...)
}
