// Package text writes comparisons for terminals, for Markdown pages and as JSON, and compares two of them.
package text

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/screen"
)

// Table writes a report for a terminal of this width, 0 for unlimited, with colours if w is a terminal that has them.
// The wider the terminal, the more each cell shows: a sign, a word, calls, a summary.
func Table(w io.Writer, r report.Report, width int) error {
	_, err := io.WriteString(w, table(r, width, screen.Colours(w)))
	return err
}

func table(r report.Report, width int, colour bool) string {
	var b strings.Builder
	header := []string{"CAPABILITY"}
	for _, c := range r.Columns {
		header = append(header, strings.ToUpper(c.Name))
	}
	rows := fit(header, width, func(detail int) [][]screen.Cell { return matrix(r, detail) })
	b.WriteString(screen.Table(header, rows, width, colour))
	if len(r.Operations) > 0 {
		header[0] = "OPERATION"
		rows = fit(header, width, func(detail int) [][]screen.Cell { return costs(r, detail) })
		b.WriteString("\n" + screen.Table(header, rows, width, colour))
	}
	if legend := legend(r); len(legend) > 0 {
		b.WriteString("\n" + wrap(legend, "   ", width))
	}
	if problems := r.Problems(); len(problems) > 0 {
		b.WriteString("\nPROBLEMS\n")
		for _, p := range problems {
			b.WriteString(wrap(strings.Fields(formatProblem(p)), " ", width))
		}
	}
	return b.String()
}

// titleWidth is the width of the first column below which the other cells show less detail.
const titleWidth = 32

// detailLevels is the number of levels of detail of cells.
const detailLevels = 4

// fit returns the rows with the most detail that fit without shortening more than titles.
func fit(header []string, width int, rows func(detail int) [][]screen.Cell) [][]screen.Cell {
	for detail := detailLevels - 1; detail > 0; detail-- {
		out := rows(detail)
		if width <= 0 || naturalWidth(header, out) <= width {
			return out
		}
	}
	return rows(0)
}

// naturalWidth returns the width of a table that shortens nothing but titles, to titleWidth.
func naturalWidth(header []string, rows [][]screen.Cell) int {
	sum := 0
	for i, head := range header {
		widest := utf8.RuneCountInString(head)
		for _, row := range rows {
			if i < len(row) {
				widest = max(widest, row[i].Width())
			}
		}
		if i == 0 {
			widest = min(widest, titleWidth)
		}
		sum += widest + gap
	}
	return sum - gap
}

// problemMark follows the sign of a cell that has a problem.
const problemMark = "!"

// gap is the space between two columns of a screen's table.
const gap = 2

// matrix returns one row per capability and one per group.
func matrix(r report.Report, detail int) [][]screen.Cell {
	var rows [][]screen.Cell
	for _, g := range r.Groups() {
		rows = append(rows, []screen.Cell{screen.NewCell(screen.Bold, oneLine(g.Name))})
		for _, c := range g.Capabilities {
			row := []screen.Cell{screen.NewCell(screen.Plain, "  "+oneLine(c.Title))}
			for _, column := range r.Columns {
				row = append(row, verdictCell(c, column.Name, detail))
			}
			rows = append(rows, row)
		}
	}
	total := []screen.Cell{screen.NewCell(screen.Bold, "Works")}
	for _, column := range r.Columns {
		total = append(total, screen.NewCell(screen.Bold, worksOf(r, column.Name)))
	}
	return append(rows, total)
}

// summaryWidth bounds the summaries in a table, which would otherwise be as wide as a sentence.
const summaryWidth = 48

