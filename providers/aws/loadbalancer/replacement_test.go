package loadbalancer

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// tcp53 is a Service with one TCP port.
func tcp53(s *v1.Service) {
	both(s)
	s.Spec.Ports = s.Spec.Ports[1:2]
}

// protocol returns the protocol of the listener of port 53, "" if the port is closed.
func (r *rig) protocol() string {
	r.t.Helper()
	return string(r.listeners()[53].Protocol)
}

// try makes one sync that may fail.
func (r *rig) try(svc *v1.Service) error {
	_, err := r.manager.EnsureLoadBalancer(r.t.Context(), clusterName, svc, r.nodes)
	return err
}

// TestProtocolChangesInPlace changes the protocol of a listener. Its port is never closed, and nothing changes if AWS
// refuses the next one.
func TestProtocolChangesInPlace(t *testing.T) {
	tls := func(certificate string) func(*v1.Service) {
		return annotate(annotation.KeyCertificates, certificate, annotation.KeyTLSPolicy, "ELBSecurityPolicy-TLS-1-2-2017-01")
	}
	both53 := func(s *v1.Service) {
		both(s)
		s.Spec.Ports = s.Spec.Ports[:2]
	}
	tagged := annotate(annotation.KeyTags, "team=web")
	idle := annotate(intent.KeyIdleTimeout, "500s")
	for _, tt := range []struct {
		name     string
		from, to *v1.Service
	}{
		{"TCP to UDP", service(tcp53, idle), service(udp, tagged)},
		{"UDP to TCP", service(udp, tagged), service(tcp53, idle)},
		{"TCP to both", service(tcp53), service(both53)},
		{"both to TCP", service(both53), service(tcp53)},
		{"TLS to UDP", service(tcp53, tls(certificateA+","+certificateB)), service(udp)},
		{"UDP to TLS", service(udp), service(tcp53, tls(certificateA+","+certificateB))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, sim.Options{Certificates: []string{certificateA, certificateB}})
			r.ensure(tt.from)
			before := r.protocol()
			for _, kind := range []kit.FaultKind{kit.FaultDenied, kit.FaultThrottle, kit.FaultError} {
				r.sim.Front().SetFaults(kit.Fault{Kind: kind, Operation: "ModifyListener"})
				if r.try(tt.to) == nil || r.protocol() != before {
					t.Errorf("the listener is %q after %s, want %q", r.protocol(), kind, before)
				}
			}
			r.sim.Front().SetFaults()
			arn := *r.listeners()[53].ListenerArn
			r.ensure(tt.to)
			if l := r.listeners()[53]; *l.ListenerArn != arn || string(l.Protocol) == before {
				t.Errorf("listener %s %s", *l.ListenerArn, l.Protocol)
			}
			r.steady(tt.to)
			want := newRig(t, sim.Options{Certificates: []string{certificateA, certificateB}})
			want.ensure(tt.to)
			if got, want := r.shown(), want.shown(); !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	t.Run("a certificate that AWS does not have", func(t *testing.T) {
		r := newRig(t, sim.Options{Certificates: []string{certificateA}})
		r.ensure(service(udp))
		r.log().Reset()
		if r.try(service(tcp53, tls(certificateB))) == nil || r.protocol() != "UDP" {
			t.Errorf("the listener is %q, want UDP", r.protocol())
		}
		for _, call := range r.log().Mutations() {
			if call.Operation.Name == "DeleteListener" {
				t.Error("the port is closed")
			}
		}
		r.ensure(service(tcp53, tls(certificateA)))
		r.steady(service(tcp53, tls(certificateA)))
	})
}

// TestPlanThatEndsLeavesNoPortClosed ends a plan, as the end of a process or another change that fails does, while the
// deletion of a listener that another one replaces is in flight.
func TestPlanThatEndsLeavesNoPortClosed(t *testing.T) {
	r := newRig(t, sim.Options{FixedProtocols: true})
	r.ensure(service(tcp53))
	stop, cancel := context.WithCancel(t.Context())
	r.sim.Front().AfterMutations(func() {
		if r.protocol() == "" {
			cancel()
		}
	})
	_, err := r.manager.EnsureLoadBalancer(plan.WithStop(t.Context(), stop), clusterName, service(udp), r.nodes)
	if stop.Err() == nil {
		t.Fatal("nothing is replaced")
	}
	if err == nil {
		t.Error("the plan does not end")
	}
	if got := r.protocol(); got != "UDP" {
		t.Errorf("the listener is %q, want UDP", got)
	}
}

// TestListenerComesBackIfItsSuccessorIsRefusedLater replaces a listener. AWS is busy when the next one is created, for
// longer than the call is repeated, and refuses it later.
func TestListenerComesBackIfItsSuccessorIsRefusedLater(t *testing.T) {
	create := func(kind kit.FaultKind, times int) kit.Fault {
		return kit.Fault{Kind: kind, Operation: "CreateListener", Times: times}
	}
	busy := func(t *testing.T) *rig {
		r := newRig(t, sim.Options{FixedProtocols: true})
		r.ensure(service(tcp53))
		r.sim.Front().SetFaults(create(kit.FaultThrottle, kit.Always))
		if r.try(service(udp)) == nil || r.protocol() != "" {
			t.Fatal("AWS is not busy")
		}
		return r
	}
	t.Run("refused", func(t *testing.T) {
		r := busy(t)
		r.sim.Front().SetFaults(create(kit.FaultDenied, 1))
		if r.try(service(udp)) == nil {
			t.Error("nothing is refused")
		}
		if got := r.protocol(); got != "TCP" {
			t.Errorf("the listener is %q, want TCP", got)
		}
		r.sim.Front().SetFaults()
		r.clock.Step(time.Minute)
		r.ensure(service(udp))
		if got := r.protocol(); got != "UDP" {
			t.Errorf("the listener is %q, want UDP", got)
		}
		r.steady(service(udp))
	})
	t.Run("reverted", func(t *testing.T) {
		r := busy(t)
		r.sim.Front().SetFaults()
		r.ensure(service(tcp53))
		if got := r.protocol(); got != "TCP" {
			t.Errorf("the listener is %q, want TCP", got)
		}
		r.steady(service(tcp53))
	})
	t.Run("no longer busy", func(t *testing.T) {
		r := busy(t)
		r.sim.Front().SetFaults()
		r.ensure(service(udp))
		if got := r.protocol(); got != "UDP" {
			t.Errorf("the listener is %q, want UDP", got)
		}
		r.steady(service(udp))
	})
	t.Run("deleted and created again", func(t *testing.T) {
		r := busy(t)
		r.sim.Front().SetFaults()
		r.remove(service(udp))
		r.ensure(service(udp))
		r.steady(service(udp))
	})
}

// TestLostReplyIsNotUnfinished replaces a listener, and loses all replies of AWS. Later a user deletes the new one: it
// replaces nothing.
func TestLostReplyIsNotUnfinished(t *testing.T) {
	r := newRig(t, sim.Options{FixedProtocols: true})
	r.ensure(service(tcp53))
	r.sim.Front().SetFaults(kit.Fault{Kind: kit.FaultLostReply, Operation: "CreateListener", Times: kit.Always})
	if r.try(service(udp)) == nil || r.protocol() != "UDP" {
		t.Fatal("no reply is lost")
	}
	r.sim.Front().SetFaults()
	r.ensure(service(udp))
	arn := r.listeners()[53].ListenerArn
	if _, err := r.elbv2.DeleteListener(t.Context(), &elbv2.DeleteListenerInput{ListenerArn: arn}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Hour)
	drift, _, err := r.manager.AuditLoadBalancer(t.Context(), clusterName,
		func() (*v1.Service, []*v1.Node) { return service(udp), r.nodes })
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(drift.Changes, func(c plan.Change) bool { return c.Action == plan.Delete }); i >= 0 {
		t.Errorf("drift: %v %v", drift.Changes[i].Ref, drift.Changes[i].Fields)
	}
	r.steady(service(udp))
}

// TestMoveWaitsAfterAnInterruption ends a plan while a new target group becomes healthy. The next process moves the
// listener when the group is healthy, or at once if the one before is not.
func TestMoveWaitsAfterAnInterruption(t *testing.T) {
	moved := func(s *v1.Service) { s.Spec.Ports[0].NodePort = 31080 }
	for _, tt := range []struct {
		name string
		// old reports whether the targets of the target group before stay healthy.
		old  bool
		want types.TargetHealthStateEnum
	}{
		{"the one before is healthy", true, types.TargetHealthStateEnumHealthy},
		{"the one before is not", false, types.TargetHealthStateEnumInitial},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, sim.Options{HealthTime: 2 * time.Minute})
			r.ensure(service())
			r.clock.Step(3 * time.Minute)
			old := *r.groupOn(80).TargetGroupArn
			stop, cancel := context.WithCancel(t.Context())
			r.sim.Front().AfterMutations(func() {
				if action := r.listeners()[80].DefaultActions[0]; len(action.ForwardConfig.TargetGroups) == 2 {
					cancel()
				}
			})
			if _, err := r.manager.EnsureLoadBalancer(plan.WithStop(t.Context(), stop), clusterName, service(moved), r.nodes); err == nil {
				t.Fatal("the plan does not end")
			}
			for _, node := range r.nodes {
				r.sim.SetHealth(node.Name, tt.old)
			}
			r.restart()
			var got types.TargetHealthStateEnum
			r.sim.Front().AfterMutations(func() {
				for _, g := range r.listeners()[80].DefaultActions[0].ForwardConfig.TargetGroups {
					if got == "" && *g.TargetGroupArn != old && *g.Weight > 0 {
						got = r.healthOf(*g.TargetGroupArn)
					}
				}
			})
			r.ensure(service(moved))
			if got != tt.want {
				t.Errorf("the listener moves to targets that are %q, want %q", got, tt.want)
			}
		})
	}
}

