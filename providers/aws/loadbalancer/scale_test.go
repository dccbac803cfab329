package loadbalancer

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// services returns many Services, each with two ports of its own.
func services(n int) []*v1.Service {
	list := make([]*v1.Service, n)
	for i := range list {
		list[i] = web(func(s *v1.Service) {
			s.Name, s.UID = fmt.Sprintf("web-%d", i), types.UID(fmt.Sprintf("%08d-4567-89ef-0123-456789abcdef", i))
			s.Spec.Ports[0].NodePort, s.Spec.Ports[1].NodePort = int32(20000+i), int32(25000+i) //nolint:gosec // few
		})
	}
	return list
}

// The budgets of 200 network load balancers with two ports: what a restart reads, and what a node
// that joins costs beside its registrations.
func TestTwoHundredLoadBalancersWithinTheirBudgets(t *testing.T) {
	const count = 200
	r := newRig(t, sim.Options{Quotas: map[string]int{sim.QuotaRulesPerGroup: 1000}})
	list := services(count)
	for _, svc := range list {
		r.ensure(svc)
	}
	r.clock.Step(time.Hour)
	r.restart()
	for _, svc := range list {
		r.ensure(svc)
	}
	r.atMost("a restart", 820)
	r.noMutations("a restart")
	t.Logf("restart with %d load balancers: %d calls", count, r.log().Len())

	r.clock.Step(5 * time.Minute)
	r.launch("d")
	r.log().Reset()
	for _, svc := range list {
		if err := r.manager.UpdateLoadBalancer(t.Context(), clusterName, svc, r.nodes); err != nil {
			t.Fatal(err)
		}
	}
	calls := r.log().Count()
	if n := calls["RegisterTargets"]; n != 2*count {
		t.Errorf("%d registrations: %v", n, calls)
	}
	r.atMost("a node that joins", 2*count+20)
	t.Logf("a node joins %d load balancers: %d calls", count, r.log().Len())

	r.log().Reset()
	for _, svc := range list {
		if err := r.manager.UpdateLoadBalancer(t.Context(), clusterName, svc, r.nodes); err != nil {
			t.Fatal(err)
		}
	}
	r.atMost("no change", 0)
}