func verdictCell(c report.Capability, column string, detail int) screen.Cell {
	cell, ok := c.Cells[column]
	if !ok {
		return screen.NewCell(screen.Dim, "")
	}
	text := cell.Verdict.Sign()
	if cell.Contradicts() || len(cell.Leaked) > 0 {
		text += problemMark
	}
	if detail > 0 {
		text += " " + cell.Verdict.Short()
	}
	if detail > 1 && cell.Verdict != report.NotApplicable {
		text += fmt.Sprintf(", %d calls", cell.Calls)
	}
	if detail > 2 && (c.Values || cell.Verdict != report.Works) && cell.Summary != "" {
		text += ": " + oneLine(cell.Phrase())
		if runes := []rune(text); len(runes) > summaryWidth {
			text = strings.TrimSpace(string(runes[:summaryWidth-1])) + "…"
		}
	}
	return screen.NewCell(styleOf(cell.Verdict), text)
}

func styleOf(v report.Verdict) screen.Style {
	switch v {
	case report.Works:
		return screen.Good
	case report.WorksDifferently, report.CreatedWithout, report.Refuses:
		return screen.Busy
	case report.NotApplicable:
		return screen.Dim
	default:
		return screen.Bad
	}
}

// worksOf returns how many of the rows that apply to a column work, such as "40/52".
func worksOf(r report.Report, column string) string {
	works, applicable := r.Works(column)
	if applicable == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", works, applicable)
}

// costs returns one row per operation.
func costs(r report.Report, detail int) [][]screen.Cell {
	var rows [][]screen.Cell
	for _, o := range r.Operations {
		row := []screen.Cell{screen.NewCell(screen.Plain, oneLine(o.Title))}
		for _, c := range r.Columns {
			row = append(row, costCell(o.Costs, c.Name, detail))
		}
		rows = append(rows, row)
	}
	return rows
}

func costCell(costs map[string]report.Cost, column string, detail int) screen.Cell {
	cost, ok := costs[column]
	if !ok {
		return screen.NewCell(screen.Dim, "")
	}
	if cost.Missing != "" {
		if detail < 3 {
			return screen.NewCell(screen.Dim, "missing")
		}
		return screen.NewCell(screen.Dim, oneLine(cost.Missing))
	}
	text := fmt.Sprintf("%d/%d", cost.Calls, cost.Changes)
	if detail > 0 {
		text = fmt.Sprintf("%d calls, %d changes", cost.Calls, cost.Changes)
	}
	if detail > 1 && cost.Seconds > 0 {
		text += fmt.Sprintf(", %.1f s", cost.Seconds)
	}
	if detail > 2 {
		text += fmt.Sprintf("; again %d, %d", cost.AgainCalls, cost.AgainChanges)
	}
	style := screen.Plain
	if len(cost.Left) > 0 {
		style = screen.Bad
	}
	return screen.NewCell(style, text)
}

// legend explains the signs that a report has.
func legend(r report.Report) []string {
	seen := map[report.Verdict]bool{}
	for _, c := range r.Columns {
		for verdict := range r.Total(c.Name) {
			seen[verdict] = true
		}
	}
	var out []string
	for _, verdict := range report.Verdicts() {
		if seen[verdict] {
			out = append(out, verdict.Sign()+" "+verdict.Label())
		}
	}
	if slices.ContainsFunc(r.Problems(), func(p report.Problem) bool { return p.Row != "" }) {
		out = append(out, problemMark+" see the problems")
	}
	return out
}

func formatProblem(p report.Problem) string {
	place := p.Column
	if p.Row != "" {
		place = strings.TrimPrefix(place+", "+p.Row, ", ")
	}
	if place != "" {
		place += ": "
	}
	return place + oneLine(p.Text)
}

// oneLine removes line breaks and control characters, which a terminal would interpret.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.Join(strings.Fields(s), " "))
}

// wrap joins parts to lines of at most width columns, 0 for unlimited.
func wrap(parts []string, separator string, width int) string {
	var b strings.Builder
	column := 0
	for i, part := range parts {
		n := utf8.RuneCountInString(part)
		switch {
		case i == 0:
		case width > 0 && column+len(separator)+n > width:
			b.WriteString("\n")
			column = 0
		default:
			b.WriteString(separator)
			column += len(separator)
		}
		b.WriteString(part)
		column += n
	}
	return b.String() + "\n"
}
