package loadbalancer

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// Targets of another type would replace the target group. While that is held, the targets of the group in use follow.
func TestTargetsFollowWhileReplacementOfTargetGroupIsHeld(t *testing.T) {
	svc := service(annotate(annotation.KeyTargetType, "ip"))
	r := newRig(t, sim.Options{})
	oldManager{r, t.Context()}.network(networkShape{})
	r.restart()
	r.ensure(svc)
	r.noMutations("taking over")
	r.wantEvent("LoadBalancerChangesHeld")
	r.updateTo(svc, "d")
	if calls := r.calls(); calls != "RegisterTargets RegisterTargets" {
		t.Errorf("a node joins by %s", calls)
	}
	r.log().Reset()
	r.ensure(svc)
	r.noMutations("after the node has joined")
}
