package loadbalancer

import (
	"fmt"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"
)

// The methods of this file are what a test sees in the cloud.

// balancer is the network load balancer of that name.
func (r *rig) balancer(name string) elbv2types.LoadBalancer {
	r.t.Helper()
	out, err := r.elbv2.DescribeLoadBalancers(r.t.Context(), &elbv2.DescribeLoadBalancersInput{Names: []string{name}})
	if err != nil {
		r.t.Fatal(err)
	}
	return out.LoadBalancers[0]
}

func (r *rig) listeners() map[int32]elbv2types.Listener {
	r.t.Helper()
	out, err := r.elbv2.DescribeListeners(r.t.Context(), &elbv2.DescribeListenersInput{LoadBalancerArn: r.balancer(webName).LoadBalancerArn})
	if err != nil {
		r.t.Fatal(err)
	}
	list := map[int32]elbv2types.Listener{}
	for _, l := range out.Listeners {
		list[*l.Port] = l
	}
	return list
}

func (r *rig) groups() map[string]elbv2types.TargetGroup {
	r.t.Helper()
	out, err := r.elbv2.DescribeTargetGroups(r.t.Context(), &elbv2.DescribeTargetGroupsInput{})
	if err != nil {
		r.t.Fatal(err)
	}
	list := map[string]elbv2types.TargetGroup{}
	for _, g := range out.TargetGroups {
		list[*g.TargetGroupName] = g
	}
	return list
}

func (r *rig) groupByARN(arn string) elbv2types.TargetGroup {
	r.t.Helper()
	for _, g := range r.groups() {
		if *g.TargetGroupArn == arn {
			return g
		}
	}
	r.t.Fatalf("there is no target group %s", arn)
	return elbv2types.TargetGroup{}
}

// groupOn is the target group that a listener sends to.
func (r *rig) groupOn(port int32) elbv2types.TargetGroup {
	r.t.Helper()
	l, ok := r.listeners()[port]
	if !ok {
		r.t.Fatalf("no listener on port %d", port)
	}
	return r.groupByARN(*l.DefaultActions[0].TargetGroupArn)
}

func (r *rig) tagsOf(arn *string) map[string]string {
	r.t.Helper()
	out, err := r.elbv2.DescribeTags(r.t.Context(), &elbv2.DescribeTagsInput{ResourceArns: []string{*arn}})
	if err != nil {
		r.t.Fatal(err)
	}
	tags := map[string]string{}
	for _, tag := range out.TagDescriptions[0].Tags {
		tags[*tag.Key] = *tag.Value
	}
	return tags
}

// rules are the ingress rules of the nodes' security group that have a description.
func (r *rig) rules() []string {
	r.t.Helper()
	out, err := r.ec2.DescribeSecurityGroups(r.t.Context(), &ec2.DescribeSecurityGroupsInput{})
	if err != nil {
		r.t.Fatal(err)
	}
	var list []string
	for _, g := range out.SecurityGroups {
		if *g.GroupName != "nodes.sim" {
			continue
		}
		for _, p := range g.IpPermissions {
			ports := fmt.Sprintf("%s %d-%d", *p.IpProtocol, awssdk.ToInt32(p.FromPort), awssdk.ToInt32(p.ToPort))
			for _, x := range p.IpRanges {
				list = append(list, fmt.Sprintf("%s %s %s", ports, *x.CidrIp, awssdk.ToString(x.Description)))
			}
			for _, x := range p.Ipv6Ranges {
				list = append(list, fmt.Sprintf("%s %s %s", ports, *x.CidrIpv6, awssdk.ToString(x.Description)))
			}
			for _, x := range p.UserIdGroupPairs {
				if x.Description != nil {
					list = append(list, fmt.Sprintf("%s %s", ports, *x.Description))
				}
			}
		}
	}
	slices.Sort(list)
	return list
}

// privateIP is the address of a node's instance.
func (r *rig) privateIP(n *v1.Node) string {
	r.t.Helper()
	out, err := r.ec2.DescribeInstances(r.t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{r.sim.Instance(n.Name)}})
	if err != nil {
		r.t.Fatal(err)
	}
	return *out.Reservations[0].Instances[0].PrivateIpAddress
}
