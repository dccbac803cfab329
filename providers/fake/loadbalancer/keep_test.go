package loadbalancer

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// What is held stays, and the rest of the same edit is planned.
func TestKeep(t *testing.T) {
	t.Parallel()
	affinity := func(in *intent.Service) { in.ClientIPAffinity = 60e9 } // the rest of each edit
	ports := func(numbers ...int32) func(*intent.Service) {
		return func(in *intent.Service) {
			in.Ports = nil
			for _, n := range numbers {
				in.Ports = append(in.Ports, intent.Port{Protocol: v1.ProtocolTCP, Port: n, NodePort: 30000 + n})
			}
		}
	}
	pool := []string{"update pool tcp-80"}
	tests := map[string]struct {
		was, edit func(*intent.Service)
		// changed changes what exists by hand; may be nil.
		changed func(*Observed)
		// rest is the plan that keeps everything disruptive.
		rest []string
	}{
		"a listener is deleted":    {ports(80, 443), ports(80), nil, pool},
		"source ranges":            {ports(80), func(in *intent.Service) { in.SourceRanges = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }, nil, pool},
		"the scheme":               {ports(80), func(in *intent.Service) { in.Scheme = intent.Internal }, nil, pool},
		"the scheme, to public":    {func(in *intent.Service) { in.Scheme = intent.Internal }, func(in *intent.Service) { in.Scheme = intent.Public }, nil, pool},
		"an address":               {ports(80), func(in *intent.Service) { in.StaticAddresses = []string{"198.51.100.99"} }, nil, pool},
		"a further port, as usual": {ports(80), ports(80, 8443), nil, []string{"create pool tcp-8443", "update pool tcp-80", "create listener tcp-8443"}},
		"the families of an internal load balancer": {func(in *intent.Service) { in.Scheme = intent.Internal },
			func(in *intent.Service) { in.Families = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} }, nil, pool},
		"a listener with another name on a wanted port": {ports(80, 443), ports(80, 443),
			func(have *Observed) { have.LoadBalancer.Listeners[1].Name = "by-hand" },
			[]string{"update pool tcp-80", "update pool tcp-443"}},
		"a listener with a wanted name on another port": {ports(80, 443), ports(80, 443),
			func(have *Observed) { have.LoadBalancer.Listeners[1].Port = 8443 },
			[]string{"update pool tcp-80", "update pool tcp-443"}},
		"an address, beside one that is not in use": {ports(80), func(in *intent.Service) { in.StaticAddresses = []string{"198.51.100.99"} },
			func(have *Observed) {
				unused := have.Addresses[0]
				unused.ID, unused.Name, unused.IP, unused.LoadBalancer = "addr-9", "unused", "198.51.100.9", ""
				have.Addresses = append(have.Addresses, unused)
			}, []string{"update pool tcp-80", "delete address unused"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have := existing(mustDesire(t, web(ports(80), test.was), twoTargets()))
			want := mustDesire(t, web(ports(80), test.was, test.edit, affinity), twoTargets())
			if test.changed != nil {
				test.changed(&have)
			}
			cloud := New(nilAPI{}, nil, nil)
			before, err := cloud.Diff(testKey(), &want, have)
			if err != nil {
				t.Fatal(err)
			}
			if held := before.Differences(); len(held) > 0 {
				kept := cloud.Keep(want, have, held)
				same := mustDesire(t, web(ports(80), test.was, test.edit, affinity), twoTargets())
				if diff := cmp.Diff(same, want, cmp.AllowUnexported(Desired{}), cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})); diff != "" {
					t.Errorf("Keep changed the desired state (-want +got):\n%s", diff)
				}
				want = kept
			}
			p, err := cloud.Diff(testKey(), &want, have)
			if err != nil || len(p.Differences()) > 0 {
				t.Fatalf("differences %v, error %v", p.Differences(), err)
			}
			var got []string
			for _, c := range p.Changes {
				got = append(got, c.String())
			}
			if diff := cmp.Diff(test.rest, got); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// Of two listeners, only the one that is held keeps its source ranges.
func TestKeepOneOfTwoListeners(t *testing.T) {
	t.Parallel()
	two := func(in *intent.Service) {
		in.Ports = append(in.Ports, intent.Port{Protocol: v1.ProtocolTCP, Port: 443, NodePort: 30443})
	}
	closed := func(in *intent.Service) { in.SourceRanges = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }
	have := existing(mustDesire(t, web(two), twoTargets()))
	want := mustDesire(t, web(two, closed), twoTargets())
	cloud := New(nilAPI{}, nil, nil)
	held := plan.Difference{Kind: kindListener, Object: "tcp-443", Field: "sourceRanges", Wanted: "10.0.0.0/8"}
	kept := cloud.Keep(want, have, []plan.Difference{held})
	p, err := cloud.Diff(testKey(), &kept, have)
	if err != nil {
		t.Fatal(err)
	}
	if left := p.Differences(); len(left) == 0 || slices.ContainsFunc(left, held.Same) {
		t.Errorf("differences %v", left)
	}
}
