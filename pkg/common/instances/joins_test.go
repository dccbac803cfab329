package instances_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

// Nodes of one of several clouds cost what they cost with one cloud: whose they are is read together with their
// initialization.
func TestCallBudgetOfSeveralClouds(t *testing.T) {
	verifyBudgets(t, map[string]budgetTest{
		"1,000 nodes join, at once": {known: 1000, budget: 2, run: func(t *testing.T, _ *cloud,
			i *instances.Instances) {
			var group sync.WaitGroup
			for n := range 1000 {
				group.Go(func() { mustJoin(t, i, joiningNode(n)) })
			}
			group.Wait()
		}},
		"1,000 nodes join within 20 seconds, each right after its launch": {budget: 20, run: func(
			t *testing.T, c *cloud, i *instances.Instances,
		) {
			var group sync.WaitGroup
			for n := range 1000 {
				c.launch(n)
				group.Go(func() { mustJoin(t, i, joiningNode(n)) })
				time.Sleep(20 * time.Millisecond)
			}
			group.Wait()
		}},
		"a node joins a cluster of 5,000, and a list takes 40 seconds": {known: 5000, budget: 10,
			run: func(t *testing.T, c *cloud, i *instances.Instances) {
				c.latency = 4 * time.Second
				mustJoin(t, i, joiningNode(1))
			}},
	})
}

// mustJoin finds the instance of a node that names its cloud, and initializes the node.
func mustJoin(t *testing.T, i *instances.Instances, node *v1.Node) {
	t.Helper()
	if exists, err := i.JoiningInstanceExists(t.Context(), node); !exists || err != nil {
		t.Errorf("%s: %t, %v", node.Name, exists, err)
	}
	mustHaveMetadata(t, i, node)
}

func verifyBudgets(t *testing.T, tests map[string]budgetTest) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCloud(test.known)
				test.run(t, c, newInstances(c))
				if got := c.total(); got > test.budget {
					t.Errorf("%d calls %v, want at most %d", got, c.calls, test.budget)
				}
			})
		})
	}
}
