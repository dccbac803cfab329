package classic

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	"github.com/aws/smithy-go"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/refusal"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

const (
	unknownCertificate = "arn:aws:acm:us-west-2:123456789012:certificate/00000000-1234-1234-1234-123456789012"
	foreignRegion      = "arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012"
)

// refusing answers the creation of listeners and policies and the attachment of subnets with error codes. AWS answers if
// they are nil or "".
type refusing struct {
	api.ELB
	calls     []string
	listeners func(in []elbtypes.Listener) string
	subnets   func(in []string) string
	policy    string
}

func (f *refusing) CreateLoadBalancerListeners(ctx context.Context, in *elb.CreateLoadBalancerListenersInput,
	o ...func(*elb.Options)) (*elb.CreateLoadBalancerListenersOutput, error) {
	text := "create"
	for _, l := range in.Listeners {
		text += fmt.Sprintf(" %s:%d", *l.Protocol, l.LoadBalancerPort)
	}
	f.calls = append(f.calls, text)
	if f.listeners != nil {
		if code := f.listeners(in.Listeners); code != "" {
			return nil, &smithy.GenericAPIError{Code: code, Message: "refused"}
		}
	}
	return f.ELB.CreateLoadBalancerListeners(ctx, in, o...)
}

func (f *refusing) DeleteLoadBalancerListeners(ctx context.Context, in *elb.DeleteLoadBalancerListenersInput,
	o ...func(*elb.Options)) (*elb.DeleteLoadBalancerListenersOutput, error) {
	f.calls = append(f.calls, "delete "+strings.Trim(fmt.Sprint(in.LoadBalancerPorts), "[]"))
	return f.ELB.DeleteLoadBalancerListeners(ctx, in, o...)
}

func (f *refusing) AttachLoadBalancerToSubnets(ctx context.Context, in *elb.AttachLoadBalancerToSubnetsInput,
	o ...func(*elb.Options)) (*elb.AttachLoadBalancerToSubnetsOutput, error) {
	if f.subnets != nil {
		if code := f.subnets(in.Subnets); code != "" {
			return nil, &smithy.GenericAPIError{Code: code, Message: "refused"}
		}
	}
	return f.ELB.AttachLoadBalancerToSubnets(ctx, in, o...)
}

func (f *refusing) CreateLoadBalancerPolicy(ctx context.Context, in *elb.CreateLoadBalancerPolicyInput,
	o ...func(*elb.Options)) (*elb.CreateLoadBalancerPolicyOutput, error) {
	if f.policy != "" {
		return nil, &smithy.GenericAPIError{Code: f.policy, Message: "refused"}
	}
	return f.ELB.CreateLoadBalancerPolicy(ctx, in, o...)
}

// take returns the calls for listeners since the last time.
func (f *refusing) take() []string {
	calls := f.calls
	f.calls = nil
	return calls
}

// skipping is a clock on which waiting takes no time, and time passes all the same.
type skipping struct{ *clocktesting.FakeClock }

func (h skipping) NewTimer(d time.Duration) clock.Timer {
	timer := h.FakeClock.NewTimer(d)
	h.Step(d)
	return timer
}

// newRefusingRig returns a rig of a cloud with some certificates that may refuse calls.
func newRefusingRig(t *testing.T) (*rig, *refusing) {
	f := &refusing{}
	return newRig(t, sim.Options{Certificates: []string{certificate, otherCertificate}}, func(o *Options) {
		f.ELB, o.API = o.API, f
	}), f
}

// open returns the listeners of the load balancer as text.
func (r *rig) open() []string {
	r.t.Helper()
	var open []string
	for _, l := range r.listeners() {
		open = append(open, fmt.Sprintf("%s:%d→%d", *l.Listener.Protocol, l.Listener.LoadBalancerPort, *l.Listener.InstancePort))
	}
	return open
}

