package aws_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// TestRestartDuration is a restart over 200 network load balancers of which none has changed, by a
// manager with all its own rate limits and as many workers as ccm has by default, on a cloud that takes 100 ms
// for each call. Its clock is the bubble's, on which only calls and limits take time: what else the machine
// does is of no consequence.
func TestRestartDuration(t *testing.T) {
	const (
		services, workers = 200, 256
		latency, atMost   = 100 * time.Millisecond, 10 * time.Second
		calls             = 820
	)
	synctest.Test(t, func(t *testing.T) {
		world, err := sim.New(sim.Options{Latency: latency, Quotas: map[string]int{sim.QuotaRulesPerGroup: 1000}})
		if err != nil {
			t.Fatal(err)
		}
		l := &policyScenarios{T: t, world: world}
		for _, name := range []string{"a", "b", "c"} {
			l.nodes = append(l.nodes, l.join(name))
		}
		ensure := func() time.Duration {
			cloud, err := managerOn(world, "")(conformance.ManagerOptions{})
			if err != nil {
				t.Fatal(err)
			}
			balancers, _ := cloud.LoadBalancer()
			world.Front().Log().Reset()
			began := time.Now()
			workqueue.ParallelizeUntil(t.Context(), workers, services, func(i int) { l.persist(balancers, numbered(i)) })
			return time.Since(began)
		}
		t.Logf("%d load balancers are made in %s by %d calls", services, ensure(), world.Front().Log().Len())
		time.Sleep(time.Hour)
		took, log := ensure(), world.Front().Log()
		t.Logf("a restart takes %s and %d calls", took, log.Len())
		if took > atMost {
			t.Errorf("a restart takes %s, want at most %s", took, atMost)
		}
		if n := log.Len(); n > calls {
			t.Errorf("a restart takes %d calls, want at most %d: %v", n, calls, log.Count())
		}
		if changed := log.Mutations(); len(changed) > 0 {
			t.Errorf("a restart makes %d changes, the first is %s", len(changed), changed[0].Name)
		}
	})
}

// numbered is one Service of many, with two ports.
func numbered(i int) *v1.Service {
	port := int32(20_000 + 2*i) //nolint:gosec // hundreds
	return &v1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("web-%d", i), UID: types.UID(fmt.Sprintf("%08d-4567-89ef-0123-456789abcdef", i)),
			Annotations: map[string]string{annotation.KeyType: "nlb"},
		},
		Spec: v1.ServiceSpec{Type: v1.ServiceTypeLoadBalancer, Ports: []v1.ServicePort{
			{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, NodePort: port},
			{Name: "https", Protocol: v1.ProtocolTCP, Port: 443, NodePort: port + 1},
		}},
	}
}

// persist asks for a load balancer until it is there, as the framework's controller does.
func (l *policyScenarios) persist(balancers cloudprovider.LoadBalancer, svc *v1.Service) {
	l.Helper()
	for range 10 {
		if _, err := balancers.EnsureLoadBalancer(l.Context(), "kubernetes", svc, l.nodes); err == nil {
			return
		}
		time.Sleep(5 * time.Second)
	}
	l.Errorf("%s is not ensured after ten attempts", svc.Name)
}
