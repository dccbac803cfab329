package loadbalancer

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/recordtest"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/config"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// Records that another release has stored keep proving what it applied.
func TestRecordsAreStable(t *testing.T) {
	t.Parallel()
	node := func(name, address string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}}}
	}
	class := config.Class{Pool: config.Named{ID: "pool-1"}, TCP: config.Named{ID: "/infra/lb-app-profiles/tcp"},
		UDP: config.Named{ID: "/infra/lb-app-profiles/udp"}}
	cfg := config.LoadBalancing{Size: "SMALL", Tier1Path: "/infra/tier-1s/t1",
		Classes: map[string]config.Class{names.DefaultClass: class}}
	recordtest.Compare[SharedState, Desired, Observed](t, New(nil, cfg, nil), recordtest.Options[SharedState]{
		Vocabulary: annotation.Vocabulary("vsphere"), Own: annotation.Documentation(),
		Nodes: []*v1.Node{node("a", "10.0.0.11"), node("b", "10.0.0.12")},
	})
}
