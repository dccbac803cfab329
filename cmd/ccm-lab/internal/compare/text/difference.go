package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/screen"
)

// Difference is what changed from one report to another.
type Difference struct {
	// Worse are verdicts that are worse, more calls, and new orphans; Better the opposite.
	Worse, Better []Change
	// Added and Removed name columns, rows, and cells without a counterpart.
	Added, Removed []string
}

// Change is one value that differs.
type Change struct {
	Row, Column   string
	Title         string // of the row
	Value         string // "verdict", "calls", "changes", …
	Before, After string
}

// Regressed reports whether anything is worse. A row that is missing is not: a run may select rows.
func (d Difference) Regressed() bool { return len(d.Worse) > 0 }

// Empty reports whether there is no difference.
func (d Difference) Empty() bool {
	return len(d.Worse)+len(d.Better)+len(d.Added)+len(d.Removed) == 0
}

// Compare returns what changed since a baseline. Seconds are not compared: they depend on the machine. Calls of a
// scenario are compared exactly; of reads that depend on timing, only a multiple counts.
func Compare(baseline, current report.Report) Difference {
	var d Difference
	d.names("column", columnNames(baseline), columnNames(current))
	d.names("row", rowNames(baseline), rowNames(current))
	capabilities := map[string]report.Capability{}
	for _, c := range baseline.Capabilities {
		capabilities[c.ID] = c
	}
	for _, c := range current.Capabilities {
		if previous, ok := capabilities[c.ID]; ok {
			d.cells(previous, c, commonColumns(baseline, current))
		}
	}
	operations := map[string]report.Operation{}
	for _, o := range baseline.Operations {
		operations[o.ID] = o
	}
	for _, o := range current.Operations {
		if previous, ok := operations[o.ID]; ok {
			d.costs(previous, o, commonColumns(baseline, current))
		}
	}
	return d
}

func columnNames(r report.Report) (names []string) {
	for _, c := range r.Columns {
		names = append(names, c.Name)
	}
	return names
}

func rowNames(r report.Report) (names []string) {
	for _, c := range r.Capabilities {
		names = append(names, c.ID)
	}
	for _, o := range r.Operations {
		names = append(names, o.ID)
	}
	return names
}

func commonColumns(a, b report.Report) []string {
	names := columnNames(a)
	return slices.DeleteFunc(columnNames(b), func(name string) bool { return !slices.Contains(names, name) })
}

func (d *Difference) names(kind string, before, after []string) {
	for _, name := range after {
		if !slices.Contains(before, name) {
			d.Added = append(d.Added, kind+" "+name)
		}
	}
	for _, name := range before {
		if !slices.Contains(after, name) {
			d.Removed = append(d.Removed, kind+" "+name)
		}
	}
}

// existence adds a cell that only one of the reports has, and reports whether both have it.
func (d *Difference) existence(row, column string, before, after bool) bool {
	switch name := "cell " + row + ", " + column; {
	case after && !before:
		d.Added = append(d.Added, name)
	case before && !after:
		d.Removed = append(d.Removed, name)
	}
	return before && after
}

func (d *Difference) cells(previous, current report.Capability, columns []string) {
	for _, column := range columns {
		before, hadCell := previous.Cells[column]
		after, hasCell := current.Cells[column]
		if !d.existence(current.ID, column, hadCell, hasCell) {
			continue
		}
		add := func(value string, order int, before, after string) {
			d.add(order, Change{current.ID, column, current.Title, value, before, after})
		}
		add("verdict", after.Verdict.Compare(before.Verdict), before.Verdict.Label(), after.Verdict.Label())
		if after.Verdict == before.Verdict {
			// What works where it did not before may cost more without being a regression.
			calls := after.Calls - before.Calls
			if previous.Periodic || current.Periodic {
				calls = orderUnstable(before.Calls-before.Changes, after.Calls-after.Changes)
			}
			add("calls", calls, fmt.Sprint(before.Calls), fmt.Sprint(after.Calls))
			add("changes", after.Changes-before.Changes, fmt.Sprint(before.Changes), fmt.Sprint(after.Changes))
		}
		add("left in the cloud", len(after.Leaked)-len(before.Leaked), list(before.Leaked), list(after.Leaked))
	}
}

