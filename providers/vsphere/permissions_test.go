package vsphere_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/sim"
)

// documentedRow is a row of a table in deploy/vsphere/README.md: a collection or a service, its methods, and a text.
var documentedRow = regexp.MustCompile("(?m)^\\| ([^|]*`[^|]*) \\| (`[^|]*`) \\| [^|]+ \\|$")

// documentedRequests returns the requests that deploy/vsphere/README.md lists, by the names that the simulator gives
// them.
func documentedRequests(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../../deploy/vsphere/README.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, row := range documentedRow.FindAllStringSubmatch(string(page), -1) {
		for _, path := range strings.Split(row[1], ", ") {
			collection := strings.Trim(path, "`")
			for _, method := range strings.Split(row[2], ", ") {
				out[strings.Trim(method, "`")+" "+collection[strings.LastIndex(collection, "/")+1:]] = true
			}
		}
	}
	return out
}

// TestPermissions runs every scenario and compares the requests to NSX-T with the page that an
// administrator reads to choose a role.
func TestPermissions(t *testing.T) {
	documented := documentedRequests(t)
	var mu sync.Mutex
	made := map[string]bool{}
	t.Run("scenarios", func(t *testing.T) {
		s := nsxtSubject()
		create := s.New
		s.New = func(t testing.TB) (conformance.World, conformance.Manager) {
			world, manager := create(t)
			t.Cleanup(func() {
				mu.Lock()
				defer mu.Unlock()
				for _, call := range world.(*sim.Cloud).Front().Log().Calls() {
					if call.Service == "nsxt" {
						made[call.Name] = true
					}
				}
			})
			return world, manager
		}
		conformance.Run(t, s)
	})
	for _, request := range slices.Sorted(maps.Keys(made)) {
		if !documented[request] {
			t.Errorf("deploy/vsphere/README.md does not list %s", request)
		}
	}
	if t.Failed() {
		return
	}
	for _, request := range slices.Sorted(maps.Keys(documented)) {
		if !made[request] {
			t.Errorf("deploy/vsphere/README.md lists %s, which no scenario requests", request)
		}
	}
}
