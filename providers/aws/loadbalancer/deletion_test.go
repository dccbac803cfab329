package loadbalancer

import (
	"errors"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// Whatever fails after the load balancer itself is gone is tried again until nothing is left.
func TestDeletionThatFailsHalfWayLeaksNothing(t *testing.T) {
	for _, operation := range []string{"DeleteTargetGroup", "RevokeSecurityGroupIngress", "DeleteSecurityGroup", "DeleteLoadBalancer"} {
		t.Run(operation, func(t *testing.T) {
			r := newRig(t, sim.Options{}, func(s *Settings) { s.ManagedGroups = operation == "DeleteSecurityGroup" })
			before := r.bare()
			r.ensure(web())
			r.sim.Front().SetFaults(kit.Fault{Kind: kit.FaultThrottle, Operation: operation, Times: kit.Always})
			if err := r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, web()); !cloudapi.Is(err, cloudapi.Throttled) {
				t.Errorf("delete: %v", err)
			}
			r.sim.Front().SetFaults()
			r.restart()
			r.delete(web())
			r.sameAs(t, before)
		})
	}
}

// AWS holds the security group of a deleted load balancer for a while. Nobody waits for it.
// Rules in a security group without the cluster's tag, which are found through the nodes that are in
// it, go also where a new manager begins with the deletion.
func TestDeletionAfterARestartFindsUntaggedNodeGroups(t *testing.T) {
	r := newRig(t, sim.Options{})
	out, err := r.ec2.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{{Name: awssdk.String("group-name"), Values: []string{"nodes.sim"}}}})
	if err != nil {
		t.Fatal(err)
	}
	nodes := out.SecurityGroups[0]
	if _, err := r.ec2.DeleteTags(t.Context(), &ec2.DeleteTagsInput{Resources: []string{*nodes.GroupId}, Tags: nodes.Tags}); err != nil {
		t.Fatal(err)
	}
	before := r.bare()
	svc := web(func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} })
	r.ensure(svc)
	if rules := r.rules(); len(rules) == 0 {
		t.Fatal("there are no rules to begin with")
	}
	r.restart()
	r.delete(svc)
	if rules := r.rules(); len(rules) > 0 {
		t.Errorf("rules are left: %q", rules)
	}
	r.sameAs(t, before)
}

func TestDeletionDoesNotWaitForTheSecurityGroup(t *testing.T) {
	r := newRig(t, sim.Options{ReleaseTime: 5 * time.Minute}, func(s *Settings) { s.ManagedGroups = true })
	before := r.bare()
	r.ensure(web())
	began := r.clock.Now()
	err := r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, web())
	var again *api.RetryError
	if !errors.As(err, &again) || !cloudapi.Is(err, cloudapi.Conflict) {
		t.Fatalf("delete: %v", err)
	}
	if waited := r.clock.Since(began); waited > time.Minute {
		t.Errorf("it has waited %s", waited)
	}
	if _, exists, err := r.manager.GetLoadBalancer(t.Context(), clusterName, web()); !exists || err != nil {
		t.Errorf("get: %t, %v", exists, err)
	}
	r.clock.Step(5 * time.Minute)
	r.delete(web())
	r.sameAs(t, before)
}
