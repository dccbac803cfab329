package fake

import (
	"testing"

	"k8s.io/client-go/tools/record"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/puretest"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/fake/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/fake/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/fake/names"
	"github.com/unified-ccm/unified-ccm/providers/fake/sim"
)

// TestDiffIsPure verifies that a plan that is printed or held changes nothing, during the life of load balancers.
func TestDiffIsPure(t *testing.T) {
	f := newFixture(t, sim.Options{})
	cloud := f.manager("")
	nodes := f.launch(cloud, 1, 3)
	checked := puretest.Check[loadbalancer.SharedState, loadbalancer.Desired, loadbalancer.Observed](t,
		loadbalancer.New(cloud.api, names.NewScheme(false).Parse, nil))
	manager := lbcommon.New(lbcommon.Options{Provider: ProviderName, Vocabulary: annotation.Vocabulary(ProviderName)}, checked)
	manager.SetRuntime(provider.Runtime{Recorder: &record.FakeRecorder{}, ClusterUID: "c-1"})
	for n := range 2 {
		svc := service(n)
		if _, err := manager.EnsureLoadBalancer(t.Context(), clusterName, svc, nodes); err != nil {
			t.Fatal(err)
		}
		svc.Spec.LoadBalancerSourceRanges = []string{"192.168.0.0/16"}
		if _, err := manager.EnsureLoadBalancer(t.Context(), clusterName, svc, nodes); err != nil {
			t.Fatal(err)
		}
		if _, err := manager.PlanLoadBalancer(t.Context(), clusterName, svc, nodes[:1], lbcommon.PlanOptions{Remove: true}); err != nil {
			t.Fatal(err)
		}
		if err := manager.UpdateLoadBalancer(t.Context(), clusterName, svc, nodes[1:]); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 2 {
		if err := manager.EnsureLoadBalancerDeleted(t.Context(), clusterName, service(n)); err != nil {
			t.Fatal(err)
		}
	}
	if checked.Plans < 5 {
		t.Errorf("only %d plans have changes", checked.Plans)
	}
}
