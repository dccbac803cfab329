package observe

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// TestListenersChangeInParallel verifies that each target group is linked once to the load balancer whose listeners are
// created in parallel: one that counts as shared would outlive its Service.
func TestListenersChangeInParallel(t *testing.T) {
	const rounds, listeners = 300, 8
	for round := range rounds {
		s := NewStore(Options{Clock: clocktesting.NewFakeClock(time.Unix(1000, 0))})
		s.AddBalancer(model.Balancer{ARN: "balancer"}, nil, nil)
		var work sync.WaitGroup
		for i := range listeners {
			group := fmt.Sprintf("group-%d", i)
			s.AddGroup(model.TargetGroup{ARN: group}, nil)
			work.Go(func() {
				s.AddListener("balancer", model.Listener{ARN: fmt.Sprintf("listener-%d", i), Port: int32(i + 1),
					Forwards: []model.Forward{{Group: group}}}, nil)
			})
		}
		work.Wait()
		for i := range listeners {
			g, _ := s.Group(fmt.Sprintf("group-%d", i))
			if !slices.Equal(g.Balancers, []string{"balancer"}) {
				t.Fatalf("round %d: load balancers of target group %s: %q, want one", round, g.ARN, g.Balancers)
			}
		}
	}
}
