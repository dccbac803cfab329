package loadbalancer

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
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// securityGroups returns the security groups of the Service's load balancer, of either generation.
func (r *rig) securityGroups(svc *v1.Service) []string {
	r.t.Helper()
	name := names.LoadBalancerName(svc.UID)
	if annotation.TypeOf(svc.Annotations) == annotation.Network {
		return r.balancer(name).SecurityGroups
	}
	out := must(r.elb.DescribeLoadBalancers(r.t.Context(), &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{name}}))(r.t)
	return out.LoadBalancerDescriptions[0].SecurityGroups
}

// deleteByHand deletes the Service's load balancer, of either generation, and nothing else.
func (r *rig) deleteByHand(svc *v1.Service) {
	r.t.Helper()
	name := names.LoadBalancerName(svc.UID)
	if annotation.TypeOf(svc.Annotations) == annotation.Network {
		in := &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: r.balancer(name).LoadBalancerArn}
		must(r.elbv2.DeleteLoadBalancer(r.t.Context(), in))(r.t)
	} else {
		must(r.elb.DeleteLoadBalancer(r.t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerName: &name}))(r.t)
	}
}

// rulesFrom returns the rules of all security groups that refer to a group.
func (r *rig) rulesFrom(id string) []string {
	r.t.Helper()
	var rules []string
	for _, g := range must(r.ec2.DescribeSecurityGroups(r.t.Context(), &ec2.DescribeSecurityGroupsInput{}))(r.t).SecurityGroups {
		for _, p := range g.IpPermissions {
			for _, pair := range p.UserIdGroupPairs {
				if *pair.GroupId == id {
					rules = append(rules, fmt.Sprintf("%s: %s %q", *g.GroupName, *p.IpProtocol, awssdk.ToString(pair.Description)))
				}
			}
		}
	}
	slices.Sort(rules)
	return rules
}

// TestManagedGroupOfOthersIsKept verifies that the security group of one Service stays, with the rules that refer to it,
// while the load balancer of another Service uses it.
func TestManagedGroupOfOthersIsKept(t *testing.T) {
	classic := without(annotation.KeyType)
	network := func(*v1.Service) {}
	for _, owner := range []struct {
		name  string
		shape func(*v1.Service)
	}{{"network", network}, {"classic", classic}} {
		for _, user := range []struct {
			name  string
			shape func(*v1.Service)
		}{{"network", network}, {"classic", classic}} {
			for _, step := range []string{"deletion", "deletion by hand", "another group is listed"} {
				t.Run(fmt.Sprintf("%s, used by %s, %s", owner.name, user.name, step), func(t *testing.T) {
					r := newRig(t, sim.Options{}, managed)
					svc := service(owner.shape)
					r.ensure(svc)
					group := r.securityGroups(svc)[0]
					other := service(user.shape, annotate(annotation.KeySecurityGroups, group))
					other.Name, other.UID = "other", "ffffffff-4567-89ef-0123-456789abcdef"
					r.ensure(other)
					before := r.rulesFrom(group)
					r.restart()
					switch step {
					case "deletion by hand":
						r.deleteByHand(svc)
						fallthrough
					case "deletion":
						if err := r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, svc); err != nil {
							t.Fatal(err)
						}
					default:
						own := must(r.ec2.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{
							GroupName: awssdk.String("own"), Description: awssdk.String("own"), VpcId: &r.vpc}))(t)
						svc.Annotations[annotation.KeySecurityGroups] = *own.GroupId
						r.ensure(svc)
						if got := r.securityGroups(svc); !slices.Equal(got, []string{*own.GroupId}) {
							t.Errorf("groups of the Service %v, want %s", got, *own.GroupId)
						}
					}
					r.wantEvent("another load balancer uses it")
					if after := r.rulesFrom(group); !slices.Equal(after, before) {
						t.Errorf("rules %q, want %q", after, before)
					}
					if got := r.securityGroups(other); !slices.Equal(got, []string{group}) {
						t.Errorf("groups of the other load balancer %v, want %s", got, group)
					}
					r.steady(other)
				})
			}
		}
	}
}

// TestManagedGroupOfForeignLoadBalancerIsKept deletes a Service whose load balancer now belongs to another cluster and
// has the Service's security group.
func TestManagedGroupOfForeignLoadBalancerIsKept(t *testing.T) {
	r := newRig(t, sim.Options{}, managed)
	r.ensure(service())
	group := r.securityGroups(service())[0]
	r.strip("")
	must(r.elbv2.AddTags(t.Context(), &elbv2.AddTagsInput{ResourceArns: []string{*r.balancer(webName).LoadBalancerArn},
		Tags: []elbv2types.Tag{{Key: awssdk.String("kubernetes.io/cluster/other"), Value: awssdk.String("owned")}}}))(t)
	before := r.rulesFrom(group)
	r.restart()
	if err := r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, service()); err != nil {
		t.Fatal(err)
	}
	r.wantEvent("another load balancer uses it")
	if after := r.rulesFrom(group); !slices.Equal(after, before) {
		t.Errorf("rules %q, want %q", after, before)
	}
}

// TestDeletionKeepsReferencesToNetworkGroup verifies that a rule which people wrote for the security group of a network
// load balancer blocks its deletion, with the name of the rule, and stays.
func TestDeletionKeepsReferencesToNetworkGroup(t *testing.T) {
	r := newRig(t, sim.Options{}, managed)
	before := r.bare()
	r.ensure(service())
	group := r.securityGroups(service())[0]
	database := must(r.ec2.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{
		GroupName: awssdk.String("database"), Description: awssdk.String("database"), VpcId: &r.vpc}))(t).GroupId
	rule := []ec2types.IpPermission{{IpProtocol: awssdk.String("tcp"), FromPort: awssdk.Int32(9000), ToPort: awssdk.Int32(9000),
		UserIdGroupPairs: []ec2types.UserIdGroupPair{{GroupId: &group}}}}
	must(r.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: database, IpPermissions: rule}))(t)
	r.restart()
	err := r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, service())
	if err == nil || !strings.Contains(err.Error(), *database) {
		t.Errorf("error %v, want one that names group %s", err, *database)
	}
	if rules := r.rulesFrom(group); !slices.Equal(rules, []string{`database: tcp ""`}) {
		t.Errorf("rules %q, want only that of the database", rules)
	}
	must(r.ec2.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: database, IpPermissions: rule}))(t)
	must(r.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: database}))(t)
	r.remove(service())
	r.sameAs(t, before)
}
