package controllers

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/podcidr"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
	"github.com/unified-ccm/unified-ccm/providers/gce/instances"
)

func TestRangesOfInstance(t *testing.T) {
	pods := api.AliasIPRange{Range: "10.4.1.0/24", RangeName: "pods"}
	other := api.AliasIPRange{Range: "10.8.0.7/32", RangeName: "other"}
	for name, tc := range map[string]struct {
		network   instances.PodNetwork
		rangeName string
		cluster   string
		want      []string
		err       string
	}{
		"none":                        {},
		"the only one":                {instances.PodNetwork{Aliases: []api.AliasIPRange{pods}}, "", "", []string{"10.4.1.0/24"}, ""},
		"the only one has no name":    {instances.PodNetwork{Aliases: []api.AliasIPRange{{Range: "10.4.1.0/24"}}}, "pods", "", []string{"10.4.1.0/24"}, ""},
		"by its name":                 {instances.PodNetwork{Aliases: []api.AliasIPRange{other, pods}}, "pods", "", []string{"10.4.1.0/24"}, ""},
		"by the range of the cluster": {instances.PodNetwork{Aliases: []api.AliasIPRange{other, pods}}, "", "10.4.0.0/14", []string{"10.4.1.0/24"}, ""},
		"one of several":              {instances.PodNetwork{Aliases: []api.AliasIPRange{other, pods}}, "", "", nil, "secondary-range-name"},
		"both in the cluster's":       {instances.PodNetwork{Aliases: []api.AliasIPRange{other, pods}}, "", "10.0.0.0/8", nil, "10.8.0.7/32 and 10.4.1.0/24"},
		"of another secondary range":  {instances.PodNetwork{Aliases: []api.AliasIPRange{other}}, "pods", "", []string{"10.8.0.7/32"}, ""},
		"all of others":               {instances.PodNetwork{Aliases: []api.AliasIPRange{other, {Range: "10.9.0.0/24", RangeName: "else"}}}, "pods", "", nil, ""},
		"none of both has its name":   {instances.PodNetwork{Aliases: []api.AliasIPRange{other, {Range: "10.4.1.0/24"}}}, "pods", "", []string{"10.4.1.0/24"}, ""},
		"an address":                  {instances.PodNetwork{Aliases: []api.AliasIPRange{{Range: "10.4.1.7"}}}, "", "", []string{"10.4.1.7/32"}, ""},
		"no range":                    {instances.PodNetwork{Aliases: []api.AliasIPRange{{Range: "/24"}}}, "", "", nil, `"/24" is not a range`},
		"IPv6":                        {instances.PodNetwork{IPv6: "fd20:a::1:2:3"}, "", "", []string{"fd20:a::1:2:0/112"}, ""},
		"both families": {instances.PodNetwork{Aliases: []api.AliasIPRange{pods}, IPv6: "fd20:a::1:2:3"}, "", "",
			[]string{"10.4.1.0/24", "fd20:a::1:2:0/112"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &podRanges{rangeName: tc.rangeName}
			if tc.cluster != "" {
				p.cluster = []netip.Prefix{netip.MustParsePrefix(tc.cluster)}
			}
			got, err := p.of(tc.network)
			if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want %q", err, tc.err)
			}
			if len(got) == 0 && len(tc.want) == 0 {
				return
			}
			if diff := cmp.Diff(tc.want, podcidr.Strings(got)); diff != "" {
				t.Errorf("ranges (-want +got):\n%s", diff)
			}
		})
	}
}
