package loadbalancer

import (
	"strings"
	"testing"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	v1 "k8s.io/api/core/v1"

	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// classicRecord returns the applied record of the only classic load balancer, as it is stored.
func (r *rig) classicRecord() string {
	r.t.Helper()
	in := &elb.DescribeTagsInput{LoadBalancerNames: []string{webName}}
	for _, tag := range must(r.elb.DescribeTags(r.t.Context(), in))(r.t).TagDescriptions[0].Tags {
		if *tag.Key == names.AppliedTag {
			return *tag.Value
		}
	}
	return ""
}

// otherNodePort changes the node port of a listener, which replaces it.
func otherNodePort(s *v1.Service) { s.Spec.Ports[1].NodePort = 30444 }

// TestClassicChangeWhileAwayHasACause verifies that a change of the Service while no manager ran is applied, because
// the applied record shows it, and that a load balancer that was taken over holds it.
func TestClassicChangeWhileAwayHasACause(t *testing.T) {
	classic := without(annotation.KeyType)
	for _, ours := range []bool{true, false} {
		r := newRig(t, sim.Options{})
		if ours {
			r.ensure(service(classic))
		} else {
			oldManager{r, t.Context()}.classic(classicShape{})
		}
		if got := r.classicRecord(); (got != "") != ours {
			t.Errorf("ours %t: record %q", ours, got)
		}
		r.restart()
		r.ensure(service(classic, otherNodePort))
		if replaced := strings.Contains(r.calls(), "CreateLoadBalancerListeners"); replaced != ours {
			t.Errorf("ours %t: calls %s", ours, r.calls())
		}
	}
}

func TestClassicRecordIsWrittenWithFirstChange(t *testing.T) {
	r := newRig(t, sim.Options{})
	svc := service(without(annotation.KeyType))
	oldManager{r, t.Context()}.classic(classicShape{})
	r.restart()
	r.ensure(svc)
	r.steady(svc)
	if got := r.classicRecord(); got != "" {
		t.Fatalf("record %q of a load balancer that nothing was changed of", got)
	}
	changed := service(without(annotation.KeyType), annotate(annotation.KeyCrossZone, "true"))
	r.ensure(changed)
	if got := r.classicRecord(); got == "" {
		t.Error("no record after the first change")
	}
	r.steady(changed)
	r.restart()
	r.ensure(service(without(annotation.KeyType), annotate(annotation.KeyCrossZone, "true"), otherNodePort))
	if calls := r.calls(); !strings.Contains(calls, "CreateLoadBalancerListeners") {
		t.Errorf("calls of an edit after it: %s", calls)
	}
}

// TestInterruptedClassicChangeIsFinished kills the manager before it replaces a listener.
func TestInterruptedClassicChangeIsFinished(t *testing.T) {
	r := newRig(t, sim.Options{})
	svc := service(without(annotation.KeyType))
	r.ensure(svc)
	otherNodePort(svc)
	r.sim.Front().SetFaults(kit.Fault{Kind: kit.FaultKillBefore, Operation: "DeleteLoadBalancerListeners", Times: 1})
	r.sim.Front().OnKill(func() {})
	if _, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, svc, r.nodes); err == nil {
		t.Fatal("the change was not interrupted")
	}
	r.sim.Front().SetFaults()
	r.sim.Front().Revive()
	r.restart()
	r.ensure(svc)
	if calls := r.calls(); !strings.Contains(calls, "CreateLoadBalancerListeners") {
		t.Errorf("calls after the restart: %s", calls)
	}
	r.steady(svc)
}
