package loadbalancer

import (
	"slices"
	"testing"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// TestNodesAllowGroupThatLoadBalancerDoesNotLeave lists another security group while AWS refuses to change those of load
// balancers. Nodes go on to allow the traffic of the group that the load balancer still has.
func TestNodesAllowGroupThatLoadBalancerDoesNotLeave(t *testing.T) {
	for kind, operation := range map[string]string{"nlb": "SetSecurityGroups", "": "ApplySecurityGroupsToLoadBalancer"} {
		t.Run(operation, func(t *testing.T) {
			r := newRig(t, sim.Options{}, managed)
			group, other := must(r.sim.AddSecurityGroup("mine", nil))(t), must(r.sim.AddSecurityGroup("other", nil))(t)
			svc := service(annotate(annotation.KeyType, kind, annotation.KeySecurityGroups, group))
			r.ensure(svc)
			before := r.rulesFrom(group)
			if len(before) == 0 {
				t.Fatal("nodes do not allow the traffic of the group")
			}
			r.sim.Front().SetFaults(kit.Fault{Kind: kit.FaultDenied, Operation: operation, Times: kit.Always})
			svc.Annotations[annotation.KeySecurityGroups] = other
			for range 3 {
				if _, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, svc, r.nodes); err == nil {
					t.Fatal("the groups of the load balancer are changed")
				}
			}
			if got := r.securityGroups(svc); !slices.Equal(got, []string{group}) {
				t.Fatalf("the load balancer has the groups %v, want %s", got, group)
			}
			if after := r.rulesFrom(group); !slices.Equal(after, before) {
				t.Errorf("rules of nodes %q, want %q", after, before)
			}
			r.sim.Front().SetFaults()
			r.ensure(svc)
			if rules := r.rulesFrom(group); len(rules) > 0 {
				t.Errorf("left: %q", rules)
			}
			r.steady(svc)
		})
	}
}
