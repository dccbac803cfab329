package loadbalancer

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/puretest"
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// TestDiffIsPure verifies that a plan that is printed or held changes nothing, during the life of load balancers.
func TestDiffIsPure(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]func(*v1.Service) *v1.Service{
		"external": func(s *v1.Service) *v1.Service { return s }, "internal": internal,
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, config.Global{SubnetworkName: "s"})
			checked := puretest.Check[model.SharedState, model.Desired, Observed](t, r.cloud)
			r.controller = lbcommon.New(lbcommon.Options{Provider: names.Scheme, Clock: r.clock,
				Vocabulary: annotation.Vocabulary(names.Scheme)}, checked)
			r.controller.SetRuntime(provider.Runtime{Recorder: r.events, SetCondition: r.setCondition})
			nodes := []*v1.Node{node("r1-b", "node-1"), node("r1-c", "node-2")}
			s := kind(service("web", webUID, 80, 443))
			r.ensure(s, nodes...)
			r.update(s, nodes[:1]...)
			for _, change := range []func(*v1.Service){
				func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] },
				func(s *v1.Service) { local(s) },
				func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP },
			} {
				s = edit(s, change)
				r.plan(s, nodes...)
				r.ensure(s, nodes...)
			}
			r.remove(s)
			if checked.Plans < 5 {
				t.Errorf("only %d plans have changes", checked.Plans)
			}
		})
	}
}