// hasProxy reports whether a node port gets the PROXY protocol.
func (r *rig) hasProxy(port int32) bool {
	r.t.Helper()
	return slices.ContainsFunc(r.balancer().BackendServerDescriptions, func(b elbtypes.BackendServerDescription) bool {
		return *b.InstancePort == port && len(b.PolicyNames) == 1
	})
}

func protocolIs(protocol string) func(elbtypes.Listener) bool {
	return func(l elbtypes.Listener) bool { return *l.Protocol == protocol }
}

// listeners returns the listeners of the load balancer with their policies, by port.
func (r *rig) listeners() []elbtypes.ListenerDescription {
	r.t.Helper()
	list := r.balancer().ListenerDescriptions
	slices.SortFunc(list, func(a, b elbtypes.ListenerDescription) int {
		return int(a.Listener.LoadBalancerPort - b.Listener.LoadBalancerPort)
	})
	return list
}

// TestPortsStayOpenIfTheirNextListenersAreRefused edits a Service so that its listeners are replaced by those with a
// certificate that AWS does not have.
func TestPortsStayOpenIfTheirNextListenersAreRefused(t *testing.T) {
	policy := annotate("ssl-negotiation-policy", "ELBSecurityPolicy-TLS-1-2-2017-01")
	for name, before := range map[string]*v1.Service{
		"TCP": service(),
		"TLS": service(annotate("ssl-cert", certificate, "backend-protocol", "https"), policy),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, sim.Options{Certificates: []string{certificate, otherCertificate}})
			r.ensure(before)
			want := r.listeners()
			r.mutations()
			edited := service(annotate("ssl-cert", unknownCertificate), policy)
			refused := func() {
				t.Helper()
				err := r.ensureError(edited)
				if !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), unknownCertificate) {
					t.Errorf("the error is %v", err)
				}
			}
			refused()
			if got := r.listeners(); !reflect.DeepEqual(got, want) {
				t.Errorf("listeners %+v, want %+v", got, want)
			}
			if !slices.Contains(r.mutations(), "DeleteLoadBalancerListeners") {
				t.Error("AWS is not requested to replace the listeners")
			}
			for range 2 {
				r.clock.Step(refusal.FirstAge / 3)
				refused()
				if calls := r.mutations(); len(calls) > 0 {
					t.Errorf("a further attempt calls %v", calls)
				}
			}
			r.clock.Step(refusal.FirstAge / 3)
			refused()
			if !slices.Contains(r.mutations(), "DeleteLoadBalancerListeners") {
				t.Error("it is never tried again")
			}
			if got := r.listeners(); !reflect.DeepEqual(got, want) {
				t.Errorf("listeners %+v, want %+v", got, want)
			}
			edited = service(annotate("ssl-cert", otherCertificate), policy)
			r.ensure(edited)
			for _, l := range r.listeners() {
				if *l.Listener.Protocol != "SSL" || *l.Listener.SSLCertificateId != otherCertificate {
					t.Errorf("listener %+v", *l.Listener)
				}
			}
			if p := r.remaining(edited); !p.Empty() {
				t.Errorf("left to do: %v", p.Changes)
			}
		})
	}
}

// TestInvalidSettingsCloseNoPort verifies that nothing is deleted for a certificate that AWS refuses in any case, or for a
// policy that it does not have.
func TestInvalidSettingsCloseNoPort(t *testing.T) {
	const policy = "ELBSecurityPolicy-of-nobody"
	for name, tt := range map[string]struct {
		edit func(*v1.Service)
		text string
	}{
		"certificate of another region": {annotate("ssl-cert", foreignRegion), foreignRegion[:40]},
		"unknown policy":                {annotate("ssl-cert", certificate, "ssl-negotiation-policy", policy), policy},
	} {
		t.Run(name, func(t *testing.T) {
			r, f := newRefusingRig(t)
			r.ensure(service())
			f.policy = "InvalidConfigurationRequest"
			for range 2 {
				r.mutations()
				if err := r.ensureError(service(tt.edit)); !cloudapi.Is(err, cloudapi.Invalid) ||
					!strings.Contains(err.Error(), tt.text) {
					t.Errorf("the error is %v", err)
				}
				if calls := r.mutations(); len(calls) > 0 {
					t.Errorf("it calls %v", calls)
				}
			}
			if got := r.listeners(); *got[0].Listener.Protocol != protocolTCP {
				t.Errorf("listener %+v", *got[0].Listener)
			}
		})
	}
}

