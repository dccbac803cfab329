package vpc

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

func subnet(id, zone string, change ...func(*Subnet)) Subnet {
	s := Subnet{ID: id, Zone: zone, Public: true, ZoneType: zoneTypeStandard, CIDR4: netip.MustParsePrefix("10.0.0.0/20")}
	for _, f := range change {
		f(&s)
	}
	return s
}

func private(s *Subnet)           { s.Public = false }
func role(s *Subnet)              { s.RoleELB = true }
func roleInt(s *Subnet)           { s.RoleInternal = true }
func tagged(s *Subnet)            { s.ClusterTagged = true }
func foreign(s *Subnet)           { s.ForeignTagged = true }
func dual(s *Subnet)              { s.CIDR6 = prefixes("2001:db8::/64") }
func isLocal(s *Subnet)           { s.ZoneType = "local-zone" }
func noType(s *Subnet)            { s.ZoneType = "" }
func name(n string) func(*Subnet) { return func(s *Subnet) { s.Name = n } }

func TestSelect(t *testing.T) {
	const key = "subnets"
	for _, tc := range []struct {
		name     string
		subnets  []Subnet
		fallback string
		request  Request
		want     []string
		problem  []string
	}{
		{name: "one of each zone, by zone", subnets: []Subnet{subnet("subnet-1", "b"), subnet("subnet-2", "a"), subnet("subnet-3", "a")}, want: []string{"subnet-2", "subnet-1"}},
		{name: "role before cluster before ID", subnets: []Subnet{subnet("subnet-1", "a"), subnet("subnet-2", "a", tagged), subnet("subnet-3", "a", role)}, want: []string{"subnet-3"}},
		{name: "cluster before ID", subnets: []Subnet{subnet("subnet-1", "a"), subnet("subnet-2", "a", tagged)}, want: []string{"subnet-2"}},
		{name: "a public load balancer wants public subnets", subnets: []Subnet{subnet("subnet-1", "a", private), subnet("subnet-2", "b")}, want: []string{"subnet-2"}},
		{name: "an internal one takes either", subnets: []Subnet{subnet("subnet-1", "a"), subnet("subnet-2", "b", private)}, request: Request{Scheme: intent.Internal}, want: []string{"subnet-1", "subnet-2"}},
		{name: "an internal one prefers its role", subnets: []Subnet{subnet("subnet-1", "a", role), subnet("subnet-2", "a", private, roleInt)}, request: Request{Scheme: intent.Internal}, want: []string{"subnet-2"}},
		{name: "other clusters' subnets are theirs", subnets: []Subnet{subnet("subnet-1", "a", foreign), subnet("subnet-2", "b")}, want: []string{"subnet-2"}},
		{name: "local zones are left out", subnets: []Subnet{subnet("subnet-1", "a", isLocal), subnet("subnet-2", "b", noType)}, want: []string{"subnet-2"}},
		{name: "fallback", subnets: []Subnet{subnet("subnet-1", "a", foreign), subnet("subnet-2", "b", foreign)}, fallback: "subnet-2", want: []string{"subnet-2"}},
		{name: "IPv6", subnets: []Subnet{subnet("subnet-1", "a"), subnet("subnet-2", "a", dual)}, request: Request{Family6: true}, want: []string{"subnet-2"}},
		{name: "none", subnets: []Subnet{subnet("subnet-1", "a", private)}, problem: []string{key, "internet gateway"}},
		{name: "listed, in the order written", subnets: []Subnet{subnet("subnet-1", "a"), subnet("subnet-2", "b", name("two")), subnet("subnet-3", "c", private)},
			request: Request{IDsOrNames: []string{"subnet-3", "two", "subnet-1"}}, want: []string{"subnet-3", "subnet-2", "subnet-1"}},
		{name: "listed twice in a zone", subnets: []Subnet{subnet("subnet-1", "a"), subnet("subnet-2", "a", name("two"))}, request: Request{IDsOrNames: []string{"subnet-1", "two"}}, problem: []string{key, "subnet-1", "subnet-2 (two)", "zone a"}},
		{name: "listed and unknown", subnets: []Subnet{subnet("subnet-1", "a")}, request: Request{IDsOrNames: []string{"subnet-9", "unknown"}}, problem: []string{key, "subnet-9", "unknown"}},
		{name: "an ambiguous name", subnets: []Subnet{subnet("subnet-1", "a", name("x")), subnet("subnet-2", "b", name("x"))}, request: Request{IDsOrNames: []string{"x"}}, problem: []string{key, "subnet-1, subnet-2"}},
		{name: "an empty list", subnets: []Subnet{subnet("subnet-1", "a")}, request: Request{IDsOrNames: []string{}}, problem: []string{key}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.request.Annotation = key
			got, err := Select(SharedState{VPC: "vpc-1", Subnets: tc.subnets, FallbackSubnet: tc.fallback}, tc.request)
			var list []string
			for _, s := range got {
				list = append(list, s.ID)
			}
			if len(tc.problem) == 0 && (err != nil || !slices.Equal(list, tc.want)) {
				t.Fatalf("got %v, %v, want %v", list, err, tc.want)
			}
			if len(tc.problem) > 0 && !cloudapi.Is(err, cloudapi.Invalid) {
				t.Fatalf("got %v, %v, want a problem", list, err)
			}
			for _, text := range tc.problem {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the message does not say %q: %v", text, err)
				}
			}
		})
	}
}
