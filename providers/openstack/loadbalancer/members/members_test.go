package members

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

func member(address, subnet string) api.Member {
	return api.Member{Name: "node-" + address, Address: address, Port: 30080, SubnetID: subnet}
}

// The result does not depend on the order, whichever of the comparisons is used.
func TestMembersAreComparedAsSets(t *testing.T) {
	have := []api.Member{member("10.0.0.1", "a"), member("10.0.0.2", ""), member("10.0.0.3", "a")}
	for name, tc := range map[string]struct {
		want  []api.Member
		equal bool
		kept  []string
	}{
		"same":      {[]api.Member{member("10.0.0.1", "b"), member("10.0.0.2", "b"), member("10.0.0.3", "b")}, true, []string{"a", "b", "a"}},
		"replaced":  {[]api.Member{member("10.0.0.1", "b"), member("10.0.0.2", "b"), member("10.0.0.4", "b")}, false, []string{"a", "b", "b"}},
		"fewer":     {[]api.Member{member("10.0.0.1", "b")}, false, []string{"a"}},
		"none":      {nil, false, nil},
		"one more":  {[]api.Member{member("10.0.0.1", ""), member("10.0.0.2", ""), member("10.0.0.3", ""), member("10.0.0.4", "")}, false, []string{"a", "", "a", ""}},
		"name only": {[]api.Member{{Name: "other", Address: "10.0.0.1", Port: 30080}, member("10.0.0.2", ""), member("10.0.0.3", "")}, false, []string{"a", "", "a"}},
	} {
		for _, reversed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, reversed %v", name, reversed), func(t *testing.T) {
				want, kept := slices.Clone(tc.want), slices.Clone(tc.kept)
				if reversed {
					slices.Reverse(want)
					slices.Reverse(kept)
				}
				before := slices.Clone(want)
				if got := Equal(have, want); got != tc.equal {
					t.Errorf("equal: %v, want %v", got, tc.equal)
				}
				var subnets []string
				for _, m := range KeepSubnets(have, want) {
					subnets = append(subnets, m.SubnetID)
				}
				if diff := cmp.Diff(kept, subnets); diff != "" {
					t.Errorf("subnets (-want +got):\n%s", diff)
				}
				if !slices.Equal(want, before) {
					t.Error("KeepSubnets changed its argument")
				}
			})
		}
	}
}
