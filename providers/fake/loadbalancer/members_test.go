package loadbalancer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/fake/loadbalancer/annotation"
)

// Invalid zones neither remove the members with a node, nor add others.
func TestDiffMembersWithInvalidZones(t *testing.T) {
	have := existing(mustDesire(t, web(), twoTargets()))
	cloud := New(nilAPI{}, func(id string) (string, error) { return strings.TrimPrefix(id, "fake://"), nil }, nil)
	var nodes []*v1.Node
	for _, id := range []string{"i-2", "i-3"} {
		nodes = append(nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: id}, Spec: v1.NodeSpec{ProviderID: "fake://" + id}})
	}
	for _, zones := range []string{"", "typo"} {
		in := web(func(in *intent.Service) { in.Annotations = map[string]string{annotation.KeyMemberZones: zones} })
		p, err := cloud.DiffMembers(testKey(), in, nodes, sharedState(), have)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"update members tcp-80 [members: i-1:30080, i-2:30080 → i-2:30080]"}
		if diff := cmp.Diff(want, steps(t, p)); diff != "" {
			t.Errorf("zones %q (-want +got):\n%s", zones, diff)
		}
	}
}
