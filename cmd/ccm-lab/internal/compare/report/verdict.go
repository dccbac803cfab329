package report

import (
	"cmp"
	"slices"
)

// display has the forms in which a verdict is shown: a sign that needs no colour, a word for a column and a
// label for a legend.
type display struct {
	verdict            Verdict
	sign, short, label string
}

// verdicts has every verdict, from best to worst.
var verdicts = []display{
	{Works, "✓", "works", "works"},
	{WorksDifferently, "≈", "differs", "works differently"},
	{NotApplicable, "–", "n/a", "not applicable"},
	{CreatedWithout, "○", "without", "created without it, with a warning"},
	{Refuses, "⊘", "refused", "refused, nothing is created"},
	{Ignored, "?", "ignored", "ignored in silence"},
	{Failed, "✗", "failed", "scenario failed"},
}

// Verdicts returns all verdicts, from best to worst.
func Verdicts() []Verdict {
	out := make([]Verdict, 0, len(verdicts))
	for _, w := range verdicts {
		out = append(out, w.verdict)
	}
	return out
}

// Known reports whether v is one of Verdicts.
func (v Verdict) Known() bool { return v.rank() < len(verdicts) }

// Compare returns a negative number if v is better than other, a positive one if it is worse, else zero.
func (v Verdict) Compare(other Verdict) int { return cmp.Compare(v.rank(), other.rank()) }

// Sign returns one character for v.
func (v Verdict) Sign() string { return v.display().sign }

// Short returns one word for v.
func (v Verdict) Short() string { return v.display().short }

// Label returns v in full, as a legend has it.
func (v Verdict) Label() string { return v.display().label }

// rank returns the position of v in verdicts, and their number for an unknown verdict.
func (v Verdict) rank() int {
	if i := slices.IndexFunc(verdicts, func(w display) bool { return w.verdict == v }); i >= 0 {
		return i
	}
	return len(verdicts)
}

func (v Verdict) display() display {
	if i := v.rank(); i < len(verdicts) {
		return verdicts[i]
	}
	return display{v, "!", string(v), string(v)}
}

// Contradicts reports whether what was observed differs from what the provider declares. What works differently works,
// what a load balancer is created without is refused, and a scenario that broke observed nothing.
func (c Cell) Contradicts() bool {
	observed := c.Verdict
	switch observed {
	case WorksDifferently:
		observed = Works
	case CreatedWithout:
		observed = Refuses
	}
	return c.Declared != "" && observed != Failed && observed != c.Declared
}

// Group is the capabilities of one group.
type Group struct {
	Name         string
	Capabilities []Capability
}

// Groups returns the capabilities by group, in the order in which groups first occur.
func (r Report) Groups() []Group {
	var out []Group
	for _, c := range r.Capabilities {
		i := slices.IndexFunc(out, func(g Group) bool { return g.Name == c.Group })
		if i < 0 {
			i = len(out)
			out = append(out, Group{Name: c.Group})
		}
		out[i].Capabilities = append(out[i].Capabilities, c)
	}
	return out
}

// Total returns the number of rows of a column with each verdict, without rows of values.
func (r Report) Total(column string) map[Verdict]int {
	out := map[Verdict]int{}
	for _, c := range r.Capabilities {
		if cell, ok := c.Cells[column]; ok && !c.Values {
			out[cell.Verdict]++
		}
	}
	return out
}

// Works returns how many rows of a column work, and how many rows apply to its cloud.
func (r Report) Works(column string) (works, applicable int) {
	for verdict, n := range r.Total(column) {
		if verdict != NotApplicable {
			applicable += n
		}
		if verdict == Works || verdict == WorksDifferently {
			works += n
		}
	}
	return works, applicable
}

// Differs reports whether the cells of a row differ in columns that keep reports, in their verdicts or values. A column
// without a result does not count.
func (c Capability) Differs(columns []Column) bool {
	seen := map[string]bool{}
	for _, column := range columns {
		cell, ok := c.Cells[column.Name]
		switch {
		case !ok:
		case c.Values:
			seen[cell.Summary] = true
		default:
			seen[string(cell.Verdict)] = true
		}
	}
	return len(seen) > 1
}

// Clouds returns the columns of clouds with ccm: all but that of the provider fake and those of other managers, unless
// there are no others.
func (r Report) Clouds() []Column {
	clouds := slices.DeleteFunc(slices.Clone(r.Columns), func(c Column) bool {
		return c.Provider == providerFake || c.IsOther()
	})
	if len(clouds) == 0 {
		return r.Columns
	}
	return clouds
}

// Own returns the columns of ccm, those of clouds first. If there are none, it returns all columns.
func (r Report) Own() []Column {
	own := slices.DeleteFunc(r.OrderedColumns(), Column.IsOther)
	if len(own) == 0 {
		return r.OrderedColumns()
	}
	return own
}

// OrderedColumns returns the columns of clouds, each followed by those of other managers on it, then the rest.
func (r Report) OrderedColumns() []Column {
	var columns []Column
	pairs := r.Pairs()
	for _, c := range r.Clouds() {
		columns = append(columns, c)
		for _, p := range pairs {
			if p.Own == c {
				columns = append(columns, p.Other)
			}
		}
	}
	for _, c := range r.Columns {
		if !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	return columns
}

// providerFake is the provider without a cloud.
const providerFake = "fake"

// Problem is one reason why a report is not clean.
type Problem struct {
	Row    string // ID of a capability or an operation; empty for the column as a whole
	Column string // name; empty for the run as a whole
	Text   string
}

// Problems returns what a reader must know before trusting the report: columns without results, verdicts that
// contradict a declaration, objects that were left in the cloud, and rows that are missing. What another manager did in
// an earlier run is a result, and no problem of this one.
func (r Report) Problems() []Problem {
	var out []Problem
	for _, missing := range r.Missing {
		out = append(out, Problem{Text: "missing: " + missing})
	}
	for _, column := range r.Columns {
		if column.Observed != "" {
			continue
		}
		if column.Error != "" {
			out = append(out, Problem{Column: column.Name, Text: column.Error})
		}
		for _, c := range r.Capabilities {
			out = append(out, c.problems(column.Name)...)
		}
		for _, o := range r.Operations {
			for _, left := range o.Costs[column.Name].Left {
				out = append(out, Problem{o.ID, column.Name, "left after an interruption: " + left})
			}
		}
	}
	return out
}

func (c Capability) problems(column string) []Problem {
	var out []Problem
	cell := c.Cells[column]
	if cell.Contradicts() {
		out = append(out, Problem{c.ID, column,
			"declared \"" + cell.Declared.Label() + "\", observed \"" + cell.Verdict.Label() + "\""})
	}
	for _, leaked := range cell.Leaked {
		out = append(out, Problem{c.ID, column, "left in the cloud: " + leaked})
	}
	return out
}
