package loadbalancer

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/recordtest"
	"github.com/unified-ccm/unified-ccm/providers/gce/config"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/gce/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/gce/names"
)

// The status of Services has digests of what was applied: the next release compares them with its own.
func TestRecordsAreStable(t *testing.T) {
	t.Parallel()
	r := newRig(t, config.Global{})
	nodes := []*v1.Node{node("r1-b", "node-1"), node("r1-c", "node-2")}
	shared, err := r.cloud.SharedState(t.Context(), nodes)
	if err != nil {
		t.Fatal(err)
	}
	recordtest.Compare[model.SharedState, model.Desired, Observed](t, r.cloud, recordtest.Options[model.SharedState]{
		Vocabulary: annotation.Vocabulary(names.Scheme), Own: annotation.Documentation(), Shared: shared, Nodes: nodes,
	})
}
