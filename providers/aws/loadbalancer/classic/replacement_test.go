package classic

import (
	"context"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	kit "github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/refusal"
)

// stopping ends plans, as the end of a process does, while the first call of an operation is in flight. Plans end in
// the same way when a change beside fails.
type stopping struct {
	*refusing
	operation string
	stop      context.CancelFunc
}

func (s stopping) DeleteLoadBalancerListeners(ctx context.Context, in *elb.DeleteLoadBalancerListenersInput,
	o ...func(*elb.Options)) (*elb.DeleteLoadBalancerListenersOutput, error) {
	out, err := s.refusing.DeleteLoadBalancerListeners(ctx, in, o...)
	if s.operation == "DeleteLoadBalancerListeners" {
		s.stop()
	}
	return out, err
}

func (s stopping) DetachLoadBalancerFromSubnets(ctx context.Context, in *elb.DetachLoadBalancerFromSubnetsInput,
	o ...func(*elb.Options)) (*elb.DetachLoadBalancerFromSubnetsOutput, error) {
	out, err := s.refusing.DetachLoadBalancerFromSubnets(ctx, in, o...)
	if s.operation == "DetachLoadBalancerFromSubnets" {
		s.stop()
	}
	return out, err
}

// TestPlanThatEndsLeavesNoReplacementHalfMade ends a plan while it removes what is replaced. The next process or the
// next sync, some minutes later, would not know what there was.
func TestPlanThatEndsLeavesNoReplacementHalfMade(t *testing.T) {
	proxy := annotate("proxy-protocol", "*")
	moved := func(s *v1.Service) { s.Spec.Ports[0].NodePort = 31080 }
	run := func(t *testing.T, operation string, before, edited *v1.Service) (*rig, *refusing) {
		r, f := newRefusingRig(t)
		r.ensure(before)
		stop, cancel := context.WithCancel(t.Context())
		r.settings.API = stopping{f, operation, cancel}
		r.restart()
		if _, err := r.manager.EnsureLoadBalancer(plan.WithStop(t.Context(), stop), clusterName, edited, r.nodes); err == nil {
			t.Error("the plan does not end")
		}
		if stop.Err() == nil {
			t.Errorf("%s is not called", operation)
		}
		return r, f
	}
	t.Run("listener", func(t *testing.T) {
		edited := service(proxy, moved)
		r, _ := run(t, "DeleteLoadBalancerListeners", service(proxy), edited)
		if got, want := r.open(), []string{"TCP:80→31080", "TCP:443→30443"}; !slices.Equal(got, want) {
			t.Errorf("listeners %v, want %v", got, want)
		}
		if !r.hasProxy(31080) {
			t.Error("the new node port does not get the PROXY protocol")
		}
		r.ensure(edited)
	})
	t.Run("listener with a policy", func(t *testing.T) {
		tls := annotate("ssl-cert", certificate, "ssl-negotiation-policy", "ELBSecurityPolicy-TLS-1-2-2017-01")
		r, _ := run(t, "DeleteLoadBalancerListeners", service(), service(tls))
		if got, want := r.open(), []string{"SSL:80→30080", "SSL:443→30443"}; !slices.Equal(got, want) {
			t.Errorf("listeners %v, want %v", got, want)
		}
		for _, l := range r.listeners() {
			if !slices.Equal(l.PolicyNames, []string{"k8s-SSLNegotiationPolicy-ELBSecurityPolicy-TLS-1-2-2017-01"}) {
				t.Errorf("listener %s:%d has the policies %v", *l.Listener.Protocol, l.Listener.LoadBalancerPort, l.PolicyNames)
			}
		}
	})
	t.Run("subnet", func(t *testing.T) {
		r, f := newRefusingRig(t)
		list := r.publicSubnets()
		spare := list[len(list)-1]
		subnets := func(ids ...string) *v1.Service { return service(annotate("subnets", strings.Join(ids, ","))) }
		r.ensure(subnets(list[0], list[1]))
		stop, cancel := context.WithCancel(t.Context())
		r.settings.API = stopping{f, "DetachLoadBalancerFromSubnets", cancel}
		r.restart()
		edited := subnets(spare, list[1])
		if _, err := r.manager.EnsureLoadBalancer(plan.WithStop(t.Context(), stop), clusterName, edited, r.nodes); err == nil {
			t.Error("the plan does not end")
		}
		if have := r.balancer().Subnets; stop.Err() == nil || len(have) != 2 {
			t.Errorf("subnets %v", have)
		}
	})
}

