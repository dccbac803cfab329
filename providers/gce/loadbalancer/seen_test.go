package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
)

// theirs are values that another manager, or a user, has set and that disrupt nothing.
type theirs struct {
	kind func(*v1.Service) *v1.Service
	set  func(*rig)
	// replaced is set for a value of the forwarding rule, whose successor has that of the Service.
	replaced bool
	// edit sets the field of the object at a path.
	path, field string
	edit        func(*v1.Service)
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
			"CLIENT_IP_PROTO"), path: "regions/r1/backendServices/" + web, field: "sessionAffinity",
			edit: func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP }},
		"no global access": {kind: func(s *v1.Service) *v1.Service {
			internal(s).Annotations[annotation.KeyGlobalAccess] = "true"
			return s
		}, set: set(rulePath+web, "allowGlobalAccess", false), replaced: true},
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

// What was only seen stays, also beside an edit and after a restart, until an edit or an approval.
func TestSeenValuesStay(t *testing.T) {
	t.Parallel()
	for name, tc := range seenValues() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config.Global{SubnetworkName: "s"}
			r := newRig(t, cfg)
			s, nodes := tc.kind(service("web", webUID, 80)), []*v1.Node{node("r1-b", "node-1")}
			r.ensure(s, nodes...)
			tc.set(r)
			before := fmt.Sprint(r.objects)
			r.takeOver(cfg, s)
			r.ensure(s, nodes...)
			r.verifyChanges()
			p := r.plan(s, nodes...)
			if len(p.Held) == 0 || !p.Empty() {
				t.Errorf("held %v, changes %v", p.Held, p.Changes)
			}
			nodes = append(nodes, node("r1-b", "node-2"))
			r.update(s, nodes...)
			r.restart(cfg)
			r.ensure(s, nodes...)
			nodes = nodes[:1]
			r.update(s, nodes...)
			if after := fmt.Sprint(r.objects); after != before {
				t.Errorf("objects are\n%s, and were\n%s", after, before)
			}
			s = edit(s, func(s *v1.Service) { s.Spec.Ports[0].Port = 81 })
			r.ensure(s, nodes...)
			held := r.plan(s, nodes...).Held
			if len(held) != len(p.Held) && !tc.replaced {
				t.Errorf("after an edit: held %v", held)
			}
			if tc.replaced {
				return
			}
			if tc.edit != nil {
				s = edit(s, tc.edit)
				r.ensure(s, nodes...)
				if got := r.object(t, tc.path)[tc.field]; got != "CLIENT_IP" {
					t.Errorf("after its edit: %v", got)
				}
				return
			}
			s = edit(s, func(s *v1.Service) { s.Annotations[intent.KeyApprove] = r.plan(s, nodes...).HeldID })
			r.ensure(s, nodes...)
			if p := r.plan(s, nodes...); len(p.Held) > 0 || !p.Empty() {
				t.Errorf("after the approval: held %v, changes %v", p.Held, p.Changes)
			}
		})
	}
}

// What this manager has made follows its configuration, also if the creation was interrupted, or the end of it.
func TestInterruptedCreationIsOfThisManager(t *testing.T) {
	t.Parallel()
	for call := range 12 {
		r := newRig(t, config.Global{})
		s, n := service("web", webUID, 80), node("r1-b", "node-1")
		writes := 0
		r.controller.SetRuntime(provider.Runtime{Recorder: r.events, SetCondition: func(ctx context.Context, s *v1.Service,
			c metav1.Condition) error {
			if writes++; writes > 1 {
				return errors.New("the manager was stopped")
			}
			return r.setCondition(ctx, s, c)
		}})
		r.failAfter(call)
		_, _ = r.controller.EnsureLoadBalancer(t.Context(), "c", s, []*v1.Node{n})
		r.failAfter(0)
		r.restart(config.Global{})
		r.ensure(s, n)
		r.object(t, firewallPath)["priority"] = 900
		r.restart(config.Global{})
		r.calls()
		r.ensure(s, n)
		if _, changes := r.calls(); !slices.Equal(changes, []string{"firewalls.patch"}) {
			t.Errorf("call %d failed: changes %q", call, changes)
		}
	}
}
