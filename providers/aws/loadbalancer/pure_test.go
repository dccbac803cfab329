package loadbalancer

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/puretest"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/statustest"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// TestDiffIsPure verifies that a plan that is printed or held changes nothing, during the life of load balancers of both
// generations that share rules on nodes.
func TestDiffIsPure(t *testing.T) {
	for _, settings := range []Settings{{}, {ManagedGroups: true}} {
		r := newRig(t, sim.Options{}, func(s *Settings) { *s = settings })
		checked := puretest.Check[SharedState, Desired, Observed](t, r.cloud)
		controller := lbcommon.New(lbcommon.Options{Provider: "aws", Clock: r.clock, Vocabulary: annotation.Vocabulary("aws"), DeferRecords: true}, checked)
		r.manager = statustest.New(controller, &r.services, provider.Runtime{Recorder: r.recorder, ClusterUID: "cluster-1"})
		ranges := func(s *v1.Service) { s.Spec.LoadBalancerSourceRanges = []string{"192.168.0.0/16"} }
		other := func(s *v1.Service) { s.Name, s.UID = "other", types.UID("ffffffff-4567-89ef-0123-456789abcdef") }
		classic := func(s *v1.Service) {
			delete(s.Annotations, annotation.KeyType)
			s.Name, s.UID = "classic", types.UID("eeeeeeee-4567-89ef-0123-456789abcdef")
		}
		for _, svc := range []*v1.Service{service(local), service(other, local), service(classic), service(local, ranges), service(classic, ranges)} {
			r.ensure(svc)
			if _, err := r.manager.PlanLoadBalancer(t.Context(), clusterName, svc, r.nodes[:1], lbcommon.PlanOptions{Remove: true}); err != nil {
				t.Fatal(err)
			}
			if err := r.manager.UpdateLoadBalancer(t.Context(), clusterName, svc, r.nodes[1:]); err != nil {
				t.Fatal(err)
			}
		}
		for _, svc := range []*v1.Service{service(), service(other), service(classic)} {
			r.remove(svc)
		}
		if checked.Plans < 10 {
			t.Errorf("only %d plans have changes", checked.Plans)
		}
	}
}
