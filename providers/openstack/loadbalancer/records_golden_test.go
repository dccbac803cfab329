package loadbalancer

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/recordtest"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/observe"
)

// Records that another release has stored keep proving what it applied.
func TestRecordsAreStable(t *testing.T) {
	node := func(name, address string) *v1.Node {
		return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.NodeSpec{ProviderID: "openstack:///" + name},
			Status: v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: address}}}}
	}
	place := model.Place{SubnetID: "subnet-1", MemberSubnetID: "subnet-1", FloatingNetworkID: "external-1"}
	cloud := New(Options{API: struct{ API }{}, ServerID: func(id string) (string, error) { return id, nil },
		Settings: Settings{Place: place}})
	recordtest.Compare[SharedState, Desired, observe.Observed](t, cloud, recordtest.Options[SharedState]{
		Vocabulary: annotation.Vocabulary("openstack"), Own: annotation.Documentation(),
		Shared: SharedState{Features: model.Features{Version: model.VersionNewest}},
		Nodes:  []*v1.Node{node("a", "10.0.0.11"), node("b", "10.0.0.12")},
	})
}
