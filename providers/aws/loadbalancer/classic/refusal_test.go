package classic

import (
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

const (
	unknownCertificate = "arn:aws:acm:us-west-2:123456789012:certificate/00000000-1234-1234-1234-123456789012"
	foreignRegion      = "arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012"
)

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
				r.clock.Step(refusalAge / 3)
				refused()
				if calls := r.mutations(); len(calls) > 0 {
					t.Errorf("a further attempt calls %v", calls)
				}
			}
			r.clock.Step(refusalAge / 3)
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

// TestCertificateOfAnotherRegionClosesNoPort verifies that nothing is deleted for a certificate that AWS refuses in any
// case.
func TestCertificateOfAnotherRegionClosesNoPort(t *testing.T) {
	r := newRig(t, sim.Options{})
	r.ensure(service())
	r.mutations()
	if err := r.ensureError(service(annotate("ssl-cert", foreignRegion))); !cloudapi.Is(err, cloudapi.Invalid) ||
		!strings.Contains(err.Error(), foreignRegion[:40]) {
		t.Errorf("the error is %v", err)
	}
	if calls := r.mutations(); len(calls) > 0 {
		t.Errorf("it calls %v", calls)
	}
	if got := r.listeners(); *got[0].Listener.Protocol != protocolTCP {
		t.Errorf("listener %+v", *got[0].Listener)
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
	r.clock.Step(refusalAge)
	r.ensure(edited)
	if have := r.balancer().Subnets; !slices.Contains(have, full) || slices.Contains(have, list[0]) {
		t.Errorf("subnets %v, want %s instead of %s", have, full, list[0])
	}
}
