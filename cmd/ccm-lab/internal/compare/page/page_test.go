package page

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/sample"
)

func write(t *testing.T, r report.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// hack/test-page.sh sets PAGE_OUT to have the page of the sample.
func TestSamplePage(t *testing.T) {
	page := write(t, sample.WithProblems())
	if out := os.Getenv("PAGE_OUT"); out != "" {
		if err := os.WriteFile(out, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(page, `<script type="application/json" id="evidence:`); n != 180 {
		t.Errorf("evidence of %d cells, want 180", n)
	}
	ids := map[string]bool{}
	for _, m := range regexp.MustCompile(`\sid="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		if ids[m[1]] {
			t.Errorf("two elements have the ID %q", m[1])
		}
		ids[m[1]] = true
	}
	if m := regexp.MustCompile(`(?:src|href)="[^#d][^"]*"|url\([^)]*\)|@import`).FindString(page); m != "" {
		t.Errorf("the page needs %s", m)
	}
}

func TestPageEscapesWhatItShows(t *testing.T) {
	const attack = `"></script><script>alert(1)</script><!--`
	r := sample.Report()
	r.Version, r.Missing = attack, []string{attack}
	c := &r.Capabilities[0]
	c.Title, c.Detail, c.Group, c.ID = attack, attack, attack, attack
	cell := c.Cells["aws"]
	cell.Summary, cell.Leaked = attack, []string{attack}
	cell.Evidence.Status, cell.Evidence.Checks[0].Got = attack, attack
	c.Cells["aws"] = cell
	r.Operations[0].Title = attack
	r.Columns[0].Error = attack
	page := write(t, r)
	if strings.Contains(page, attack) || strings.Contains(page, "<script>alert") {
		t.Error("text of the report is code in the page")
	}
	// One script of the page, and one element of data for each cell and the legend.
	if n := strings.Count(page, "<script"); n != 1+180+1 {
		t.Errorf("%d scripts", n)
	}
}

// The first view of the script has no column of another manager, which stands beside its cloud.
func TestPageHasOtherManagersBesideTheirCloud(t *testing.T) {
	r := sample.Report()
	r.Columns = append(r.Columns, report.Column{Name: "theirs-v1", Title: "theirs v1", Provider: "aws", Program: "their-ccm",
		Cloud: "simulator", Observed: "2026-11-25"},
		report.Column{Name: "aws-with-fake", Title: "both", Provider: "aws", Program: "ccm", Others: "fake"})
	page := write(t, r)
	for _, want := range []string{
		`{"name":"aws","title":"Amazon Web Services","provider":"aws","cloud":true},` +
			`{"name":"theirs-v1","title":"theirs v1","provider":"aws","cloud":true,"other":true},`,
		`{"name":"aws-with-fake","title":"both","provider":"aws","cloud":true,"other":true}`,
		`simulator · <span class="day">observed on 2026-11-25</span>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

func TestPageOfEmptyReport(t *testing.T) {
	page := write(t, report.Report{Schema: report.Schema})
	if !strings.Contains(page, `<table id="matrix"`) {
		t.Error("no matrix")
	}
}

// A report of the same run gives the same page: map order must not show.
func TestPageIsStable(t *testing.T) {
	if diff := cmp.Diff(write(t, sample.WithProblems()), write(t, sample.WithProblems())); diff != "" {
		t.Error(diff)
	}
}

func TestChangesComparesObjectsByKindAndID(t *testing.T) {
	fields := func(pairs ...string) map[string]string {
		out := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i]] = pairs[i+1]
		}
		return out
	}
	before := []report.Object{
		{Kind: "Network", ID: "1", Name: "net"},
		{Kind: "Group", ID: "1", Name: "sg", Fields: fields("rules", "1", "vpc", "a")},
		{Kind: "Group", ID: "2", Name: "old", Fields: fields("rules", "3")},
	}
	after := []report.Object{
		{Kind: "Network", ID: "1", Name: "net"},
		{Kind: "Group", ID: "1", Name: "sg", Fields: fields("rules", "2", "tag", "x")},
		{Kind: "Listener", ID: "1", Name: "tcp", Fields: fields("port", "80")},
	}
	want := []objectChange{
		{"Listener", "tcp", "1", "created", []fieldChange{{"port", "", "80"}}},
		{"Group", "sg", "1", "changed", []fieldChange{{"rules", "1", "2"}, {"tag", "", "x"}, {"vpc", "a", ""}}},
		{"Group", "old", "2", "deleted", []fieldChange{{"rules", "3", ""}}},
		{"Network", "net", "1", "same", nil},
	}
	if diff := cmp.Diff(want, changes(before, after)); diff != "" {
		t.Error(diff)
	}
}
