package loadbalancer

import (
	"errors"
	"fmt"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// Whatever fails after the load balancer itself was deleted is tried again until nothing is left.
func TestInterruptedDeletionLeavesNoOrphans(t *testing.T) {
	for _, operation := range []string{"DeleteTargetGroup", "RevokeSecurityGroupIngress", "DeleteSecurityGroup", "DeleteLoadBalancer"} {
		t.Run(operation, func(t *testing.T) {
			r := newRig(t, sim.Options{}, func(s *Settings) { s.ManagedGroups = operation == "DeleteSecurityGroup" })
			before := r.bare()
			r.ensure(service())
			r.sim.Front().SetFaults(kit.Fault{Kind: kit.FaultThrottle, Operation: operation, Times: kit.Always})
			if err := r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, service()); !cloudapi.Is(err, cloudapi.Throttled) {
				t.Errorf("delete: %v", err)
			}
			r.sim.Front().SetFaults()
			r.restart()
			r.remove(service())
			r.sameAs(t, before)
		})
	}
}

// Rules in a security group without the cluster's tag go also where a new manager begins with the
// deletion, and where the nodes by which the group was found were deleted.
func TestDeletionFindsRulesInUntaggedGroups(t *testing.T) {
	ranges := func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} }
	for name, svc := range map[string]*v1.Service{
		"network":                            service(ranges),
		"network, group of the Service":      service(annotate(annotation.KeySecurityGroups, "{group-own}")),
		"classic":                            service(without(annotation.KeyType)),
		"classic, group of the Service":      service(without(annotation.KeyType), annotate(annotation.KeySecurityGroups, "{group-own}")),
		"network, whose type was taken away": service(ranges, annotate("test.example/then", "classic")),
	} {
		for _, deleted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, nodes deleted %t", name, deleted), func(t *testing.T) {
				svc := svc.DeepCopy()
				r := newRig(t, sim.Options{}, func(s *Settings) { s.ManagedGroups = svc.Annotations[annotation.KeySecurityGroups] != "" })
				r.name()
				for key, value := range svc.Annotations {
					svc.Annotations[key] = r.named.Expand(value)
				}
				nodes := r.untag("nodes.sim")
				before := r.inventory()
				r.ensure(svc)
				if cmp.Equal(before["rules of nodes.sim"], r.inventory()["rules of nodes.sim"]) {
					t.Fatal("there are no rules to begin with")
				}
				if deleted {
					for _, n := range r.nodes {
						if err := r.sim.Terminate(n.Name); err != nil {
							t.Fatal(err)
						}
					}
				}
				if svc.Annotations["test.example/then"] != "" {
					delete(svc.Annotations, annotation.KeyType)
				}
				r.restart()
				r.remove(svc)
				if calls := r.log().Count(); calls["DescribeSecurityGroups"] > 5 || calls["DescribeInstances"] > 0 {
					t.Errorf("a deletion by a new manager makes the calls %v", calls)
				}
				if diff := cmp.Diff(before, r.inventory()); diff != "" {
					t.Errorf("objects (-before +after), nodes in %s:\n%s", nodes, diff)
				}
			})
		}
	}
}

// untag takes all tags from a security group and returns its ID.
func (r *rig) untag(name string) string {
	r.t.Helper()
	out, err := r.ec2.DescribeSecurityGroups(r.t.Context(), &ec2.DescribeSecurityGroupsInput{Filters: []ec2types.Filter{{Name: awssdk.String("group-name"), Values: []string{name}}}})
	if err != nil {
		r.t.Fatal(err)
	}
	group := out.SecurityGroups[0]
	if _, err := r.ec2.DeleteTags(r.t.Context(), &ec2.DeleteTagsInput{Resources: []string{*group.GroupId}, Tags: group.Tags}); err != nil {
		r.t.Fatal(err)
	}
	return *group.GroupId
}

// AWS holds the security group of a deleted load balancer for a while. No worker waits for it.
func TestDeletionDoesNotWaitForTheSecurityGroup(t *testing.T) {
	r := newRig(t, sim.Options{ReleaseTime: 5 * time.Minute}, func(s *Settings) { s.ManagedGroups = true })
	before := r.bare()
	r.ensure(service())
	began := r.clock.Now()
	err := r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, service())
	var again *api.RetryError
	if !errors.As(err, &again) || !cloudapi.Is(err, cloudapi.Conflict) {
		t.Fatalf("delete: %v", err)
	}
	if waited := r.clock.Since(began); waited > time.Minute {
		t.Errorf("it has waited %s", waited)
	}
	if _, exists, err := r.manager.GetLoadBalancer(t.Context(), clusterName, service()); !exists || err != nil {
		t.Errorf("get: %t, %v", exists, err)
	}
	r.clock.Step(5 * time.Minute)
	r.remove(service())
	r.sameAs(t, before)
}
