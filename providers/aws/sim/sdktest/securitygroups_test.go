package sdktest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

func (c *clients) group(t *testing.T, name string) string {
	t.Helper()
	vpc := must(c.ec2.DescribeVpcs(t.Context(), nil))(t).Vpcs[0].VpcId
	return *must(c.ec2.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{
		GroupName: &name, Description: ptr("for a test"), VpcId: vpc,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroup,
			Tags: []types.Tag{{Key: ptr("k"), Value: ptr("v")}}}},
	}))(t).GroupId
}

// nodes returns the security group of the nodes.
func (c *clients) nodes(t *testing.T) *string {
	t.Helper()
	in := &ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{filter("group-name", "nodes.sim")}}
	return must(c.ec2.DescribeSecurityGroups(t.Context(), in))(t).SecurityGroups[0].GroupId
}

// open admits every client to a port of a load balancer's group, and that group to ports of the nodes.
func (c *clients) open(t *testing.T, group string, port int32, nodePorts ...int32) {
	t.Helper()
	must(c.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: &group, IpPermissions: []types.IpPermission{tcp(port, "0.0.0.0/0")}}))(t)
	for _, p := range nodePorts {
		must(c.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
			GroupId: c.nodes(t), IpPermissions: []types.IpPermission{from(group, p)}}))(t)
	}
}

// shut revokes the rules of open on the nodes.
func (c *clients) shut(t *testing.T, group string, nodePort int32) {
	t.Helper()
	must(c.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{
		GroupId: c.nodes(t), IpPermissions: []types.IpPermission{from(group, nodePort)}}))(t)
}

func from(group string, port int32) types.IpPermission {
	p := tcp(port)
	p.UserIdGroupPairs = []types.UserIdGroupPair{{GroupId: &group}}
	return p
}

func tcp(port int32, cidrs ...string) types.IpPermission {
	p := types.IpPermission{IpProtocol: ptr("tcp"), FromPort: &port, ToPort: &port}
	for _, c := range cidrs {
		p.IpRanges = append(p.IpRanges, types.IpRange{CidrIp: &c, Description: ptr("why")})
	}
	return p
}

func TestSecurityGroupRules(t *testing.T) {
	c := newClients(t, sim.Options{Quotas: map[string]int{sim.QuotaRulesPerGroup: 4}})
	id, other := c.group(t, "a"), c.group(t, "b")
	authorize := func(permissions ...types.IpPermission) error {
		_, err := c.ec2.AuthorizeSecurityGroupIngress(t.Context(),
			&ec2.AuthorizeSecurityGroupIngressInput{GroupId: &id, IpPermissions: permissions})
		return err
	}
	revoke := func(permissions ...types.IpPermission) error {
		_, err := c.ec2.RevokeSecurityGroupIngress(t.Context(),
			&ec2.RevokeSecurityGroupIngressInput{GroupId: &id, IpPermissions: permissions})
		return err
	}
	if err := authorize(tcp(80, "10.1.0.0/16", "10.2.3.4/16")); err != nil {
		t.Fatal(err)
	}
	wantCode(t, authorize(tcp(80, "10.1.0.0/16")), "InvalidPermission.Duplicate", 400)
	wantCode(t, authorize(tcp(80, "10.1.0.0")), "InvalidParameterValue", 400)
	wantCode(t, authorize(tcp(1, "10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16")), "RulesPerSecurityGroupLimitExceeded", 400)
	pair := types.IpPermission{IpProtocol: ptr("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &other}}}
	if err := authorize(pair, types.IpPermission{IpProtocol: ptr("icmp"), FromPort: ptr(int32(3)), ToPort: ptr(int32(4)),
		Ipv6Ranges: []types.Ipv6Range{{CidrIpv6: ptr("2001:db8::/32")}}}); err != nil {
		t.Fatal(err)
	}
	g := must(c.ec2.DescribeSecurityGroups(t.Context(),
		&ec2.DescribeSecurityGroupsInput{GroupIds: []string{id}}))(t).SecurityGroups[0]
	if len(g.IpPermissions) != 3 || len(g.IpPermissions[0].IpRanges) != 2 ||
		*g.IpPermissions[0].IpRanges[1].CidrIp != "10.2.0.0/16" ||
		*g.IpPermissions[0].IpRanges[0].Description != "why" || g.IpPermissions[1].FromPort != nil ||
		*g.IpPermissions[1].UserIdGroupPairs[0].GroupId != other || len(g.Tags) != 1 || len(g.IpPermissionsEgress) != 1 {
		t.Errorf("group %+v", g)
	}
	_, err := c.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &other})
	wantCode(t, err, "DependencyViolation", 400)
	if err := revoke(pair, tcp(80, "10.1.0.0/16")); err != nil {
		t.Fatal(err)
	}
	wantCode(t, revoke(pair), "InvalidPermission.NotFound", 400)
	must(c.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &other}))(t)
	_, err = c.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &other})
	wantCode(t, err, "InvalidGroup.NotFound", 400)
	_, err = c.ec2.CreateSecurityGroup(t.Context(),
		&ec2.CreateSecurityGroupInput{GroupName: ptr("a"), Description: ptr("x"), VpcId: g.VpcId})
	wantCode(t, err, "InvalidGroup.Duplicate", 400)
	rules := must(c.ec2.DescribeSecurityGroupRules(t.Context(), &ec2.DescribeSecurityGroupRulesInput{
		Filters: []types.Filter{filter("group-id", id)}}))(t).SecurityGroupRules
	if len(rules) != 3 {
		t.Errorf("%d rules", len(rules))
	}
}

func TestTags(t *testing.T) {
	c := newClients(t, sim.Options{})
	id := c.group(t, "a")
	must(c.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{id},
		Tags: []types.Tag{{Key: ptr("a"), Value: ptr("1")}, {Key: ptr("b"), Value: ptr("")}}}))(t)
	must(c.ec2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{id},
		Tags: []types.Tag{{Key: ptr("a"), Value: ptr("2")}, {Key: ptr("k")}}}))(t)
	tags := must(c.ec2.DescribeTags(t.Context(),
		&ec2.DescribeTagsInput{Filters: []types.Filter{filter("resource-id", id)}}))(t).Tags
	if len(tags) != 2 || *tags[0].Key != "a" || *tags[1].Key != "b" ||
		tags[0].ResourceType != types.ResourceTypeSecurityGroup {
		t.Errorf("tags %+v", tags)
	}
	_, err := c.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{"i-00000000000000001"},
		Tags: []types.Tag{{Key: ptr("a")}}})
	wantCode(t, err, "InvalidInstanceID.NotFound", 400)
	_, err = c.ec2.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{"x"},
		Tags: []types.Tag{{Key: ptr("a")}}})
	wantCode(t, err, "InvalidID", 400)
}
