package compare

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
)

func TestReferenceHasNothingThatDependsOnTheRun(t *testing.T) {
	full := report.Report{
		Schema: report.Schema, Version: "v1.2.3", Kubernetes: "v1.37.1",
		Capabilities: []report.Capability{{ID: "service.tcp", Cells: map[string]report.Cell{"fake": {
			Verdict: report.Works, Calls: 10, Changes: 4, Seconds: 0.3, Evidence: &report.Evidence{
				Manifest: "kind: Service\n", Plan: "uid=1", Checks: []report.Check{{Name: "listeners", OK: true}},
				Calls: []report.Call{{Operation: "CreatePool"}}, Status: "x", Events: []report.Event{{Reason: "x", Seconds: 2}},
			},
		}}}},
		Operations: []report.Operation{{ID: "join", Costs: map[string]report.Cost{"fake": {Calls: 9, Seconds: 2.5}}}},
		Date:       "2026-11-25",
	}
	want := report.Report{
		Schema: report.Schema, Kubernetes: "v1.37.1",
		Capabilities: []report.Capability{{ID: "service.tcp", Cells: map[string]report.Cell{"fake": {
			Verdict: report.Works,
		}}}},
		Operations: []report.Operation{{ID: "join", Costs: map[string]report.Cost{"fake": {Calls: 9}}}},
	}
	if diff := cmp.Diff(want, Reference(full)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if full.Capabilities[0].Cells["fake"].Calls != 10 || full.Operations[0].Costs["fake"].Seconds != 2.5 {
		t.Error("the report was changed")
	}
}

func TestCheckReferenceNamesWhatDiffers(t *testing.T) {
	scenarios := []Scenario{{ID: "service.tcp", Title: "TCP"}, {ID: "service.udp"}}
	columns := []Column{{Name: "fake"}}
	good := map[string]report.Cell{"fake": {Verdict: report.Works}}
	measured := operations()
	for _, o := range measured {
		o.Costs["fake"] = report.Cost{Calls: 1}
	}
	for name, c := range map[string]struct {
		reference report.Report
		want      string
	}{
		"same": {report.Report{Columns: []report.Column{{Name: "fake"}}, Capabilities: []report.Capability{
			{ID: "service.tcp", Title: "TCP", Cells: good}, {ID: "service.udp", Cells: good}}}, ""},
		"another title": {report.Report{Capabilities: []report.Capability{
			{ID: "service.tcp", Cells: good}, {ID: "service.udp", Cells: good}}}, "row service.tcp has other texts"},
		"new row": {report.Report{Capabilities: []report.Capability{{ID: "service.tcp", Title: "TCP", Cells: good}}}, "row service.udp is missing"},
		"removed row": {report.Report{Capabilities: []report.Capability{{ID: "service.tcp", Title: "TCP", Cells: good},
			{ID: "service.udp", Cells: good}, {ID: "service.old", Cells: good}}}, "row service.old has no scenario"},
		"new column": {report.Report{Capabilities: []report.Capability{{ID: "service.tcp", Title: "TCP", Cells: good},
			{ID: "service.udp"}}}, "row service.udp has no cell of fake"},
		"removed column": {report.Report{Columns: []report.Column{{Name: "old"}}, Capabilities: []report.Capability{
			{ID: "service.tcp", Title: "TCP", Cells: good}, {ID: "service.udp", Cells: good}}}, "column old is not one of the linked clouds"},
		"column of another manager": {report.Report{Columns: []report.Column{{Name: "other", Program: "other-ccm"}},
			Capabilities: []report.Capability{{ID: "service.tcp", Title: "TCP", Cells: good}, {ID: "service.udp", Cells: good}}}, ""},
		"new operation":            {report.Report{Operations: measured[1:]}, "operation " + measured[0].ID + " is missing"},
		"operation without a cost": {report.Report{Operations: operations()}, "operation " + measured[0].ID + " has no cost of fake"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.reference.Operations == nil {
				c.reference.Operations = measured
			}
			err := CheckReference(c.reference, scenarios, columns)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