func (d *Difference) costs(previous, current report.Operation, columns []string) {
	for _, column := range columns {
		before, hadCell := previous.Costs[column]
		after, hasCell := current.Costs[column]
		if !d.existence(current.ID, column, hadCell && before.Missing == "", hasCell && after.Missing == "") {
			continue
		}
		add := func(value string, order int, before, after string) {
			d.add(order, Change{current.ID, column, current.Title, value, before, after})
		}
		calls := after.Calls - before.Calls
		if previous.SharedReads || current.SharedReads {
			calls = orderUnstable(before.Calls-before.Changes, after.Calls-after.Changes)
		}
		// A manager that starts reads for all Services at once.
		again := orderUnstable(before.AgainCalls-before.AgainChanges, after.AgainCalls-after.AgainChanges)
		for _, n := range []struct {
			value                string
			order, before, after int
		}{
			{"calls", calls, before.Calls, after.Calls},
			{"changes", after.Changes - before.Changes, before.Changes, after.Changes},
			{"calls again", again, before.AgainCalls, after.AgainCalls},
			{"changes again", after.AgainChanges - before.AgainChanges, before.AgainChanges, after.AgainChanges},
		} {
			add(n.value, n.order, fmt.Sprint(n.before), fmt.Sprint(n.after))
		}
		add("left after an interruption", len(after.Left)-len(before.Left), list(before.Left), list(after.Left))
	}
}

// unstableFactor is how many times as many reads there may be where their number depends on timing: without sharing
// them, ten Services need about ten times as many. Between two runs of the same program on a busy machine, the factor
// was 1.7.
const unstableFactor = 2

// orderUnstable compares numbers of reads that depend on timing: syncs share them, or they are periodic.
func orderUnstable(before, after int) int {
	switch {
	case after > unstableFactor*before:
		return 1
	case before > unstableFactor*after:
		return -1
	default:
		return 0
	}
}

// add adds a change to Worse if order is positive, to Better if it is negative.
func (d *Difference) add(order int, c Change) {
	switch {
	case order > 0:
		d.Worse = append(d.Worse, c)
	case order < 0:
		d.Better = append(d.Better, c)
	}
}

func list(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

// Table writes the difference for a terminal of this width, 0 for unlimited.
func (d Difference) Table(w io.Writer, width int) error {
	if d.Empty() {
		_, err := io.WriteString(w, "no difference\n")
		return err
	}
	var b strings.Builder
	if len(d.Worse)+len(d.Better) > 0 {
		header := []string{"", "ROW", "COLUMN", "WHAT", "WAS", "IS"}
		var rows [][]screen.Cell
		for _, c := range d.Worse {
			rows = append(rows, changeCells(screen.NewCell(screen.Bad, "worse"), c))
		}
		for _, c := range d.Better {
			rows = append(rows, changeCells(screen.NewCell(screen.Good, "better"), c))
		}
		b.WriteString(screen.Table(header, rows, width, screen.Colours(w)))
	}
	for _, name := range d.Added {
		b.WriteString("added: " + oneLine(name) + "\n")
	}
	for _, name := range d.Removed {
		b.WriteString("removed: " + oneLine(name) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func changeCells(first screen.Cell, c Change) []screen.Cell {
	out := []screen.Cell{first}
	for _, text := range []string{c.Row, c.Column, c.Value, c.Before, c.After} {
		out = append(out, screen.NewCell(screen.Plain, oneLine(text)))
	}
	return out
}

// Markdown writes the difference, for release notes.
func (d Difference) Markdown(w io.Writer) error {
	if d.Empty() {
		_, err := io.WriteString(w, "No difference.\n")
		return err
	}
	var sections []string
	for _, part := range []struct {
		title   string
		changes []Change
	}{{"Worse", d.Worse}, {"Better", d.Better}} {
		if len(part.changes) == 0 {
			continue
		}
		text := "### " + part.title + "\n\n" + row([]string{"Row", "Column", "What", "Was", "Is"}) +
			strings.Repeat("|---", 5) + "|\n"
		for _, c := range part.changes {
			text += row([]string{escape(c.Title), escape(c.Column), escape(c.Value), escape(c.Before), escape(c.After)})
		}
		sections = append(sections, text)
	}
	for _, part := range []struct {
		title string
		names []string
	}{{"Added", d.Added}, {"Removed", d.Removed}} {
		if len(part.names) == 0 {
			continue
		}
		text := "### " + part.title + "\n\n"
		for _, name := range part.names {
			text += "- " + escape(name) + "\n"
		}
		sections = append(sections, text)
	}
	_, err := io.WriteString(w, strings.Join(sections, "\n"))
	return err
}