// TestBusyThenRefused replaces a listener and a subnet. AWS is busy when the next one is made, for longer than calls are
// repeated, and refuses it later. What was before comes back.
func TestBusyThenRefused(t *testing.T) {
	t.Run("listener", func(t *testing.T) {
		r, f := newRefusingRig(t)
		r.ensure(service(annotate("ssl-cert", certificate)))
		code := "Throttling"
		f.listeners = func(in []elbtypes.Listener) string {
			if slices.ContainsFunc(in, protocolIs(protocolTCP)) {
				return code
			}
			return ""
		}
		r.ensureError(service())
		if got := r.open(); len(got) > 0 {
			t.Fatalf("listeners %v although AWS is busy", got)
		}
		code = "AccessDenied"
		if err := r.ensureError(service()); !cloudapi.Is(err, cloudapi.Denied) {
			t.Errorf("the error is %v", err)
		}
		want := []string{"SSL:80→30080", "SSL:443→30443"}
		if got := r.open(); !slices.Equal(got, want) {
			t.Errorf("listeners %v, want %v", got, want)
		}
		f.take()
		r.ensureError(service())
		if calls := f.take(); len(calls) > 0 {
			t.Errorf("a further attempt calls %v", calls)
		}
		f.listeners = nil
		r.clock.Step(refusal.FirstAge)
		r.ensure(service())
		if got, want := r.open(), []string{"TCP:80→30080", "TCP:443→30443"}; !slices.Equal(got, want) {
			t.Errorf("listeners %v, want %v", got, want)
		}
	})
	t.Run("a port that is removed and added again", func(t *testing.T) {
		r, f := newRefusingRig(t)
		tls := annotate("ssl-cert", certificate)
		r.ensure(service(tls))
		code := "Throttling"
		f.listeners = func(in []elbtypes.Listener) string {
			if slices.ContainsFunc(in, protocolIs(protocolTCP)) {
				return code
			}
			return ""
		}
		r.ensureError(service())
		r.ensureError(service(func(s *v1.Service) { s.Spec.Ports = s.Spec.Ports[:1] }))
		code = "AccessDenied"
		r.ensureError(service())
		if got, want := r.open(), []string{"SSL:80→30080"}; !slices.Equal(got, want) {
			t.Errorf("listeners %v, want %v", got, want)
		}
	})
	t.Run("subnet", func(t *testing.T) {
		r, f := newRefusingRig(t)
		list := r.publicSubnets()
		spare := list[len(list)-1]
		edited := service(annotate("subnets", spare+","+list[1]))
		r.ensure(service(annotate("subnets", list[0]+","+list[1])))
		code := "Throttling"
		f.subnets = func(in []string) string {
			if slices.Contains(in, spare) {
				return code
			}
			return ""
		}
		r.ensureError(edited)
		if have := r.balancer().Subnets; len(have) != 1 {
			t.Fatalf("subnets %v although AWS is busy", have)
		}
		code = "InvalidSubnet"
		r.ensureError(edited)
		if have := r.balancer().Subnets; !slices.Contains(have, list[0]) {
			t.Errorf("subnets %v, want %s", have, list[0])
		}
	})
}

// TestListenerIsReplacedBesideOneThatIsNot gives one port another node port, which the nodes open at once, and another
// port what AWS does not make.
func TestListenerIsReplacedBesideOneThatIsNot(t *testing.T) {
	moved := func(s *v1.Service) { s.Spec.Ports[0].NodePort = 31080 }
	https := annotate("ssl-ports", "443")
	unknown := annotate("ssl-cert", unknownCertificate)
	policy := annotate("ssl-cert", certificate, "ssl-negotiation-policy", "ELBSecurityPolicy-of-nobody")
	more := func(s *v1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, v1.ServicePort{Name: "x", Protocol: v1.ProtocolTCP, Port: 8080, NodePort: 31808})
	}
	for _, tt := range []struct {
		name string
		// edits are made one after the other.
		edits [][]func(*v1.Service)
		open  []string
		// calls are those of the last edit.
		calls []string
	}{
		{"certificate of another region", [][]func(*v1.Service){{moved, https, annotate("ssl-cert", foreignRegion)}},
			[]string{"TCP:80→31080", "TCP:443→30443"}, []string{"delete 80", "create TCP:80"}},
		{"certificate of another region on a new port", [][]func(*v1.Service){{moved, more, annotate("ssl-cert", foreignRegion, "ssl-ports", "8080")}},
			[]string{"TCP:80→31080", "TCP:443→30443"}, []string{"delete 80", "create TCP:80 SSL:8080", "create TCP:80", "create SSL:8080"}},
		{"unknown policy", [][]func(*v1.Service){{moved, https, policy}},
			[]string{"TCP:80→31080", "TCP:443→30443"}, []string{"delete 80", "create TCP:80"}},
		{"refused before", [][]func(*v1.Service){{https, unknown}, {https, unknown, moved}},
			[]string{"TCP:80→31080", "TCP:443→30443"}, []string{"delete 80", "create TCP:80"}},
		{"new port beside a refused one", [][]func(*v1.Service){{https, unknown}, {https, unknown, more}},
			[]string{"TCP:80→30080", "TCP:443→30443", "TCP:8080→31808"}, []string{"create TCP:8080"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, f := newRefusingRig(t)
			r.ensure(service())
			f.policy = "InvalidConfigurationRequest"
			for _, edit := range tt.edits {
				f.take()
				if err := r.ensureError(service(edit...)); !cloudapi.Is(err, cloudapi.Invalid) {
					t.Errorf("the error is %v", err)
				}
			}
			if got := f.take(); !slices.Equal(got, tt.calls) {
				t.Errorf("calls %q, want %q", got, tt.calls)
			}
			if got := r.open(); !slices.Equal(got, tt.open) {
				t.Errorf("listeners %v, want %v", got, tt.open)
			}
		})
	}
}