// healthOf returns the state of the first target of a target group.
func (r *rig) healthOf(group string) types.TargetHealthStateEnum {
	r.t.Helper()
	out, err := r.elbv2.DescribeTargetHealth(r.t.Context(), &elbv2.DescribeTargetHealthInput{TargetGroupArn: &group})
	if err != nil || len(out.TargetHealthDescriptions) == 0 {
		r.t.Fatal("no target: ", err)
	}
	return out.TargetHealthDescriptions[0].TargetHealth.State
}

// TestReplacementFaultsAtEveryCall lets every call go wrong while a listener is replaced. The port is served in the end,
// and nothing else is left to do.
func TestReplacementFaultsAtEveryCall(t *testing.T) {
	kinds := []kit.FaultKind{kit.FaultError, kit.FaultThrottle, kit.FaultDenied, kit.FaultLostReply, kit.FaultKillAfter}
	for i, kind := range append(kinds, kinds...) {
		fixed := i < len(kinds)
		t.Run(fmt.Sprintf("%s, in place %t", kind, !fixed), func(t *testing.T) {
			for call := 1; ; call++ {
				r := newRig(t, sim.Options{FixedProtocols: fixed})
				r.ensure(service(tcp53))
				front := r.sim.Front()
				front.OnKill(func() { r.killed.Store(true) })
				front.SetFaults(kit.Fault{Kind: kind, Call: call})
				r.clock.Step(time.Minute)
				r.insist("replace", func() error { return r.try(service(udp)) })
				if front.Injected() == 0 {
					break
				}
				front.SetFaults()
				r.clock.Step(time.Minute)
				r.ensure(service(udp))
				if got := r.protocol(); got != "UDP" {
					t.Errorf("call %d: the listener is %q, want UDP", call, got)
				}
				r.steady(service(udp))
				if t.Failed() {
					break
				}
			}
		})
	}
}
