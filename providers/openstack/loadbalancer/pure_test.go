package loadbalancer

import (
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/puretest"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// TestDiffIsPure verifies that a plan that is printed or held changes nothing, during the life of load balancers.
func TestDiffIsPure(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		t := r.t
		checked := puretest.Check[SharedState, Desired, observe.Observed](t, r.cloud)
		checked.Settle = synctest.Wait
		r.manager = lbcommon.New(lbcommon.Options{Provider: "openstack", Vocabulary: annotation.Vocabulary("openstack")}, checked)
		r.manager.SetRuntime(provider.Runtime{Recorder: r.recorder, ClusterUID: r.uid})
		ranges := func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.168.0.0/16"} }
		fewer := func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] }
		services := []*v1.Service{service(), service(named("other")), service(ranges, fewer)}
		for _, svc := range services {
			if _, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, svc, r.nodes); err != nil {
				t.Fatal(err)
			}
			if _, err := r.manager.PlanLoadBalancer(t.Context(), clusterName, svc, r.nodes[:1], lbcommon.PlanOptions{Remove: true}); err != nil {
				t.Fatal(err)
			}
			if err := r.manager.UpdateLoadBalancer(t.Context(), clusterName, svc, r.nodes[1:]); err != nil {
				t.Fatal(err)
			}
		}
		for _, svc := range services[1:] {
			if err := r.manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, svc); err != nil {
				t.Fatal(err)
			}
		}
		if checked.Plans < 10 {
			t.Errorf("only %d plans have changes", checked.Plans)
		}
	})
}
