package instances

import (
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

func TestStatesOfInstances(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{api.StatePending: "pending", api.StateRunning: "running",
		api.StateStopped: "stopped", "hibernating": "running"} {
		if got := string(stateOf(state)); got != want {
			t.Errorf("stateOf(%q) = %q, want %q", state, got, want)
		}
	}
}
