package text

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
)

// Another manager has a section of its own, and no column in the tables of clouds.
func TestMarkdownShowsAnotherManagerBesideItsCloud(t *testing.T) {
	cells := func(own, other report.Cell) map[string]report.Cell {
		return map[string]report.Cell{"openstack": own, "theirs-v1": other}
	}
	works := report.Cell{Verdict: report.Works, Summary: "1 listener"}
	r := report.Report{
		Columns: []report.Column{
			{Name: "openstack", Title: "OpenStack", Provider: "openstack", Program: "ccm", Cloud: "simulator"},
			{Name: "theirs-v1", Title: "theirs v1", Provider: "openstack", Program: "their-ccm", Cloud: "simulator",
				Observed: "2026-11-25"},
		},
		Capabilities: []report.Capability{
			{ID: "tcp", Group: "Service", Title: "TCP", Cells: cells(works, works)},
			{ID: report.NodeJoins, Group: "Service", Title: "Node joins", Cells: cells(works, report.Cell{Verdict: report.Ignored})},
			{ID: "tags", Group: "Annotations", Title: "Tags", Cells: cells(works, report.Cell{Verdict: report.NotApplicable,
				Summary: "It has no setting like tags."})},
			{ID: "address", Group: "Defaults", Title: "Address", Values: true, Cells: cells(works, report.Cell{
				Verdict: report.Works, Summary: "2 listeners"})},
		},
		Operations: []report.Operation{{ID: "join", Title: "50 nodes join", Costs: map[string]report.Cost{
			"openstack": {Calls: 2}, "theirs-v1": {Calls: 205, Changes: 1, AgainCalls: 3}}}},
	}
	var b bytes.Buffer
	if err := Markdown(&b, r); err != nil {
		t.Fatal(err)
	}
	before, got, _ := strings.Cut(b.String(), "## Beside today's managers\n\n")
	_, got, _ = strings.Cut(got, "\n\n")
	got, costs, _ := strings.Cut(got, "## Cost of operations")
	want := `### OpenStack and theirs v1

Observed on 2026-11-25. In 1 of 3 rows both do the same.

|  | here | theirs v1 |
|---|---|---|
| Annotations: Tags | ✓ works | – n/a: It has no setting like tags. |
| Defaults: Address | 1 listener | 2 listeners |
| 50 nodes join | 2 calls, 0 changes | 205 calls, 1 change; again 3, 0 |

`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, section := range map[string]string{"differences": before, "costs": costs} {
		if strings.Contains(section, "theirs v1") {
			t.Errorf("the other manager has a column in the %s:\n%s", name, section)
		}
	}
}
