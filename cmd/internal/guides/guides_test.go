package guides

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

var descriptors = []provider.Descriptor{{Name: "none"}, {Name: "one", Disruptions: []plan.Effect{
	{Change: "it is replaced", Disrupts: plan.DisruptsLoadBalancer},
	{Change: "a listener is deleted", Disrupts: plan.DisruptsTraffic},
}}}

func TestUpdateReplacesTable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "page.md")
	const begin, end = "# Page\n\n<!-- disruptions one -->\n", "<!-- end -->\n\nMore.\n"
	if err := os.WriteFile(file, []byte(begin+"\nan older table\n\n"+end), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = begin + `
| change | disrupts |
|---|---|
| a listener is deleted | traffic |
| it is replaced | load balancer |
| members | members |
| everything else | nothing |

` + end
	for range 2 {
		if err := Update(dir, descriptors); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%v:\n%s", err, got)
		}
	}
}

func TestUpdateRejectsMarkers(t *testing.T) {
	for name, tt := range map[string]struct{ page, want string }{
		"none":            {"# Page\n", "<!-- disruptions one -->"},
		"without an end":  {"<!-- disruptions one -->\n", "<!-- end -->"},
		"unknown":         {"<!-- disruptions two -->\n<!-- end -->\n", "disruptions two"},
		"without effects": {"<!-- disruptions none -->\n<!-- end -->\n", "disruptions none"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "page.md"), []byte(tt.page), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Update(dir, descriptors); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one about %s", err, tt.want)
			}
		})
	}
}
