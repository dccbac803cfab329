package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/sample"
)

func TestTableFitsTerminals(t *testing.T) {
	for width, want := range map[int]string{
		60:  "  health-check-path         ≈      ✓      ✓",
		80:  "  health-check-path                     ≈ differs  ✓ works    ✓ works",
		120: "✗ failed, 11 calls",
		200: "✗ failed, 11 calls: The scenario ended after 12…",
		0:   "✗ failed, 11 calls: The scenario ended after 12…",
	} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			var b bytes.Buffer
			if err := Table(&b, sample.WithProblems(), width); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(b.String(), want) {
				t.Errorf("no %q in\n%s", want, b.String())
			}
			if strings.Contains(b.String(), "\x1b") {
				t.Error("escape codes outside of a terminal")
			}
			for line := range strings.Lines(b.String()) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > 0 && n > width {
					t.Errorf("%d columns: %s", n, line)
				}
			}
		})
	}
}

func TestTableShowsEveryRowVerdictAndProblem(t *testing.T) {
	r := sample.WithProblems()
	out := table(r, 0, false)
	for _, c := range r.Capabilities {
		if !strings.Contains(out, "\n  "+c.Title+" ") {
			t.Errorf("no row %q", c.Title)
		}
	}
	for _, o := range r.Operations {
		if !strings.Contains(out, "\n"+o.Title+" ") {
			t.Errorf("no row %q", o.Title)
		}
	}
	for _, v := range report.Verdicts() {
		if !strings.Contains(out, v.Sign()+" "+v.Short()) || !strings.Contains(out, v.Sign()+" "+v.Label()) {
			t.Errorf("no cell or no legend of %s", v)
		}
	}
	for _, want := range []string{
		"missing: routes.ipv6-pod-range on openstack: interrupted",
		`fake, service.tcp-port: declared "refused, nothing is created", observed "works"`,
		"fake, service.tcp-port: left in the cloud: LoadBalancer lb-7f3a",
		"openstack, services-create: left after an interruption: FloatingIP 203.0.113.9",
		"vsphere: the simulator did not start: address in use",
	} {
		if !strings.Contains(out, want+"\n") {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestTableRemovesControlCharacters(t *testing.T) {
	r := sample.Report()
	r.Capabilities[0].Title = "TCP\x1b]0;title\a\nport"
	if out := table(r, 80, false); strings.ContainsAny(out, "\x1b\a") || !strings.Contains(out, "  TCP]0;title port ") {
		t.Errorf("%.200q", out)
	}
}

func TestTableColoursVerdicts(t *testing.T) {
	if out := table(sample.Report(), 80, true); !strings.Contains(out, "\x1b[32m✓ works\x1b[0m") {
		t.Errorf("%.300q", out)
	}
}

func TestMarkdownHasNoTimingsAndEscapesCells(t *testing.T) {
	r := sample.Report()
	r.Capabilities[0].Title = "a|b <c>"
	write := func() string {
		var b bytes.Buffer
		if err := Markdown(&b, r); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	out := write()
	if want := " a\\|b &lt;c&gt; "; !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
	for i := range r.Capabilities {
		for name, cell := range r.Capabilities[i].Cells {
			cell.Seconds *= 2
			r.Capabilities[i].Cells[name] = cell
		}
	}
	for i := range r.Operations {
		for name, cost := range r.Operations[i].Costs {
			cost.Seconds *= 2
			r.Operations[i].Costs[name] = cost
		}
	}
	if diff := cmp.Diff(out, write()); diff != "" {
		t.Errorf("a slower run gives another page:\n%s", diff)
	}
}

// Rows in which clouds differ have a table, values another one, and the others a list. The provider fake is no cloud.
func TestMarkdownSeparatesDifferences(t *testing.T) {
	cells := func(aws, openstack, fake report.Verdict) map[string]report.Cell {
		return map[string]report.Cell{"aws": {Verdict: aws, Summary: "a"}, "openstack": {Verdict: openstack, Summary: "b"},
			"fake": {Verdict: fake}}
	}
	r := sample.Report()
	r.Operations, r.Capabilities = nil, []report.Capability{
		{Group: "Service", Title: "TCP", Cells: cells(report.Works, report.Works, report.Works)},
		{Group: "Service", Title: "UDP", Cells: cells(report.Refuses, report.Works, report.Works)},
		{Group: "Service", Title: "TLS", Cells: cells(report.Works, report.Works, report.Refuses)},
		{Group: "Service", Title: "SCTP", Cells: cells(report.Refuses, report.Refuses, report.Works)},
		{Group: "Defaults", Title: "Address", Values: true, Cells: cells(report.Works, report.Works, report.Works)},
	}
	var b bytes.Buffer
	if err := Markdown(&b, r); err != nil {
		t.Fatal(err)
	}
	_, got, _ := strings.Cut(b.String(), "\n\n")
	want := `## Where clouds differ

| Service | Amazon Web Services | OpenStack | Fake |
|---|---|---|---|
| UDP | ⊘ refused: a | ✓ works | ✓ works |

## What a Service without annotations gets

| Defaults | Amazon Web Services | OpenStack | Fake |
|---|---|---|---|
| Address | a | b |  |

## The same on all clouds

- ✓ works, Service: TCP · TLS
- ⊘ refused, Service: SCTP
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSummaryHasOneLineForEachColumn(t *testing.T) {
	var b bytes.Buffer
	if err := Summary(&b, sample.Report()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 5 || lines[2] != "| Amazon Web Services | 50 | 1 | 2 | 2 | 1 | 2 |" {
		t.Errorf("\n%s", b.String())
	}
}

func TestReadReturnsWhatJSONWrote(t *testing.T) {
	want := sample.WithProblems()
	var b bytes.Buffer
	if err := JSON(&b, want); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadNamesWhatIsWrong(t *testing.T) {
	with := func(change func(*report.Report)) string {
		r := sample.Report()
		change(&r)
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for name, c := range map[string]struct{ in, want string }{
		"empty": {"", "not a comparison"},
		"YAML":  {"schema: x", "not a comparison"},
		"no schema": {`{"phases": []}`,
			`comparison has schema "", want "unified-ccm.io/comparison/v1": write it again with ccm-lab compare -o json`},
		"other schema": {with(func(r *report.Report) { r.Schema = "unified-ccm.io/comparison/v2" }),
			`has schema "unified-ccm.io/comparison/v2", want "unified-ccm.io/comparison/v1"`},
		"field of other type": {`{"schema": "unified-ccm.io/comparison/v1", "columns": 3}`, "Report.columns"},
		"unknown verdict": {with(func(r *report.Report) {
			r.Capabilities[0].Cells["aws"] = report.Cell{Verdict: "great"}
		}), `service.tcp-port has verdict "great" in column "aws", want one of ["works"`},
		"unknown column": {with(func(r *report.Report) { r.Capabilities[0].Cells["gcp"] = report.Cell{} }),
			`service.tcp-port has a cell of column "gcp", want one of ["aws" "fake" "openstack"]`},
		"unknown column of costs": {with(func(r *report.Report) { r.Operations[0].Costs["gcp"] = report.Cost{} }),
			`nodes-join has a cost of column "gcp"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.in))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, c.want)
			}
		})
	}
}

