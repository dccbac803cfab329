package instances

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/api"
)

// What is remembered of machines ends with their nodes, and tags end with their age: maps do not grow with the
// machines that a cluster has had.
func TestMachinesAreForgotten(t *testing.T) {
	const kept, gone = "42000000-0000-0000-0000-000000000001", "42000000-0000-0000-0000-000000000002"
	s := &Source{
		seen:   map[string]api.Ref{kept: {}, gone: {}},
		absent: map[string]time.Time{kept: {}, gone: {}},
	}
	s.forget(clusterMachines{kept: {}})
	if len(s.seen) != 1 || len(s.absent) != 1 {
		t.Errorf("seen %v, absent %v", s.seen, s.absent)
	}
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	z := &zones{clock: clock, attached: map[api.Ref]attachment{{Value: "old"}: {at: clock.Now()}}}
	clock.SetTime(clock.Now().Add(tagsMaxAge))
	z.attached[api.Ref{Value: "new"}] = attachment{at: clock.Now()}
	z.forget()
	if len(z.attached) != 1 {
		t.Errorf("attached %v", z.attached)
	}
}
