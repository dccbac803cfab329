package vsphere_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// disruptiveEdits are edits of a Service with the ports 80 and 443, one for each disruptive field.
func disruptiveEdits() map[string]func(*v1.Service) {
	return map[string]func(*v1.Service){
		"a port is removed": func(svc *v1.Service) {
			svc.Spec.Ports = slices.DeleteFunc(svc.Spec.Ports, func(p v1.ServicePort) bool { return p.Port == 443 })
		},
		"source ranges":   func(svc *v1.Service) { svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"} },
		"another address": func(svc *v1.Service) { svc.Spec.LoadBalancerIP = "192.0.2.77" },
		"another pool":    func(svc *v1.Service) { svc.Annotations[intent.KeyScheme] = string(intent.Internal) },
	}
}

// setDisruption sets the policy of a cluster's manager.
func (c nsxtCluster) setDisruption(uid string, policy provider.DisruptionPolicy) {
	c.cloud.SetRuntime(provider.Runtime{ClusterUID: uid, Recorder: record.NewFakeRecorder(1000), Disruption: policy})
}

// plan returns the plan of a Service.
func (c nsxtCluster) plan(t testing.TB, svc *v1.Service) plan.Plan {
	t.Helper()
	lb, _ := c.cloud.LoadBalancer()
	p, err := lb.(loadbalancer.Planner).PlanLoadBalancer(t.Context(), "kubernetes", svc, c.nodes, loadbalancer.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Each disruptive edit, and each pair of them, is held without holding anything else: a further port and settings of
// health checks are applied, and members follow. Once they are allowed, they are applied.
func TestHeldEditsHoldNothingElse(t *testing.T) {
	edits := disruptiveEdits()
	names := make([]string, 0, len(edits))
	for name := range edits {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, first := range names {
		for _, second := range names[i:] {
			if first == "another address" && second == "another pool" {
				continue // the address is none of that pool
			}
			t.Run(first+" and "+second, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { holdEdits(t, edits[first], edits[second]) })
			})
		}
	}
}

func holdEdits(t *testing.T, edits ...func(*v1.Service)) {
	t.Helper()
	w := newNSXT(t)
	c := joinCluster(t, w, "uid")
	svc := webService("uid-a", 80, 443)
	svc.Annotations = map[string]string{}
	expect := func(when string, want ...string) {
		t.Helper()
		if err := c.ensure(t, svc); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		var have []string
		for _, lb := range w.LoadBalancers() {
			for _, l := range lb.Listeners {
				have = append(have, fmt.Sprint(lb.Addresses, l.Port, l.Members, l.SourceRanges))
			}
		}
		slices.Sort(have)
		if !slices.Equal(have, want) {
			t.Errorf("%s: %v, want %v", when, have, want)
		}
	}
	expect("created", "[192.0.2.1] 443 [uid-0 uid-1] []", "[192.0.2.1] 80 [uid-0 uid-1] []")
	c.setDisruption("uid", provider.HoldAllDisruption)
	for _, edit := range edits {
		edit(svc)
	}
	svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Protocol: v1.ProtocolTCP, Port: 8443, NodePort: 38443})
	svc.Annotations[intent.KeyHealthCheckInterval] = "7s"
	svc.Spec.Ports[0].NodePort = 31080
	ranges := "[]"
	if len(svc.Spec.LoadBalancerSourceRanges) > 0 {
		ranges = "[10.0.0.0/8]" // the further port has them from the beginning
	}
	expect("held", "[192.0.2.1] 443 [uid-0 uid-1] []", "[192.0.2.1] 80 [uid-0 uid-1] []",
		"[192.0.2.1] 8443 [uid-0 uid-1] "+ranges)
	for _, monitor := range objectsOf(t, w, monitorsPath) {
		if monitor["interval"] != 7.0 && monitor["display_name"] != nil && fmt.Sprint(monitor["monitor_port"]) != "30443" {
			t.Errorf("the monitor of port %v has the interval %v", monitor["monitor_port"], monitor["interval"])
		}
	}
	if p := c.plan(t, svc); !p.Empty() || len(p.Held) == 0 {
		t.Errorf("plan %s, held %v", plan.Summary(p), p.Held)
	} else {
		onlyDisruptive(t, p)
	}
	c.nodes = c.nodes[:1]
	expect("a node leaves", "[192.0.2.1] 443 [uid-0] []", "[192.0.2.1] 80 [uid-0] []", "[192.0.2.1] 8443 [uid-0] "+ranges)
	c.setDisruption("uid", provider.HoldDisruption)
	if err := c.ensure(t, svc); err != nil {
		t.Fatal(err)
	}
	if p := c.plan(t, svc); !p.Empty() || len(p.Held) > 0 {
		t.Errorf("after all: plan %s, held %v", plan.Summary(p), p.Held)
	}
}

// onlyDisruptive fails if a plan holds anything but disruptive differences.
func onlyDisruptive(t *testing.T, p plan.Plan) {
	t.Helper()
	for _, h := range p.Held {
		if !h.Disrupts.Severe() {
			t.Errorf("held: %s", h.Ref)
		}
		for _, f := range h.Fields {
			if !f.Disrupts.Severe() {
				t.Errorf("held: %s of %s", f.Name, h.Ref)
			}
		}
	}
}
