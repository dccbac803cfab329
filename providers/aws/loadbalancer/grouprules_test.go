package loadbalancer

import (
	"fmt"
	"slices"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// TestLoadBalancerKeepsGroupsUntilOthersHaveRules moves a load balancer from a listed security group to the managed one
// while AWS refuses rules of that group, or of the nodes. Clients go on to reach it by the listed one.
func TestLoadBalancerKeepsGroupsUntilOthersHaveRules(t *testing.T) {
	ranges := []string{"192.0.2.0/28", "192.0.2.16/28", "192.0.2.32/28", "192.0.2.48/28", "192.0.2.64/28"}
	for name, kind := range map[string]string{"network": "nlb", "classic": ""} {
		t.Run(name+", rules of the managed group", func(t *testing.T) {
			r, svc, group := listedGroup(t, kind)
			svc.Spec.LoadBalancerSourceRanges = ranges
			r.keepsGroup(svc, group)
			svc.Spec.Ports, svc.Spec.LoadBalancerSourceRanges = svc.Spec.Ports[:1], ranges[:2]
			r.ensure(svc)
			if got := r.securityGroups(svc); slices.Contains(got, group) {
				t.Errorf("the load balancer has the groups %v, not the managed one", got)
			}
			r.steady(svc)
		})
		t.Run(name+", rules of nodes", func(t *testing.T) {
			r, svc, group := listedGroup(t, kind)
			svc.Spec.LoadBalancerSourceRanges = ranges[:1]
			filter := ec2types.Filter{Name: awssdk.String("group-name"), Values: []string{"nodes.sim"}}
			nodes := must(r.ec2.DescribeSecurityGroups(t.Context(),
				&ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{filter}}))(t).SecurityGroups[0]
			for i := range 4 {
				in := ec2types.IpRange{CidrIp: awssdk.String(fmt.Sprintf("198.51.100.%d/32", i))}
				_, err := r.ec2.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{
					GroupId: nodes.GroupId, IpPermissions: []ec2types.IpPermission{{IpProtocol: awssdk.String("tcp"),
						FromPort: awssdk.Int32(22), ToPort: awssdk.Int32(22), IpRanges: []ec2types.IpRange{in}}}})
				if err != nil {
					break
				}
			}
			r.keepsGroup(svc, group)
		})
	}
}

// listedGroup returns a Service with a load balancer in a listed group, edited so that it moves to the managed one.
func listedGroup(t *testing.T, kind string) (r *rig, edited *v1.Service, group string) {
	r = newRig(t, sim.Options{Quotas: map[string]int{sim.QuotaRulesPerGroup: 4}}, managed)
	group = must(r.sim.AddSecurityGroup("mine", nil))(t)
	svc := service(annotate(annotation.KeyType, kind, annotation.KeySecurityGroups, group))
	r.ensure(svc)
	edited = svc.DeepCopy()
	delete(edited.Annotations, annotation.KeySecurityGroups)
	return r, edited, group
}

// keepsGroup fails unless the edited Service is refused several times, and its load balancer stays in a group.
func (r *rig) keepsGroup(svc *v1.Service, group string) {
	r.t.Helper()
	for range 3 {
		if _, err := r.manager.EnsureLoadBalancer(r.t.Context(), clusterName, svc, r.nodes); err == nil {
			r.t.Fatal("the rules are not refused")
		}
		if got := r.securityGroups(svc); !slices.Equal(got, []string{group}) {
			r.t.Fatalf("the load balancer has the groups %v, want %s", got, group)
		}
	}
	if len(r.rulesFrom(group)) == 0 {
		r.t.Error("nodes do not allow the traffic of the group")
	}
}
