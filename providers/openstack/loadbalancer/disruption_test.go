package loadbalancer

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestGuideListsDisruptions compares the table of the moving guide with what changes declare. To update the guide, copy
// the table that the test prints.
func TestGuideListsDisruptions(t *testing.T) {
	const guide = "../../../docs/guides/moving-from-openstack-ccm.md"
	text, err := os.ReadFile(guide)
	if os.IsNotExist(err) {
		t.Skip("the module is tested without the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for _, d := range disruptions() {
		made := "if you approve it"
		if fields := d.follows(); len(fields) > 0 {
			made = "if one of these changed: `" + strings.Join(fields, "`, `") + "`"
		}
		fmt.Fprintf(&want, "| %s | %s | %s |\n", d.change, d.disrupts, made)
	}
	_, rest, _ := strings.Cut(string(text), "| change | disrupts | made |\n|---|---|---|\n| members | members | always |\n")
	if got, _, found := strings.Cut(rest, "| everything else | nothing | always |\n"); !found || got != want.String() {
		t.Errorf("%s does not have this table:\n%s", guide, want.String())
	}
}
