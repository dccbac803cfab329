package loadbalancer

import (
	"maps"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
)

// theirs are values that another manager, or a user, has set and that disrupt nothing.
type theirs struct {
	kind func(*v1.Service) *v1.Service
	set  func(*rig)
}

func seenValues() map[string]theirs {
	external := func(s *v1.Service) *v1.Service { return s }
	set := func(path, field string, value any) func(*rig) {
		return func(r *rig) { r.object(r.T, path)[field] = value }
	}
	const nodeCheck = "k8s-" + testCluster + "-node"
	return map[string]theirs{
		"interval of a pool's check": {kind: external, set: set("global/httpHealthChecks/"+nodeCheck, "checkIntervalSec", 2)},
		"path of a check": {kind: internal, set: func(r *rig) {
			r.object(r.T, "global/healthChecks/"+nodeCheck)["httpHealthCheck"].(map[string]any)["requestPath"] = "/"
		}},
		"own check": {kind: func(s *v1.Service) *v1.Service { return internal(local(s)) },
			set: set("global/healthChecks/"+web, "timeoutSec", 0)},
		"priority of a firewall":    {kind: external, set: set(firewallPath, "priority", 900)},
		"description of a firewall": {kind: external, set: set(firewallPath, "description", "by hand")},
		"destination of a firewall": {kind: internal, set: set(firewallPath, "destinationRanges", []any{})},
		"narrowed ranges":           {kind: external, set: set(firewallPath, "sourceRanges", []any{"10.0.0.0/8"})},
		"priority of a probe's":     {kind: external, set: set("global/firewalls/"+nodeCheck+"-http-hc", "priority", 900)},
		"affinity of a backend service": {kind: internal, set: set("regions/r1/backendServices/"+web, "sessionAffinity",
			"CLIENT_IP_PROTO")},
		"no global access": {kind: func(s *v1.Service) *v1.Service {
			internal(s).Annotations[annotation.KeyGlobalAccess] = "true"
			return s
		}, set: set(rulePath+web, "allowGlobalAccess", false)},
		"denying firewall": {kind: external, set: func(r *rig) {
			r.object(r.T, firewallPath)["priority"] = 999
			deny := maps.Clone(r.object(r.T, firewallPath))
			deny["name"], deny["priority"], deny["allowed"] = "k8s-fw-"+web+"-deny", 1000, nil
			deny["denied"] = []any{map[string]any{"IPProtocol": "all"}}
			r.put(firewallPath+"-deny", deny)
		}},
		"older firewall": {kind: internal, set: func(r *rig) {
			older := maps.Clone(r.object(r.T, firewallPath))
			older["name"] = web
			r.put("global/firewalls/"+web, older)
		}},
		"address": {kind: external, set: func(r *rig) {
			r.put("regions/r1/addresses/"+web, map[string]any{"name": web, "addressType": "EXTERNAL", "networkTier": "PREMIUM",
				"address": r.object(r.T, rulePath+web)["IPAddress"]})
		}},
	}
}

// Each of these values can be kept: then nothing of it is in the plan.
func TestHarmlessValuesCanBeKept(t *testing.T) {
	t.Parallel()
	for name, tc := range seenValues() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, config.Global{SubnetworkName: "s"})
			s, n := tc.kind(service("web", webUID, 80)), node("r1-b", "node-1")
			r.ensure(s, n)
			tc.set(r)
			r.restart(config.Global{SubnetworkName: "s"})
			want := r.desired(s, n)
			have := r.observe(s, &want)
			p, err := r.cloud.Diff(keyOf(s), &want, have)
			var harmless []plan.Difference
			for _, c := range p.Changes {
				harmless = append(harmless, c.Harmless()...)
			}
			if err != nil || len(harmless) == 0 {
				t.Fatalf("plan %v, %v", p.Changes, err)
			}
			want = r.cloud.Keep(want, have, harmless)
			if p, err := r.cloud.Diff(keyOf(s), &want, have); err != nil || !p.Empty() {
				t.Errorf("the plan still has %v, %v", p.Changes, err)
			}
		})
	}
}