func TestCompareWithItselfIsEmpty(t *testing.T) {
	d := Compare(sample.WithProblems(), sample.WithProblems())
	if !d.Empty() || d.Regressed() {
		t.Errorf("%+v", d)
	}
	if out := differenceTable(t, d); out != "no difference\n" {
		t.Errorf("%q", out)
	}
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*report.Report)
		want   string
		worse  bool
	}{
		"worse verdict": {func(r *report.Report) { edit(r, func(c *report.Cell) { c.Verdict = report.Ignored }) },
			"worse service.tcp-port fake verdict works ignored in silence", true},
		"one call more": {func(r *report.Report) { edit(r, func(c *report.Cell) { c.Calls++ }) },
			"worse service.tcp-port fake calls 5 6", true},
		"one change more": {func(r *report.Report) { edit(r, func(c *report.Cell) { c.Changes++ }) },
			"worse service.tcp-port fake changes 3 4", true},
		"one periodic read more": {func(r *report.Report) {
			r.Capabilities[0].Periodic = true
			edit(r, func(c *report.Cell) { c.Calls++ })
		}, "no difference", false},
		"one change more beside periodic reads": {func(r *report.Report) {
			r.Capabilities[0].Periodic = true
			edit(r, func(c *report.Cell) { c.Calls, c.Changes = c.Calls+1, c.Changes+1 })
		}, "worse service.tcp-port fake changes 3 4", true},
		"one call less": {func(r *report.Report) { edit(r, func(c *report.Cell) { c.Calls-- }) },
			"better service.tcp-port fake calls 5 4", false},
		"orphan": {func(r *report.Report) { edit(r, func(c *report.Cell) { c.Leaked = []string{"lb-1"} }) },
			"worse service.tcp-port fake left in the cloud nothing lb-1", true},
		"slower": {func(r *report.Report) { edit(r, func(c *report.Cell) { c.Seconds *= 10 }) },
			"no difference", false},
		"operation with one call more": {func(r *report.Report) { spend(r, func(c *report.Cost) { c.Calls++ }) },
			"worse nodes-join aws calls 6 7", true},
		"one shared read more": {func(r *report.Report) {
			r.Operations[0].SharedReads = true
			spend(r, func(c *report.Cost) { c.Calls++ })
		}, "no difference", false},
		"shared reads times three": {func(r *report.Report) {
			r.Operations[0].SharedReads = true
			spend(r, func(c *report.Cost) { c.Calls += 2 * (c.Calls - c.Changes) })
		}, "worse nodes-join aws calls 6 18", true},
		"one change more beside shared reads": {func(r *report.Report) {
			r.Operations[0].SharedReads = true
			spend(r, func(c *report.Cost) { c.Calls, c.Changes = c.Calls+1, c.Changes+1 })
		}, "worse nodes-join aws changes 0 1", true},
		"one read more of a new manager": {func(r *report.Report) {
			spend(r, func(c *report.Cost) { c.AgainCalls++ })
		}, "no difference", false},
		"repetition with one change more": {func(r *report.Report) { spend(r, func(c *report.Cost) { c.AgainChanges++ }) },
			"worse nodes-join aws changes again 0 1", true},
		"orphan after an interruption": {func(r *report.Report) {
			spend(r, func(c *report.Cost) { c.Left = []string{"ip"} })
		}, "worse nodes-join aws left after an interruption nothing ip", true},
		"cost is missing": {func(r *report.Report) { spend(r, func(c *report.Cost) { c.Missing = "no time" }) },
			"removed: cell nodes-join, aws", false},
		"row is missing": {func(r *report.Report) { r.Capabilities = r.Capabilities[1:] },
			"removed: row service.tcp-port", false},
		"cell is missing": {func(r *report.Report) { delete(r.Capabilities[0].Cells, "fake") },
			"removed: cell service.tcp-port, fake", false},
		"new row": {func(r *report.Report) {
			r.Operations = append(r.Operations, report.Operation{ID: "audit", Title: "Audit"})
		}, "added: row audit", false},
		"new column": {func(r *report.Report) {
			r.Columns = append(slices.Clone(r.Columns), report.Column{Name: "vsphere", Title: "vSphere"})
		}, "added: column vsphere", false},
	} {
		t.Run(name, func(t *testing.T) {
			now := sample.Report()
			c.change(&now)
			d := Compare(sample.Report(), now)
			out := strings.Join(strings.Fields(differenceTable(t, d)), " ")
			if !strings.HasSuffix(out, c.want) || d.Regressed() != c.worse {
				t.Errorf("regressed %v, want %v; %q, want %q", d.Regressed(), c.worse, out, c.want)
			}
			if back := Compare(now, sample.Report()); len(back.Better) != len(d.Worse) || len(back.Added) != len(d.Removed) {
				t.Errorf("the reverse comparison does not mirror it: %+v, %+v", d, back)
			}
		})
	}
}

