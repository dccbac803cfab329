package openstack

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
)

// legacyValue is the value of a series of the process, 0 for one that is not there.
func legacyValue(t *testing.T, name, label, value string) float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			if l := m.GetLabel(); len(l) == 1 && l[0].GetName() == label && l[0].GetValue() == value {
				return m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return 0
}

// The names and labels below are in people's dashboards and alerts.
func TestLegacyMetricsCountReconciliations(t *testing.T) {
	t.Parallel()
	effect := balancerEffect{config: lines("[Global]\nlegacy-metrics = true"), check: func(m *madeBalancer) bool {
		balancers, _ := m.cloud.LoadBalancer()
		if _, ok := balancers.(loadbalancer.Planner); !ok {
			m.t.Error("a plan cannot be made where reconciliations are measured")
		}
		before := map[string]float64{}
		series := []string{"reconcile_total", "reconcile_duration_seconds", "reconcile_errors_total"}
		for _, name := range series {
			for _, operation := range []string{reconcileEnsure, reconcileUpdate, reconcileDelete} {
				before[name+operation] = legacyValue(m.t, "cloudprovider_openstack_"+name, "operation", operation)
			}
		}
		bad := webService()
		bad.Annotations["loadbalancer.openstack.org/connection-limit"] = "many"
		_, ensured := balancers.EnsureLoadBalancer(m.t.Context(), "kubernetes", bad, m.nodes)
		updated := balancers.UpdateLoadBalancer(m.t.Context(), "kubernetes", m.service, m.nodes)
		deleted := balancers.EnsureLoadBalancerDeleted(m.t.Context(), "kubernetes", m.service)
		if ensured == nil || updated != nil || deleted != nil {
			m.t.Errorf("%v, %v, %v", ensured, updated, deleted)
		}
		var moved []string
		for _, name := range series {
			for _, operation := range []string{reconcileEnsure, reconcileUpdate, reconcileDelete} {
				if legacyValue(m.t, "cloudprovider_openstack_"+name, "operation", operation) == before[name+operation]+1 {
					moved = append(moved, name+" "+operation)
				}
			}
		}
		want := []string{
			"reconcile_total loadbalancer_ensure", "reconcile_total loadbalancer_update", "reconcile_total loadbalancer_delete",
			"reconcile_duration_seconds loadbalancer_ensure", "reconcile_duration_seconds loadbalancer_update", "reconcile_duration_seconds loadbalancer_delete",
			"reconcile_errors_total loadbalancer_ensure",
		}
		if slices.Equal(moved, want) {
			return true
		}
		if len(moved) > 0 {
			m.t.Errorf("counted is\n%s\nwant\n%s", strings.Join(moved, "\n"), strings.Join(want, "\n"))
		}
		return false
	}}
	effect.run(t)
}
