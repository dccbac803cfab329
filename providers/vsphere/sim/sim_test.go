package sim_test

import (
	"sync"
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
)

// TestCloudsStartConcurrently fails under the race detector if two clouds share a variable while they start.
func TestCloudsStartConcurrently(t *testing.T) {
	t.Parallel()
	var starts sync.WaitGroup
	for range 4 {
		starts.Go(func() {
			cloud, err := sim.New(sim.Options{})
			if err != nil {
				t.Errorf("New = %v", err)
				return
			}
			cloud.Close()
		})
	}
	starts.Wait()
}
