package loadbalancer

import (
	"errors"
	"maps"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestAuditCorrectsDriftBehindSnapshot(t *testing.T) {
	f, svc := newFixture(t), web()
	f.mustEnsure(t, svc, node("a"))
	f.cloud.snapshot = maps.Clone(f.cloud.have) // hides what happens from now on
	f.cloud.have[ref("listener", "lb-web/80-TCP")] = "changed by hand"
	f.eventsNow()

	drift, status, err := f.AuditLoadBalancer(t.Context(), "prod", always(svc, node("a")))
	if err != nil {
		t.Fatal(err)
	}
	if len(drift.Changes) != 1 || drift.Changes[0].Name != "lb-web/80-TCP" {
		t.Errorf("drift %v", drift.Changes)
	}
	if got := f.cloud.have[ref("listener", "lb-web/80-TCP")]; got != "" {
		t.Errorf("the listener is still %q", got)
	}
	if status == nil || len(status.Ingress) != 1 {
		t.Errorf("status %v", status)
	}
	if events := f.eventsNow(); len(events) == 0 || !strings.HasPrefix(events[0], "Warning LoadBalancerDrift ") ||
		!strings.Contains(events[0], "lb-web/80-TCP") {
		t.Errorf("events %q", events)
	}
}

func TestAuditOfHealthyLoadBalancerChangesNothing(t *testing.T) {
	f, svc := newFixture(t), web()
	f.mustEnsure(t, svc, node("a"))
	f.eventsNow()
	mutations := len(f.cloud.mutations)
	drift, _, err := f.AuditLoadBalancer(t.Context(), "prod", always(svc, node("a")))
	if err != nil || !drift.Empty() || len(f.cloud.mutations) != mutations {
		t.Errorf("drift %v, %d mutations, %v", drift.Changes, len(f.cloud.mutations)-mutations, err)
	}
	if events := f.eventsNow(); len(events) > 0 {
		t.Errorf("events %q", events)
	}
}

// A sync may run while the audit waits for the lock. An audit with the Service of before would undo that sync,
// and nothing would repeat it.
func TestAuditReadsServiceUnderLock(t *testing.T) {
	f, old := newFixture(t), web()
	f.mustEnsure(t, old, node("a"))
	changed := web(func(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] })
	f.mustEnsure(t, changed, node("a"))
	reads := 0
	_, _, err := f.AuditLoadBalancer(t.Context(), "prod", func() (*v1.Service, []*v1.Node) {
		if reads++; reads == 1 {
			return old, nil
		}
		return changed, []*v1.Node{node("a")}
	})
	if err != nil {
		t.Fatal(err)
	}
	f.converged(t, changed, node("a"))
}

func TestAuditLeavesAlone(t *testing.T) {
	recreated := web(func(svc *v1.Service) { svc.UID = "u-2" })
	for name, second := range map[string]*v1.Service{"a Service that is gone": nil,
		"another Service of its name": recreated} {
		t.Run(name, func(t *testing.T) {
			f, reads := newFixture(t), 0
			drift, status, err := f.AuditLoadBalancer(t.Context(), "prod", func() (*v1.Service, []*v1.Node) {
				if reads++; reads == 1 {
					return web(), nil
				}
				return second, nil
			})
			if err != nil || status != nil || !drift.Empty() || len(f.cloud.mutations) > 0 {
				t.Errorf("drift %v, status %v, mutations %v, %v", drift.Changes, status, f.cloud.mutations, err)
			}
		})
	}
}

func TestAuditReportsFailedCorrections(t *testing.T) {
	f, svc := newFixture(t), web()
	f.mustEnsure(t, svc, node("a"))
	f.cloud.have[ref("listener", "lb-web/80-TCP")] = "changed by hand"
	refusal := errors.New("refused")
	f.cloud.fault = func(int, bool) error { return refusal }
	if drift, _, err := f.AuditLoadBalancer(t.Context(), "prod", always(svc, node("a"))); !errors.Is(err, refusal) ||
		drift.Empty() {
		t.Errorf("drift %v, %v", drift.Changes, err)
	}
}

func always(svc *v1.Service, nodes ...*v1.Node) CurrentFunc {
	return func() (*v1.Service, []*v1.Node) { return svc, nodes }
}

// A sync of an edited Service may have failed. The audit applies the edit and does not report it as drift.
func TestAuditAppliesEditsWithoutReportingDrift(t *testing.T) {
	f, old := newFixture(t), web()
	f.mustEnsure(t, old, node("a"))
	edited := web(func(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] })
	f.eventsNow()

	drift, status, err := f.AuditLoadBalancer(t.Context(), "prod", always(edited, node("a")))
	if err != nil || status == nil {
		t.Fatalf("status %v, error %v", status, err)
	}
	if !drift.Empty() {
		t.Errorf("drift %v", drift.Changes)
	}
	for _, event := range f.eventsNow() {
		if !strings.HasPrefix(event, "Normal LoadBalancerChanged ") {
			t.Errorf("event %q", event)
		}
	}
	f.converged(t, edited, node("a"))

	f.cloud.have[ref("listener", "lb-web/80-TCP")] = "changed by hand"
	drift, _, err = f.AuditLoadBalancer(t.Context(), "prod", always(edited, node("a")))
	if err != nil || len(drift.Changes) != 1 {
		t.Errorf("drift %v after the edit was applied, error %v", drift.Changes, err)
	}
}
