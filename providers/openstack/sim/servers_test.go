package sim

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// On MySQL, Nova escapes every | of a name that is searched for: alternatives find nothing, and that is no error.
func TestAlternativesOfNamesFindNothing(t *testing.T) {
	cloud, k := newClient(t, Options{})
	for _, name := range []string{"node-1", "node-2"} {
		if _, err := cloud.Launch(world.Machine{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]bool{"^node-1$": true, "^(node-1|node-2)$": false, "node": true} {
		r := k.do(http.MethodGet, "/compute/v2.1/servers?name="+url.QueryEscape(pattern), "")
		if found := strings.Contains(r.body, `"node-1"`); r.status != http.StatusOK || found != want {
			t.Errorf("%s: status %d, found %t: %s", pattern, r.status, found, r.body)
		}
	}
}
