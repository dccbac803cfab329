package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
)

// view is what the template shows.
type view struct {
	Report     report.Report
	Policy     string
	Style      template.CSS
	Script     template.JS
	Problems   []problemView
	Verdicts   []verdictView
	Columns    []columnView
	Groups     []groupView
	Operations []operationView
	Evidence   []evidenceView
	Legend     legend
}

// legend is what the script needs to name verdicts, from best to worst, and columns.
type legend struct {
	Verdicts []legendVerdict `json:"verdicts"`
	Columns  []legendColumn  `json:"columns"`
}

type legendVerdict struct {
	Verdict report.Verdict `json:"verdict"`
	Label   string         `json:"label"`
}

type legendColumn struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Provider string `json:"provider"`
	// Cloud is set for columns of clouds: rows differ if these do.
	Cloud bool `json:"cloud"`
	// Other is set for other managers and for clusters with several clouds, which the first view does not show.
	Other bool `json:"other,omitempty"`
}

// problemView is a problem; Linked if there is a cell with its evidence.
type problemView struct {
	report.Problem
	Linked bool
}

// verdictView is a verdict with its number of cells.
type verdictView struct {
	Verdict      report.Verdict
	Label, Short string
	Count        int
	// X and Width are the place of a verdict in the bar of a column, in percent.
	X, Width string
}

type columnView struct {
	report.Column
	// Apart is set for a column of no cloud, such as that of the provider fake.
	Apart             bool
	Works, Applicable int
	Verdicts          []verdictView
}

type groupView struct {
	Name string
	Rows []rowView
}

type rowView struct {
	report.Capability
	Cells []cellView
}

type cellView struct {
	Column report.Column
	Exists bool
	Cell   report.Cell
	// Text is what the cell shows beside the verdict, or instead of it in a row of values.
	Text    string
	Short   string
	Label   string // for screen readers
	Problem bool
}

type operationView struct {
	report.Operation
	Costs []costView
}

type costView struct {
	Column report.Column
	Exists bool
	Cost   report.Cost
	// Calls and Changes are the lengths of the bars, in percent of the most calls of the row.
	Calls, Changes string
}

// evidenceView is the data of one cell, for the script.
type evidenceView struct {
	ID   string
	Data evidenceData
}

type evidenceData struct {
	Verdict  report.Verdict `json:"verdict"`
	Declared report.Verdict `json:"declared,omitempty"`
	Summary  string         `json:"summary"`
	Calls    int            `json:"calls"`
	Changes  int            `json:"changes"`
	Seconds  float64        `json:"seconds"`
	Leaked   []string       `json:"leaked,omitempty"`
	Manifest string         `json:"manifest,omitempty"`
	Plan     string         `json:"plan,omitempty"`
	Status   string         `json:"status,omitempty"`
	Checks   []report.Check `json:"checks,omitempty"`
	Events   []report.Event `json:"events,omitempty"`
	Objects  []objectChange `json:"objects,omitempty"`
	Log      []report.Call  `json:"log,omitempty"`
}

func newView(r report.Report) view {
	r.Columns = r.OrderedColumns()
	clouds := r.Clouds()
	v := view{Report: r}
	for _, p := range r.Problems() {
		linked := slices.ContainsFunc(r.Capabilities, func(c report.Capability) bool { return c.ID == p.Row })
		v.Problems = append(v.Problems, problemView{p, linked})
	}
	total := map[report.Verdict]int{}
	for _, c := range r.Columns {
		column := newColumn(r, c)
		for _, verdict := range column.Verdicts {
			total[verdict.Verdict] += verdict.Count
		}
		isCloud := slices.Contains(clouds, c) || c.IsOther()
		column.Apart = !isCloud
		v.Columns = append(v.Columns, column)
		v.Legend.Columns = append(v.Legend.Columns, legendColumn{c.Name, c.Title, c.Provider, isCloud,
			c.IsOther() || c.Others != ""})
	}
	for _, verdict := range report.Verdicts() {
		v.Legend.Verdicts = append(v.Legend.Verdicts, legendVerdict{verdict, verdict.Label()})
		if total[verdict] > 0 {
			v.Verdicts = append(v.Verdicts, newVerdict(verdict, total[verdict]))
		}
	}
	for _, g := range r.Groups() {
		group := groupView{Name: g.Name}
		for _, c := range g.Capabilities {
			row := rowView{Capability: c}
			for _, column := range r.Columns {
				cell := newCell(c, column)
				row.Cells = append(row.Cells, cell)
				if cell.Exists {
					v.Evidence = append(v.Evidence, newEvidence(c.ID, column.Name, cell.Cell))
				}
			}
			group.Rows = append(group.Rows, row)
		}
		v.Groups = append(v.Groups, group)
	}
	for _, o := range r.Operations {
		v.Operations = append(v.Operations, newOperation(o, r.Columns))
	}
	return v
}

