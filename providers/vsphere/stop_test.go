package vsphere_test

import (
	"slices"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
)

// A manager that ends leaves no sessions in the vCenter: their number is limited.
func TestStopEndsSessions(t *testing.T) {
	w := newWorld(t, "")
	cloud, err := newCloud("", w)
	if err != nil {
		t.Fatal(err)
	}
	node, err := w.Launch(conformance.Machine{Name: "node-1"})
	if err != nil {
		t.Fatal(err)
	}
	instances, _ := cloud.InstancesV2()
	if exists, err := instances.InstanceExists(t.Context(), node); !exists || err != nil {
		t.Fatalf("exists %t, %v", exists, err)
	}
	before := w.Front().Log().Len()
	cloud.Stop(t.Context())
	var ended []string
	for _, call := range w.Front().Log().Calls()[before:] {
		ended = append(ended, call.Name)
	}
	if !slices.Equal(ended, []string{"DELETE session", "Logout"}) {
		t.Errorf("calls %q", ended)
	}
	cloud.Stop(t.Context())
	if calls := w.Front().Log().Len(); calls != before+len(ended) {
		t.Errorf("%d calls after a second stop", calls-before-len(ended))
	}
}
