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
	// Worse are verdicts that are worse, more calls, and objects that are left now; Better the opposite.
	Worse, Better []Change
	// Added and Removed name columns, rows, and cells without a counterpart.
	Added, Removed []string
}

// Change is one value that differs.
type Change struct {
	Row, Column string
	Title       string // of the row
	What        string // "verdict", "calls", "changes", …
	Was, Is     string
}

// Regressed reports whether anything is worse. A row that is missing is not: a run may select rows.
func (d Difference) Regressed() bool { return len(d.Worse) > 0 }

// Empty reports whether there is no difference.
func (d Difference) Empty() bool {
	return len(d.Worse)+len(d.Better)+len(d.Added)+len(d.Removed) == 0
}

// Compare returns what changed since a baseline. Seconds are not compared: they depend on the machine. Calls of a
// scenario are compared exactly; of reads that depend on timing, only a multiple counts.
func Compare(baseline, now report.Report) Difference {
	var d Difference
	d.names("column", columnNames(baseline), columnNames(now))
	d.names("row", rowNames(baseline), rowNames(now))
	was := map[string]report.Capability{}
	for _, c := range baseline.Capabilities {
		was[c.ID] = c
	}
	for _, c := range now.Capabilities {
		if old, ok := was[c.ID]; ok {
			d.cells(old, c, commonColumns(baseline, now))
		}
	}
	wasCost := map[string]report.Operation{}
	for _, o := range baseline.Operations {
		wasCost[o.ID] = o
	}
	for _, o := range now.Operations {
		if old, ok := wasCost[o.ID]; ok {
			d.costs(old, o, commonColumns(baseline, now))
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

func (d *Difference) names(kind string, was, is []string) {
	for _, name := range is {
		if !slices.Contains(was, name) {
			d.Added = append(d.Added, kind+" "+name)
		}
	}
	for _, name := range was {
		if !slices.Contains(is, name) {
			d.Removed = append(d.Removed, kind+" "+name)
		}
	}
}

// existence adds a cell that only one of the reports has, and reports whether both have it.
func (d *Difference) existence(row, column string, was, is bool) bool {
	switch name := "cell " + row + ", " + column; {
	case is && !was:
		d.Added = append(d.Added, name)
	case was && !is:
		d.Removed = append(d.Removed, name)
	}
	return was && is
}

func (d *Difference) cells(old, now report.Capability, columns []string) {
	for _, column := range columns {
		was, wasOK := old.Cells[column]
		is, isOK := now.Cells[column]
		if !d.existence(now.ID, column, wasOK, isOK) {
			continue
		}
		add := func(what string, order int, was, is string) {
			d.add(order, Change{now.ID, column, now.Title, what, was, is})
		}
		add("verdict", is.Verdict.Compare(was.Verdict), was.Verdict.Label(), is.Verdict.Label())
		if is.Verdict == was.Verdict {
			// What works where it did not before may cost more without being a regression.
			calls := is.Calls - was.Calls
			if old.Periodic || now.Periodic {
				calls = orderUnstable(was.Calls-was.Changes, is.Calls-is.Changes)
			}
			add("calls", calls, fmt.Sprint(was.Calls), fmt.Sprint(is.Calls))
			add("changes", is.Changes-was.Changes, fmt.Sprint(was.Changes), fmt.Sprint(is.Changes))
		}
		add("left in the cloud", len(is.Leaked)-len(was.Leaked), list(was.Leaked), list(is.Leaked))
	}
}

func (d *Difference) costs(old, now report.Operation, columns []string) {
	for _, column := range columns {
		was, wasOK := old.Costs[column]
		is, isOK := now.Costs[column]
		if !d.existence(now.ID, column, wasOK && was.Missing == "", isOK && is.Missing == "") {
			continue
		}
		add := func(what string, order int, was, is string) {
			d.add(order, Change{now.ID, column, now.Title, what, was, is})
		}
		calls := is.Calls - was.Calls
		if old.SharedReads || now.SharedReads {
			calls = orderUnstable(was.Calls-was.Changes, is.Calls-is.Changes)
		}
		// A manager that starts reads for all Services at once.
		again := orderUnstable(was.AgainCalls-was.AgainChanges, is.AgainCalls-is.AgainChanges)
		for _, n := range []struct {
			what           string
			order, was, is int
		}{
			{"calls", calls, was.Calls, is.Calls},
			{"changes", is.Changes - was.Changes, was.Changes, is.Changes},
			{"calls again", again, was.AgainCalls, is.AgainCalls},
			{"changes again", is.AgainChanges - was.AgainChanges, was.AgainChanges, is.AgainChanges},
		} {
			add(n.what, n.order, fmt.Sprint(n.was), fmt.Sprint(n.is))
		}
		add("left after an interruption", len(is.Left)-len(was.Left), list(was.Left), list(is.Left))
	}
}

// unstableFactor is how many times as many reads there may be where their number depends on timing: without sharing
// them, ten Services need about ten times as many. Between two runs of the same program on a busy machine, the factor
// was 1.7.
const unstableFactor = 2

// orderUnstable compares numbers of reads that depend on timing: syncs share them, or they are periodic.
func orderUnstable(was, is int) int {
	switch {
	case is > unstableFactor*was:
		return 1
	case was > unstableFactor*is:
		return -1
	default:
		return 0
	}
}

// add files a change under worse if order is positive, under better if it is negative.
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
	for _, text := range []string{c.Row, c.Column, c.What, c.Was, c.Is} {
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
			text += row([]string{escape(c.Title), escape(c.Column), escape(c.What), escape(c.Was), escape(c.Is)})
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
