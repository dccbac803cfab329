package loadbalancer

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
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
		// rest is the plan that keeps everything disruptive.
		rest []string
	}{
		"a listener is deleted":    {ports(80, 443), ports(80), pool},
		"source ranges":            {ports(80), func(in *intent.Service) { in.SourceRanges = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} }, pool},
		"the scheme":               {ports(80), func(in *intent.Service) { in.Scheme = intent.Internal }, pool},
		"the scheme, to public":    {func(in *intent.Service) { in.Scheme = intent.Internal }, func(in *intent.Service) { in.Scheme = intent.Public }, pool},
		"an address":               {ports(80), func(in *intent.Service) { in.StaticAddresses = []string{"198.51.100.99"} }, pool},
		"a further port, as usual": {ports(80), ports(80, 8443), []string{"create pool tcp-8443", "update pool tcp-80", "create listener tcp-8443"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			have := existing(mustDesire(t, web(ports(80), test.was), twoTargets()))
			want := mustDesire(t, web(ports(80), test.was, test.edit, affinity), twoTargets())
			cloud := New(nilAPI{}, nil, nil)
			before, err := cloud.Diff(testKey(), &want, have)
			if err != nil {
				t.Fatal(err)
			}
			if held := before.Differences(); len(held) > 0 {
				want = cloud.Keep(want, have, held)
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