func newVerdict(v report.Verdict, count int) verdictView {
	return verdictView{Verdict: v, Label: v.Label(), Short: v.Short(), Count: count}
}

func newColumn(r report.Report, c report.Column) columnView {
	out := columnView{Column: c}
	counts, sum := r.Total(c.Name), 0
	for _, n := range counts {
		sum += n
	}
	x := 0
	for _, verdict := range report.Verdicts() {
		n := counts[verdict]
		if n == 0 {
			continue
		}
		part := newVerdict(verdict, n)
		part.X, part.Width = percent(x, sum), percent(n, sum)
		out.Verdicts = append(out.Verdicts, part)
		x += n
	}
	out.Works, out.Applicable = r.Works(c.Name)
	return out
}

func newCell(c report.Capability, column report.Column) cellView {
	cell, ok := c.Cells[column.Name]
	out := cellView{Column: column, Exists: ok, Cell: cell}
	if !ok {
		return out
	}
	out.Short, out.Text = cell.Verdict.Short(), cell.Phrase()
	out.Problem = cell.Contradicts() || len(cell.Leaked) > 0
	out.Label = fmt.Sprintf("%s, %s: %s. %s %d calls.", c.Title, column.Title, cell.Verdict.Label(),
		strings.TrimSpace(cell.Summary), cell.Calls)
	return out
}

func newOperation(o report.Operation, columns []report.Column) operationView {
	maxCalls := 1
	for _, cost := range o.Costs {
		maxCalls = max(maxCalls, cost.Calls)
	}
	out := operationView{Operation: o}
	for _, column := range columns {
		cost, ok := o.Costs[column.Name]
		out.Costs = append(out.Costs, costView{Column: column, Exists: ok, Cost: cost,
			Calls: percent(cost.Calls, maxCalls), Changes: percent(cost.Changes, maxCalls)})
	}
	return out
}

func newEvidence(row, column string, c report.Cell) evidenceView {
	d := evidenceData{Verdict: c.Verdict, Summary: c.Summary, Calls: c.Calls, Changes: c.Changes, Seconds: c.Seconds,
		Leaked: c.Leaked}
	if c.Contradicts() {
		d.Declared = c.Declared
	}
	if e := c.Evidence; e != nil {
		d.Manifest, d.Plan, d.Status, d.Checks, d.Events, d.Log = e.Manifest, e.Plan, e.Status, e.Checks, e.Events, e.Calls
		d.Objects = changes(e.Before, e.After)
	}
	return evidenceView{"evidence:" + row + "/" + column, d}
}

func percent(n, total int) string {
	if total == 0 {
		return "0%"
	}
	return fmt.Sprintf("%.2f%%", 100*float64(n)/float64(total))
}

// objectChange is one cloud object before and after a scenario.
type objectChange struct {
	Kind   string        `json:"kind"`
	Name   string        `json:"name"`
	ID     string        `json:"id"`
	Change string        `json:"change"` // created, deleted, changed or same
	Fields []fieldChange `json:"fields,omitempty"`
}

type fieldChange struct {
	Name   string `json:"name"`
	Before string `json:"was"`
	After  string `json:"is"`
}

// changes compares cloud objects before and after a scenario: created, changed and deleted ones, then the others.
func changes(before, after []report.Object) []objectChange {
	type key struct{ kind, id string }
	deleted := map[key]report.Object{}
	for _, o := range before {
		deleted[key{o.Kind, o.ID}] = o
	}
	var out []objectChange
	for _, o := range after {
		k := key{o.Kind, o.ID}
		previous, existed := deleted[k]
		delete(deleted, k)
		c := objectChange{Kind: o.Kind, Name: o.Name, ID: o.ID, Fields: fields(previous.Fields, o.Fields)}
		switch {
		case !existed:
			c.Change = "created"
		case slices.ContainsFunc(c.Fields, func(f fieldChange) bool { return f.Before != f.After }):
			c.Change = "changed"
		default:
			c.Change = "same"
		}
		out = append(out, c)
	}
	for _, o := range before {
		if _, ok := deleted[key{o.Kind, o.ID}]; ok {
			out = append(out, objectChange{Kind: o.Kind, Name: o.Name, ID: o.ID, Change: "deleted",
				Fields: fields(o.Fields, nil)})
		}
	}
	order := []string{"created", "changed", "deleted", "same"}
	slices.SortStableFunc(out, func(a, b objectChange) int {
		return slices.Index(order, a.Change) - slices.Index(order, b.Change)
	})
	return out
}

// fields returns the fields of both, sorted by name.
func fields(before, after map[string]string) []fieldChange {
	var names []string
	for name := range before {
		names = append(names, name)
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []fieldChange
	for _, name := range names {
		out = append(out, fieldChange{name, before[name], after[name]})
	}
	return out
}
