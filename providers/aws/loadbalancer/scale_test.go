package loadbalancer

import (
	"fmt"
	"testing"
	"time"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// services returns many Services, each with two ports of its own.
func services(n int) []*v1.Service {
	list := make([]*v1.Service, n)
	for i := range list {
		list[i] = service(func(s *v1.Service) {
			s.Name, s.UID = fmt.Sprintf("web-%d", i), types.UID(fmt.Sprintf("%08d-4567-89ef-0123-456789abcdef", i))
			s.Spec.Ports[0].NodePort, s.Spec.Ports[1].NodePort = int32(20000+i), int32(25000+i) //nolint:gosec // few
		})
	}
	return list
}

// The budgets of 200 network load balancers with two ports: what a restart reads, and what a node
// that joins costs beside its registrations.
func TestTwoHundredLoadBalancersWithinCallBudgets(t *testing.T) {
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
	r.wantCalls("a restart", 820)
	r.noMutations("a restart")
	t.Logf("restart with %d load balancers: %d calls", count, r.log().Len())

	r.clock.Step(5 * time.Minute)
	r.launch("d")
	r.log().Reset()
	r.update(list)
	calls := r.log().Count()
	if n := calls["RegisterTargets"]; n != 2*count {
		t.Errorf("%d registrations: %v", n, calls)
	}
	r.wantCalls("a node that joins, with the records", 2*count+20)
	t.Logf("a node joins %d load balancers: %d calls", count, r.log().Len())

	r.log().Reset()
	r.update(list)
	r.wantCalls("no change", 0)

	r.restartsWithRecords(t, list)
}

// update updates the members of load balancers and stores their records.
func (r *rig) update(list []*v1.Service) {
	r.t.Helper()
	for _, svc := range list {
		if err := r.manager.UpdateLoadBalancer(r.t.Context(), clusterName, svc, r.nodes); err != nil {
			r.t.Fatal(err)
		}
	}
	if err := r.manager.WriteRecords(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// restartsWithRecords restarts with load balancers whose applied records are up to date.
func (r *rig) restartsWithRecords(t *testing.T, list []*v1.Service) {
	t.Helper()
	start := func(most int) {
		t.Helper()
		r.clock.Step(time.Hour)
		r.restart()
		for _, svc := range list {
			r.ensure(svc)
		}
		r.wantCalls("a restart with records", most)
		r.noMutations("a restart with records")
		t.Logf("restart with records: %d calls", r.log().Len())
	}
	start(250)
	r.launch("e")
	r.log().Reset()
	r.update(list)
	r.wantCalls("a node that joins after a restart with records", 2*len(list)+20)
	start(250)
}

// Applied records must hide neither what an audit looks for, nor what changed while no manager ran.
func TestAuditIgnoresAppliedRecord(t *testing.T) {
	r := newRig(t, sim.Options{})
	svc := service(annotate(annotation.KeyCrossZone, "true", annotation.KeyCertificates, certificateA+","+certificateB))
	r.ensure(svc)
	r.restart()
	r.ensure(svc)
	if n := r.log().Count()["DescribeListeners"]; n > 0 {
		t.Errorf("the listeners are read %d times", n)
	}
	b := r.balancer(webName)
	if _, err := r.elbv2.DeleteListener(t.Context(), &elbv2.DeleteListenerInput{ListenerArn: r.listeners()[80].ListenerArn}); err != nil {
		t.Fatal(err)
	}
	drift, _, err := r.manager.AuditLoadBalancer(t.Context(), clusterName, func() (*v1.Service, []*v1.Node) { return svc, r.nodes })
	if err != nil || drift.Empty() || len(r.listeners()) != 2 {
		t.Errorf("audit: %v, %d listeners", err, len(r.listeners()))
	}
	r.restart()
	r.launch("d")
	r.ensure(svc)
	r.steady(svc)
	changed := service()
	r.restart()
	r.ensure(changed)
	r.steady(changed)
	if r.balancer(webName).LoadBalancerArn == nil || *r.balancer(webName).LoadBalancerArn != *b.LoadBalancerArn {
		t.Error("it is another load balancer")
	}
}
