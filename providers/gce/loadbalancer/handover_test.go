package loadbalancer

import (
	"context"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/handover"
)

// setFinalizers changes the finalizers of the Service itself.
func setFinalizers(_ context.Context, s *v1.Service, add, remove []string) error {
	s.Finalizers = slices.DeleteFunc(append(s.Finalizers, add...), func(f string) bool { return slices.Contains(remove, f) })
	return nil
}

// An edit of the scheme that hands a Service to ingress-gce deletes the load balancer of the former scheme, for whose
// finalizer ingress-gce waits.
func TestOtherSchemeOfIngressGCEDeletesTheFormerLoadBalancer(t *testing.T) {
	t.Parallel()
	subsets := config.Global{SubnetworkName: "s", AlphaFeatures: []string{config.FeatureSubsets}}
	toRBS := func(s *v1.Service) { s.Annotations = map[string]string{annotation.KeyRBS: annotation.Enabled} }
	toInternal := func(s *v1.Service) { internal(s) }
	for name, tc := range map[string]struct {
		cfg        config.Global
		internal   bool
		edit       func(*v1.Service)
		disruption provider.DisruptionPolicy
		elsewhere  bool
		// takenOver is set if another manager saw the edit.
		takenOver bool
		// left are the forwarding rules, finalizers those of the Service.
		left, finalizers []string
	}{
		"external to internal": {cfg: subsets, edit: toInternal},
		"internal to external": {cfg: config.Global{SubnetworkName: "s"}, internal: true, edit: toRBS},
		"everything is held": {cfg: subsets, edit: toInternal, disruption: provider.HoldAllDisruption,
			left: []string{web}, finalizers: []string{handover.FinalizerExternal}},
		"the rule is one of ingress-gce": {cfg: config.Global{SubnetworkName: "s"}, internal: true, edit: toRBS,
			elsewhere: true, left: []string{web}},
		"external to internal, before the Service was taken over": {cfg: subsets, edit: toInternal, takenOver: true,
			left: []string{web}, finalizers: []string{handover.FinalizerExternal}},
		"internal to external, before the Service was taken over": {cfg: config.Global{SubnetworkName: "s"}, internal: true,
			edit: toRBS, takenOver: true, left: []string{web}, finalizers: []string{handover.FinalizerInternal}},
		"external before its finalizer": {cfg: config.Global{}, edit: func(s *v1.Service) {
			toRBS(s)
			s.Finalizers = []string{handover.FinalizerInternal}
		}, left: []string{web}, finalizers: []string{handover.FinalizerInternal}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			former := config.Global{SubnetworkName: "s"}
			r := newRig(t, former)
			start := func(cfg config.Global) *handover.Controller {
				r.restart(cfg)
				c := &handover.Controller{Controller: r.controller, Scheme: r.cloud.Scheme,
					Subsets: cfg.Has(config.FeatureSubsets)}
				c.SetRuntime(provider.Runtime{Recorder: r.events, SetCondition: r.setCondition, SetFinalizers: setFinalizers,
					Disruption: tc.disruption})
				return c
			}
			s, n := service("web", webUID, 80), []*v1.Node{node("r1-b", "node-1")}
			if tc.internal {
				internal(s)
			}
			if _, err := start(former).EnsureLoadBalancer(t.Context(), "c", s, n); err != nil {
				t.Fatal(err)
			}
			s = edit(s, tc.edit)
			if tc.elsewhere {
				rule := r.object(t, "regions/r1/forwardingRules/"+web)
				rule["loadBalancingScheme"], rule["backendService"] = "EXTERNAL", "regions/r1/backendServices/k8s2-x"
			}
			if tc.takenOver {
				s.Status.Conditions = nil
			}
			c := start(tc.cfg)
			r.calls()
			p, err := c.PlanLoadBalancer(t.Context(), "c", s, n, lbcommon.PlanOptions{})
			if held := len(tc.left) > 0 && !tc.elsewhere; err != nil || p.Empty() != held {
				t.Errorf("plan %v, %v", p.Changes, err)
			}
			r.verifyChanges()
			for range 2 {
				if _, err := c.EnsureLoadBalancer(t.Context(), "c", s, n); err != cloudprovider.ImplementedElsewhere { //nolint:errorlint // as the framework compares it
					t.Errorf("got %v", err)
				}
			}
			if rules := r.names("forwardingRules"); !slices.Equal(rules, tc.left) || !slices.Equal(s.Finalizers, tc.finalizers) {
				t.Errorf("rules %q, finalizers %q", rules, s.Finalizers)
			}
			if len(tc.left) == 0 {
				r.verify(nil)
			}
		})
	}
}
