package loadbalancer

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/recordtest"
	"github.com/unified-ccm/unified-ccm/providers/fake/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/fake/names"
)

// Records that another release has stored keep proving what it applied.
func TestRecordsAreStable(t *testing.T) {
	t.Parallel()
	node := func(id, zone string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: id, Labels: map[string]string{v1.LabelTopologyZone: zone}},
			Spec: v1.NodeSpec{ProviderID: "fake:///" + zone + "/" + id}}
	}
	recordtest.Compare[SharedState, Desired, Observed](t, New(nil, names.NewScheme(false).Parse, nil),
		recordtest.Options[SharedState]{
			Vocabulary: annotation.Vocabulary("fake"), Own: annotation.Documentation(),
			Shared: SharedState{Zones: []string{"fake-1a", "fake-1b"}}, Nodes: []*v1.Node{node("i-1", "fake-1a"), node("i-2", "fake-1b")},
		})
}
