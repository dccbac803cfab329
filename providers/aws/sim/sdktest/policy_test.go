package sdktest

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

const clusterPolicy = `{"Version": "2012-10-17", "Statement": [
  {"Effect": "Allow", "Action": ["ec2:Describe*", "elasticloadbalancing:Describe*"], "Resource": "*"},
  {"Effect": "Allow", "Action": "ec2:CreateSecurityGroup", "Resource": "arn:*:ec2:*:*:vpc/*"},
  {"Effect": "Allow", "Action": "ec2:CreateSecurityGroup", "Resource": "arn:*:ec2:*:*:security-group/*",
   "Condition": {"Null": {"aws:RequestTag/k": "false"}}},
  {"Effect": "Allow", "Action": "ec2:CreateTags", "Resource": "arn:*:ec2:*:*:security-group/*",
   "Condition": {"StringEquals": {"ec2:CreateAction": "CreateSecurityGroup"}}},
  {"Effect": "Allow", "Action": "ec2:DeleteSecurityGroup", "Resource": "*", "Condition": {"Null": {"aws:ResourceTag/k": "false"}}},
  {"Effect": "Allow", "Action": ["elasticloadbalancing:CreateTargetGroup", "elasticloadbalancing:AddTags"],
   "Resource": "arn:*:elasticloadbalancing:*:*:targetgroup/*", "Condition": {"StringEquals": {"aws:RequestTag/k": "v"}}},
  {"Effect": "Allow", "Action": "iam:CreateServiceLinkedRole", "Resource": "*"},
  {"Effect": "Allow", "Action": "elasticloadbalancing:DeleteTargetGroup", "Resource": "*", "Condition": {"StringEquals": {"elasticloadbalancing:ResourceTag/k": "v"}}}
]}`

func TestPolicyIsEnforced(t *testing.T) {
	c := newClients(t, sim.Options{Policy: []byte(clusterPolicy)})
	ctx := t.Context()
	vpc := must(c.ec2.DescribeVpcs(ctx, nil))(t).Vpcs[0].VpcId
	group := c.group(t, "tagged")
	_, err := c.ec2.CreateSecurityGroup(ctx,
		&ec2.CreateSecurityGroupInput{GroupName: ptr("x"), Description: ptr("x"), VpcId: vpc})
	wantCode(t, err, "UnauthorizedOperation", 403)
	_, err = c.ec2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{group},
		Tags: []ec2types.Tag{{Key: ptr("a"), Value: ptr("b")}}})
	wantCode(t, err, "UnauthorizedOperation", 403)
	_, err = c.ec2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: c.nodes(t)})
	wantCode(t, err, "UnauthorizedOperation", 403)
	must(c.ec2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &group}))(t)

	create := &elbv2.CreateTargetGroupInput{Name: ptr("g"), Protocol: types.ProtocolEnumTcp, Port: ptr(int32(80)),
		VpcId: vpc}
	_, err = c.elbv2.CreateTargetGroup(ctx, create)
	wantCode(t, err, "AccessDenied", 403)
	create.Tags = []types.Tag{{Key: ptr("k"), Value: ptr("v")}}
	made := must(c.elbv2.CreateTargetGroup(ctx, create))(t).TargetGroups[0].TargetGroupArn
	_, err = c.elbv2.ModifyTargetGroup(ctx, &elbv2.ModifyTargetGroupInput{TargetGroupArn: made})
	wantCode(t, err, "AccessDenied", 403)
	must(c.elbv2.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: made}))(t)
	want := []string{"ec2:CreateSecurityGroup", "ec2:CreateTags", "ec2:DeleteSecurityGroup",
		"ec2:DescribeInternetGateways", "ec2:DescribeSecurityGroups", "ec2:DescribeVpcs",
		"elasticloadbalancing:AddTags", "elasticloadbalancing:CreateTargetGroup", "elasticloadbalancing:DeleteTargetGroup",
		"iam:CreateServiceLinkedRole"}
	if used := c.cloud.UsedActions(); !slices.Equal(used, want) {
		t.Errorf("used %v, want %v", used, want)
	}
}

func TestFirstLoadBalancerCreatesServiceLinkedRole(t *testing.T) {
	const document = `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["ec2:*", "elasticloadbalancing:*"], "Resource": "*"}]}`
	c := newClients(t, sim.Options{Policy: []byte(document)})
	in := &elbv2.CreateLoadBalancerInput{Name: ptr("web"), Type: types.LoadBalancerTypeEnumNetwork,
		Subnets: subnetIDs(c.subnets(t, "elb"))}
	_, err := c.elbv2.CreateLoadBalancer(t.Context(), in)
	wantCode(t, err, "AccessDenied", 403)
}