// fill uses all free addresses of a subnet.
func (r *rig) fill(subnet string) (release func()) {
	r.t.Helper()
	var names []string
	for i := range 20 {
		name := "fill-" + strconv.Itoa(i)
		_, err := r.elb.CreateLoadBalancer(r.t.Context(), &elb.CreateLoadBalancerInput{
			LoadBalancerName: &name, Subnets: []string{subnet}, Listeners: toListeners([]Listener{{
				Protocol: protocolTCP, Port: 80, InstanceProtocol: protocolTCP, InstancePort: 80}})})
		if err != nil {
			break
		}
		names = append(names, name)
	}
	return func() {
		for _, name := range names {
			in := &elb.DeleteLoadBalancerInput{LoadBalancerName: &name}
			if _, err := r.elb.DeleteLoadBalancer(r.t.Context(), in); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// TestZoneStaysServedIfItsNextSubnetIsFull lists another subnet of a zone, without free addresses.
func TestZoneStaysServedIfItsNextSubnetIsFull(t *testing.T) {
	r := newRig(t, sim.Options{})
	list := r.publicSubnets()
	network := netip.MustParsePrefix("10.0.49.0/28")
	full, err := r.sim.AddSubnet("us-west-2a", network, true, map[string]string{"Name": "full"})
	if err != nil {
		t.Fatal(err)
	}
	subnets := func(ids ...string) *v1.Service { return service(annotate("subnets", strings.Join(ids, ","))) }
	r.ensure(subnets(list[0], list[1]))
	release := r.fill(full)
	r.mutations()
	edited := subnets(full, list[1])
	check := func(calls ...string) {
		t.Helper()
		r.ensureError(edited)
		if got := r.mutations(); !slices.Equal(got, calls) {
			t.Errorf("calls %v, want %v", got, calls)
		}
		in := &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{strings.TrimPrefix(managedName, "k8s-elb-")}}
		out, err := r.elb.DescribeLoadBalancers(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		have := out.LoadBalancerDescriptions[0].Subnets
		if len(have) != 2 || !slices.Contains(have, list[0]) || !slices.Contains(have, list[1]) {
			t.Errorf("subnets %v, want %v", have, list[:2])
		}
	}
	check("DetachLoadBalancerFromSubnets", "AttachLoadBalancerToSubnets", "AttachLoadBalancerToSubnets")
	check()
	release()
	r.mutations()
	check()
	r.clock.Step(refusal.FirstAge)
	r.ensure(edited)
	if have := r.balancer().Subnets; !slices.Contains(have, full) || slices.Contains(have, list[0]) {
		t.Errorf("subnets %v, want %s instead of %s", have, full, list[0])
	}
}

// TestRefusedReplacementIsUndone replaces a listener and a subnet. What was before comes back after every answer that
// means that AWS has not made the new one.
func TestRefusedReplacementIsUndone(t *testing.T) {
	for code, isUndone := range map[string]bool{
		"AccessDenied": true, "UnauthorizedOperation": true, "InvalidConfigurationRequest": true, "CertificateNotFound": true,
		"OperationNotPermitted": true, "TooManyLoadBalancers": true, "Throttling": false, "InternalFailure": false,
	} {
		t.Run("listener/"+code, func(t *testing.T) {
			r, f := newRefusingRig(t)
			r.ensure(service(annotate("ssl-cert", certificate)))
			f.listeners = func(in []elbtypes.Listener) string {
				if slices.ContainsFunc(in, protocolIs(protocolTCP)) {
					return code
				}
				return ""
			}
			r.ensureError(service())
			var want []string
			if isUndone {
				want = []string{"SSL:80→30080", "SSL:443→30443"}
			}
			if got := r.open(); !slices.Equal(got, want) {
				t.Errorf("listeners %v, want %v", got, want)
			}
			f.listeners = nil
			r.clock.Step(refusal.FirstAge)
			r.ensure(service())
		})
		t.Run("subnet/"+code, func(t *testing.T) {
			r, f := newRefusingRig(t)
			list := r.publicSubnets()
			spare := list[len(list)-1]
			subnets := func(ids ...string) *v1.Service { return service(annotate("subnets", strings.Join(ids, ","))) }
			r.ensure(subnets(list[0], list[1]))
			f.subnets = func(in []string) string {
				if slices.Contains(in, spare) {
					return code
				}
				return ""
			}
			r.ensureError(subnets(spare, list[1]))
			if got := slices.Contains(r.balancer().Subnets, list[0]); got != isUndone {
				t.Errorf("the subnet before serves its zone: %t, want %t", got, isUndone)
			}
			f.subnets = nil
			r.clock.Step(refusal.FirstAge)
			r.ensure(subnets(spare, list[1]))
		})
	}
}

// TestRefusedListenerLeavesTheOthers gives one port another node port and one a certificate that AWS does not have.
func TestRefusedListenerLeavesTheOthers(t *testing.T) {
	proxy := annotate("proxy-protocol", "*")
	edited := service(proxy, annotate("ssl-cert", unknownCertificate, "ssl-ports", "443"),
		func(s *v1.Service) { s.Spec.Ports[0].NodePort = 31080 })
	first := []string{"delete 80 443", "create TCP:80 SSL:443", "create TCP:80", "create SSL:443", "create TCP:443"}
	all, one := []string{"TCP:80→31080", "TCP:443→30443"}, []string{"TCP:80→31080"}
	for _, tt := range []struct {
		name string
		// codes are answers to restoring.
		codes []string
		// lost deletes all listeners as a process that ends before it creates any, and restarts it.
		lost              bool
		calls, open, then []string
	}{
		{"once", nil, false, first, all, nil},
		{"busy while the other is restored", []string{"Throttling", "InternalFailure"}, false,
			append(slices.Clone(first), "create TCP:443", "create TCP:443"), all, nil},
		{"busy for long", slices.Repeat([]string{"Throttling"}, 4), false,
			append(slices.Clone(first), "create TCP:443", "create TCP:443", "create TCP:443"), one,
			[]string{"create SSL:443", "create TCP:443"}},
		{"restoring refused", []string{"AccessDenied"}, false, first, one, []string{"create SSL:443", "create TCP:443"}},
		{"after a restart", nil, true, first[1:4], one, []string{"create SSL:443"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, f := newRefusingRig(t)
			r.ensure(service(proxy))
			if tt.lost {
				name := *r.balancer().LoadBalancerName
				if _, err := r.elb.DeleteLoadBalancerListeners(t.Context(), &elb.DeleteLoadBalancerListenersInput{
					LoadBalancerName: &name, LoadBalancerPorts: []int32{80, 443}}); err != nil {
					t.Fatal(err)
				}
				r.restart()
			}
			f.take()
			f.listeners = func(in []elbtypes.Listener) (code string) {
				if len(tt.codes) > 0 && in[0].LoadBalancerPort == 443 && *in[0].Protocol == protocolTCP {
					code, tt.codes = tt.codes[0], tt.codes[1:]
				}
				return code
			}
			for i, calls := range [][]string{tt.calls, tt.then} {
				if i > 0 && !tt.lost {
					tt.open = all
				}
				err := r.ensureError(edited)
				if !cloudapi.Is(err, cloudapi.Invalid) || !strings.Contains(err.Error(), unknownCertificate) {
					t.Errorf("the error is %v", err)
				}
				if got := f.take(); !slices.Equal(got, calls) {
					t.Errorf("calls %q, want %q", got, calls)
				}
				if got := r.open(); !slices.Equal(got, tt.open) {
					t.Errorf("listeners %v, want %v", got, tt.open)
				}
				if !r.hasProxy(31080) {
					t.Error("the new node port does not get the PROXY protocol")
				}
			}
		})
	}
}

// TestRefusedListenersAreTriedAgain verifies when a listener that AWS refused is tried again.
func TestRefusedListenersAreTriedAgain(t *testing.T) {
	tls := annotate("ssl-cert", certificate, "ssl-ports", "443")
	edited := service(tls)
	more := func(s *v1.Service) {
		s.Spec.Ports = append(s.Spec.Ports, v1.ServicePort{Name: "x", Protocol: v1.ProtocolTCP, Port: 8080, NodePort: 31808})
	}
	refused := func(t *testing.T, before, edited *v1.Service) (*rig, *refusing) {
		r, f := newRefusingRig(t)
		r.ensure(before)
		f.listeners = func(in []elbtypes.Listener) string {
			if slices.ContainsFunc(in, protocolIs(protocolSSL)) {
				return "CertificateNotFound"
			}
			return ""
		}
		const until = "not tried again before 2026-01-01T00:01:00Z"
		for range 2 {
			f.take()
			if err := r.ensureError(edited); !strings.Contains(err.Error(), until) {
				t.Errorf("the error is %v, want %s", err, until)
			}
		}
		if calls := f.take(); len(calls) > 0 {
			t.Errorf("a further attempt calls %q", calls)
		}
		return r, f
	}
	t.Run("less and less often", func(t *testing.T) {
		r, f := refused(t, service(), edited)
		for age := refusal.FirstAge; ; age = min(2*age, refusal.LastAge) {
			r.clock.Step(age - time.Second)
			r.ensureError(edited)
			if calls := f.take(); len(calls) > 0 {
				t.Fatalf("before %s have passed: %q", age, calls)
			}
			r.clock.Step(time.Second)
			r.ensureError(edited)
			if calls := f.take(); len(calls) == 0 {
				t.Fatalf("not tried after %s", age)
			}
			if age == refusal.LastAge {
				break
			}
		}
	})
	t.Run("certificate issued", func(t *testing.T) {
		r, f := refused(t, service(), edited)
		f.listeners = nil
		r.clock.Step(refusal.FirstAge)
		r.ensure(edited)
	})
	t.Run("reverted and set again", func(t *testing.T) {
		r, f := refused(t, service(), edited)
		f.listeners = nil
		r.ensure(service())
		if calls := f.take(); len(calls) > 0 {
			t.Errorf("the revert calls %q", calls)
		}
		r.ensure(edited)
	})
	t.Run("another port gets the PROXY protocol", func(t *testing.T) {
		r, f := refused(t, service(), edited)
		r.ensureError(service(tls, annotate("proxy-protocol", "*")))
		if calls := f.take(); len(calls) > 0 || !r.hasProxy(30080) {
			t.Errorf("calls %q, the PROXY protocol is on: %t", calls, r.hasProxy(30080))
		}
	})
	t.Run("another port is removed", func(t *testing.T) {
		r, f := refused(t, service(more), service(more, tls))
		if err := r.ensureError(edited); !cloudapi.Is(err, cloudapi.Invalid) {
			t.Errorf("the error is %v", err)
		}
		if got, want := r.open(), []string{"TCP:80→30080", "TCP:443→30443"}; !slices.Equal(got, want) {
			t.Errorf("listeners %v, want %v", got, want)
		}
		if got, want := f.take(), []string{"delete 8080"}; !slices.Equal(got, want) {
			t.Errorf("calls %q, want %q", got, want)
		}
	})
}