// TestDeletionOfListenerSettles replaces listeners while AWS still has those that it has deleted.
func TestDeletionOfListenerSettles(t *testing.T) {
	r, f := newRefusingRig(t)
	r.ensure(service(annotate("ssl-cert", certificate)))
	duplicates := 4
	f.listeners = func(in []elbtypes.Listener) string {
		if duplicates--; duplicates >= 0 && slices.ContainsFunc(in, protocolIs(protocolTCP)) {
			return "DuplicateListener"
		}
		return ""
	}
	r.ensure(service())
	if got, want := r.open(), []string{"TCP:80→30080", "TCP:443→30443"}; !slices.Equal(got, want) {
		t.Errorf("listeners %v, want %v", got, want)
	}
}

// TestSubnetIsReplacedBesideARefusedOne lists another subnet in one zone, which AWS refuses, and later in another zone.
func TestSubnetIsReplacedBesideARefusedOne(t *testing.T) {
	r, f := newRefusingRig(t)
	list := r.publicSubnets()
	full := list[len(list)-1]
	zones, err := r.ec2.DescribeSubnets(t.Context(), &ec2.DescribeSubnetsInput{SubnetIds: list[1:2]})
	if err != nil {
		t.Fatal(err)
	}
	other, err := r.sim.AddSubnet(*zones.Subnets[0].AvailabilityZone, netip.MustParsePrefix("10.0.50.0/24"), true, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.subnets = func(in []string) string {
		if slices.Contains(in, full) {
			return "InvalidSubnet"
		}
		return ""
	}
	r.ensure(service(annotate("subnets", strings.Join(list[:3], ","))))
	r.ensureError(service(annotate("subnets", strings.Join([]string{full, list[1], list[2]}, ","))))
	edited := service(annotate("subnets", strings.Join([]string{full, other, list[2]}, ",")))
	r.mutations()
	r.ensureError(edited)
	want := []string{list[0], other, list[2]}
	if have := r.balancer().Subnets; !slices.Equal(slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(want))) {
		t.Errorf("subnets %v, want %v", have, want)
	}
	if got, want := r.mutations(), []string{"DetachLoadBalancerFromSubnets", "AttachLoadBalancerToSubnets"}; !slices.Equal(got, want) {
		t.Errorf("calls %v, want %v", got, want)
	}
	f.subnets = nil
	r.clock.Step(refusal.FirstAge)
	r.ensure(edited)
	if have := r.balancer().Subnets; !slices.Contains(have, full) || len(have) != 3 {
		t.Errorf("subnets %v, want %s", have, full)
	}
}

// TestLostReplyIsNotUnfinished replaces a listener, and loses all replies of AWS. Later a user deletes the new one: it
// replaces nothing, so that it is made again without an approval.
func TestLostReplyIsNotUnfinished(t *testing.T) {
	r, _ := newRefusingRig(t)
	r.ensure(service())
	edited := service(annotate("ssl-cert", certificate))
	r.setFault(kit.Fault{Kind: kit.FaultLostReply, Operation: "CreateLoadBalancerListeners", Times: kit.Always})
	r.ensureError(edited)
	r.sim.Front().SetFaults()
	r.ensure(edited)
	if _, err := r.elb.DeleteLoadBalancerListeners(t.Context(), &elb.DeleteLoadBalancerListenersInput{
		LoadBalancerName: r.balancer().LoadBalancerName, LoadBalancerPorts: []int32{80}}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Hour)
	r.ensure(edited)
	if got, want := r.open(), []string{"SSL:80→30080", "SSL:443→30443"}; !slices.Equal(got, want) {
		t.Errorf("listeners %v, want %v", got, want)
	}
}

// TestRevertedListenerHasItsPolicy replaces a listener with a TLS policy while AWS is busy, and reverts that. Without the
// policy, the listener would accept older versions of TLS until the next sync.
func TestRevertedListenerHasItsPolicy(t *testing.T) {
	r, f := newRefusingRig(t)
	tls := service(annotate("ssl-cert", certificate, "ssl-negotiation-policy", "ELBSecurityPolicy-TLS-1-2-2017-01"))
	r.ensure(tls)
	want := r.listeners()
	f.listeners = func([]elbtypes.Listener) string { return "Throttling" }
	r.ensureError(service())
	if got := r.open(); len(got) > 0 {
		t.Fatalf("listeners %v although AWS is busy", got)
	}
	f.listeners = nil
	r.ensure(tls)
	if got := r.listeners(); !reflect.DeepEqual(got, want) {
		t.Errorf("listeners %+v, want %+v", got, want)
	}
}
