package model

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
)

func TestMemberSubnetDefaultsToPlace(t *testing.T) {
	const a, b, c, d = "a", "b", "c", "d"
	for _, tt := range []struct {
		name                   string
		internal               bool
		own                    string
		class, configured      string
		wantSubnet, wantMember string
	}{
		{name: "the configuration's", configured: a, wantSubnet: a, wantMember: a},
		{name: "the Service's own before the configuration's", own: b, configured: a, wantSubnet: b, wantMember: a},
		{name: "the class's before the Service's own, external", own: b, class: c, configured: a, wantSubnet: c, wantMember: a},
		{name: "the Service's own before the class's, internal", internal: true, own: b, class: c, configured: a, wantSubnet: b, wantMember: a},
		{name: "the nodes'", wantSubnet: d, wantMember: d},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := builder{settings: Settings{Place: Place{SubnetID: tt.configured}}, class: Place{SubnetID: tt.class}, internal: tt.internal, shared: SharedState{NodeSubnets: map[v1.IPFamily]string{v1.IPv4Protocol: d}}}
			b.in.Families = []v1.IPFamily{v1.IPv4Protocol}
			b.options.Place.SubnetID = tt.own
			lb := b.loadBalancer()
			if lb.SubnetID != tt.wantSubnet || b.memberSubnet(lb).ID != tt.wantMember {
				t.Errorf("subnet %+v, of members %+v; want %+v, %+v", lb.SubnetID, b.memberSubnet(lb), tt.wantSubnet, tt.wantMember)
			}
		})
	}
}

// Events keep the reasons that alerts of today look for.
func TestBuildWarnsWithKnownReasons(t *testing.T) {
	for reason, b := range map[string]builder{
		"LoadBalancerExternalNetworkSearchFailed": {in: intent.Service{Families: []v1.IPFamily{v1.IPv4Protocol}}, shared: SharedState{NoExternal: true}},
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			if b.floatingIP() != nil || len(b.warnings) != 1 || b.reasons[b.warnings[0]].String() != reason {
				t.Errorf("warnings %q with the reasons %q", b.warnings, b.reasons)
			}
		})
	}
}

func TestPlaceKeepsConfiguredSettings(t *testing.T) {
	t.Parallel()
	settings := Settings{Place: Place{SubnetID: "s-configured", NetworkID: "n-configured"}}
	for _, tt := range []struct {
		name            string
		subnet, network string
		class           Place
		internal        bool
		wantSubnet      string
		wantNetwork     string
	}{
		{name: "as configured", wantSubnet: "s-configured", wantNetwork: "n-configured"},
		{name: "a subnet does not go with the configured network", subnet: "s-own", wantSubnet: "s-own"},
		{name: "a network does not go with the configured subnet", network: "n-own", wantNetwork: "n-own"},
		{name: "both", subnet: "s-own", network: "n-own", wantSubnet: "s-own", wantNetwork: "n-own"},
		{name: "a class", class: Place{SubnetID: "s-class"}, wantSubnet: "s-class"},
		{name: "the class wins where the load balancer is public", subnet: "s-own", class: Place{SubnetID: "s-class"}, wantSubnet: "s-class"},
		{name: "the annotation wins where it is internal", subnet: "s-own", class: Place{SubnetID: "s-class"}, internal: true, wantSubnet: "s-own"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := builder{settings: settings, class: tt.class, internal: tt.internal}
			b.in.Families = []v1.IPFamily{v1.IPv4Protocol}
			b.options.Place.SubnetID, b.options.Place.NetworkID = tt.subnet, tt.network
			var lb LoadBalancer
			b.place(&lb)
			if lb.SubnetID != tt.wantSubnet || lb.NetworkID != tt.wantNetwork {
				t.Errorf("subnet %q, network %q, want %q, %q", lb.SubnetID, lb.NetworkID, tt.wantSubnet, tt.wantNetwork)
			}
		})
	}
}

// ID, pattern and tags of the floating IP's subnet are one setting, which comes from one place.
func TestFloatingSubnetComesFromOnePlace(t *testing.T) {
	t.Parallel()
	configured := Place{FloatingNetworkID: "n", FloatingSubnetID: "s", FloatingSubnet: "p", FloatingSubnetTags: "t"}
	for _, tt := range []struct {
		name              string
		id, pattern, tags string
		class             Place
		want              Place
		explicit          []string
	}{
		{name: "the configuration", want: configured},
		{name: "pattern of the Service", pattern: "public-*", want: Place{FloatingSubnet: "public-*"},
			explicit: []string{annotation.KeyFloatingSubnet + ` "public-*"`}},
		{name: "tags of the Service", tags: "gold", want: Place{FloatingSubnetTags: "gold"},
			explicit: []string{annotation.KeyFloatingSubnetTags + ` "gold"`}},
		{name: "pattern and tags of the Service", pattern: "public-*", tags: "gold",
			want:     Place{FloatingSubnet: "public-*", FloatingSubnetTags: "gold"},
			explicit: []string{annotation.KeyFloatingSubnet + ` "public-*"`, annotation.KeyFloatingSubnetTags + ` "gold"`}},
		{name: "class before Service", id: "x", class: Place{FloatingSubnetTags: "c"}, want: Place{FloatingSubnetTags: "c"},
			explicit: []string{annotation.KeyClass + ` "gold"`}},
		{name: "class without subnets", pattern: "public-*", class: Place{SubnetID: "vip"},
			want: Place{FloatingSubnet: "public-*"}, explicit: []string{annotation.KeyFloatingSubnet + ` "public-*"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := builder{settings: Settings{Place: configured}, class: tt.class}
			b.in.Families, b.in.Annotations = []v1.IPFamily{v1.IPv4Protocol}, map[string]string{annotation.KeyClass: "gold"}
			for key, option := range map[string]struct {
				value string
				field *string
			}{
				annotation.KeyFloatingSubnetID:   {tt.id, &b.options.Place.FloatingSubnetID},
				annotation.KeyFloatingSubnet:     {tt.pattern, &b.options.Place.FloatingSubnet},
				annotation.KeyFloatingSubnetTags: {tt.tags, &b.options.Place.FloatingSubnetTags},
			} {
				if option.value != "" {
					b.in.Annotations[key], *option.field = option.value, option.value
				}
			}
			f := b.floatingIP()
			got := Place{FloatingSubnetID: f.SubnetID, FloatingSubnet: f.SubnetPattern, FloatingSubnetTags: f.SubnetTags}
			want := tt.want
			want.FloatingNetworkID = ""
			if got != want || !slices.Equal(f.Explicit, tt.explicit) {
				t.Errorf("subnets %+v of %q, want %+v of %q", got, f.Explicit, want, tt.explicit)
			}
		})
	}
}

func TestBlankFloatingNetworkIgnoresConfiguration(t *testing.T) {
	t.Parallel()
	annotations := map[string]string{annotation.KeyFloatingNetworkID: ""}
	options, err := annotation.Read(intent.Service{Annotations: annotations})
	if err != nil {
		t.Fatal(err)
	}
	b := builder{options: options, settings: Settings{Place: Place{FloatingNetworkID: "configured"}},
		shared: SharedState{External: "found"}}
	b.in.Families = []v1.IPFamily{v1.IPv4Protocol}
	if f := b.floatingIP(); f.NetworkID != "found" || f.NetworkExplicit {
		t.Errorf("floating IP %+v, want one of the network that was found", f)
	}
}