// A verdict that becomes better may cost calls.
func TestCompareIgnoresCallsOfAnotherVerdict(t *testing.T) {
	was := sample.Report()
	edit(&was, func(c *report.Cell) { c.Verdict, c.Calls = report.Refuses, 0 })
	if d := Compare(was, sample.Report()); d.Regressed() || len(d.Better) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestDifferenceAsMarkdown(t *testing.T) {
	now := sample.Report()
	edit(&now, func(c *report.Cell) { c.Verdict = report.Refuses })
	spend(&now, func(c *report.Cost) { c.Calls = 1 })
	now.Capabilities = now.Capabilities[:len(now.Capabilities)-1]
	var b bytes.Buffer
	if err := Compare(sample.Report(), now).Markdown(&b); err != nil {
		t.Fatal(err)
	}
	want := `### Worse

| Row | Column | What | Was | Is |
|---|---|---|---|---|
| TCP port | fake | verdict | works | refused, nothing is created |

### Better

| Row | Column | What | Was | Is |
|---|---|---|---|---|
| 50 nodes join | aws | calls | 6 | 1 |

### Removed

- row lifecycle.node-leaves
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}

func differenceTable(t *testing.T, d Difference) string {
	t.Helper()
	var b bytes.Buffer
	if err := d.Table(&b, 0); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// edit changes a cell that works.
func edit(r *report.Report, change func(*report.Cell)) {
	cell := r.Capabilities[0].Cells["fake"]
	change(&cell)
	r.Capabilities[0].Cells["fake"] = cell
}

// spend changes the cost of an operation.
func spend(r *report.Report, change func(*report.Cost)) {
	cost := r.Operations[0].Costs["aws"]
	change(&cost)
	r.Operations[0].Costs["aws"] = cost
}