// The page "Elastic Load Balancing API permissions" of the user guide lists the actions of EC2 and IAM that an action
// requires besides its own. The page "Elastic Load Balancing service-linked role" has the target group as well.
func TestActionsRequirePermissionsOfOtherServices(t *testing.T) {
	const role = "iam:CreateServiceLinkedRole"
	var denied string
	c := newClients(t, sim.Options{Allow: func(action string) bool { return action != denied }})
	subnets := c.subnets(t, "elb")
	group := &elbv2.CreateTargetGroupInput{Name: ptr("web"), Protocol: types.ProtocolEnumTcp, Port: ptr(int32(30080)),
		VpcId: subnets[0].VpcId}
	balancer := &elbv2.CreateLoadBalancerInput{Name: ptr("web"), Type: types.LoadBalancerTypeEnumNetwork,
		Subnets: subnetIDs(subnets)}
	classic := &elasticloadbalancing.CreateLoadBalancerInput{LoadBalancerName: ptr("web"), Subnets: subnetIDs(subnets),
		Listeners: []elbtypes.Listener{{Protocol: ptr("TCP"), LoadBalancerPort: 80, InstancePort: ptr(int32(30080))}}}
	for _, tc := range []struct {
		name    string
		call    func() error
		require []string
	}{
		{"CreateTargetGroup", func() error { _, err := c.elbv2.CreateTargetGroup(t.Context(), group); return err },
			[]string{role, "ec2:DescribeInternetGateways", "ec2:DescribeVpcs"}},
		{"CreateLoadBalancer", func() error { _, err := c.elbv2.CreateLoadBalancer(t.Context(), balancer); return err },
			[]string{role, "ec2:DescribeAccountAttributes", "ec2:DescribeAddresses", "ec2:DescribeInternetGateways",
				"ec2:DescribeSecurityGroups", "ec2:DescribeSubnets", "ec2:DescribeVpcs"}},
		{"CreateLoadBalancer of 2012-06-01",
			func() error { _, err := c.elb.CreateLoadBalancer(t.Context(), classic); return err },
			[]string{role, "ec2:DescribeAccountAttributes", "ec2:DescribeInternetGateways", "ec2:DescribeSecurityGroups",
				"ec2:DescribeSubnets", "ec2:DescribeVpcs"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, denied = range tc.require {
				wantCode(t, tc.call(), "AccessDenied", 403)
			}
		})
	}
	denied = role
	if _, err := c.elbv2.CreateTargetGroup(t.Context(), group); err == nil {
		t.Error("the first target group was created without the service-linked role")
	}
	denied = ""
	must(c.elbv2.CreateTargetGroup(t.Context(), group))(t)
	denied = role
	if _, err := c.elbv2.CreateLoadBalancer(t.Context(), balancer); err != nil {
		t.Errorf("the service-linked role exists: %v", err)
	}
}

func TestNewRejectsInvalidPolicy(t *testing.T) {
	if _, err := sim.New(sim.Options{Policy: []byte(`{"Version": "1"}`)}); err == nil {
		t.Error("an invalid policy was accepted")
	}
}

// The section "Attribute condition keys" of the EC2 user guide names the key for the value of a modified attribute, which
// the Service Authorization Reference lists for ModifyInstanceAttribute.
func TestPolicyRestrictsAttributes(t *testing.T) {
	const document = `{"Version": "2012-10-17", "Statement": [
	  {"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"},
	  {"Effect": "Allow", "Action": "ec2:ModifyInstanceAttribute", "Resource": "*",
	   "Condition": {"StringEquals": {"ec2:Attribute/SourceDestCheck": "false"}}}]}`
	c := newClients(t, sim.Options{Policy: []byte(document)})
	if _, err := c.cloud.Launch(world.Machine{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	modify := func(in ec2.ModifyInstanceAttributeInput) error {
		in.InstanceId = ptr(c.cloud.Instance("a"))
		_, err := c.ec2.ModifyInstanceAttribute(t.Context(), &in)
		return err
	}
	check := func(on bool) ec2.ModifyInstanceAttributeInput {
		return ec2.ModifyInstanceAttributeInput{SourceDestCheck: &ec2types.AttributeBooleanValue{Value: ptr(on)}}
	}
	if err := modify(check(false)); err != nil {
		t.Error(err)
	}
	wantCode(t, modify(check(true)), "UnauthorizedOperation", 403)
	wantCode(t, modify(ec2.ModifyInstanceAttributeInput{Groups: []string{*c.nodes(t)}}), "UnauthorizedOperation", 403)
}
