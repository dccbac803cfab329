package text

import (
	"fmt"
	"io"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
)

// Markdown writes a report as sections and tables, without a title and without anything that depends on the machine:
// two runs of the same behaviour give the same text.
func Markdown(w io.Writer, r report.Report) error {
	var b strings.Builder
	if problems := r.Problems(); len(problems) > 0 {
		b.WriteString("> **Problems of this run**\n>\n")
		for _, p := range problems {
			b.WriteString("> - " + escape(formatProblem(p)) + "\n")
		}
		b.WriteString("\n")
	}
	if legend := legend(r); len(legend) > 0 {
		b.WriteString(strings.Join(legend, " · ") + "\n\n")
	}
	for _, g := range r.Groups() {
		b.WriteString("## " + escape(g.Name) + "\n\n")
		b.WriteString(head("Capability", r.Columns))
		for _, c := range g.Capabilities {
			cells := []string{escape(c.Title)}
			for _, column := range r.Columns {
				cells = append(cells, markdownCell(c.Cells, column.Name))
			}
			b.WriteString(row(cells))
		}
		b.WriteString("\n")
	}
	if len(r.Operations) > 0 {
		b.WriteString("## Cost of operations\n\nCalls to the cloud, and the changes among them; then the same " +
			"again, after a restart.\n\n")
		b.WriteString(head("Operation", r.Columns))
		for _, o := range r.Operations {
			cells := []string{escape(o.Title)}
			for _, column := range r.Columns {
				cells = append(cells, markdownCost(o.Costs, column.Name))
			}
			b.WriteString(row(cells))
		}
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

// Summary writes the few lines that a README has room for: one for each column, and what its rows come to.
func Summary(w io.Writer, r report.Report) error {
	var b strings.Builder
	shown := report.Verdicts()
	titles := []string{""}
	for _, v := range shown {
		if v != report.Failed {
			titles = append(titles, v.Sign()+" "+v.Label())
		}
	}
	b.WriteString(row(titles) + "|---" + strings.Repeat("|:-:", len(titles)-1) + "|\n")
	for _, c := range r.Columns {
		cells := []string{escape(c.Title)}
		total := r.Total(c.Name)
		for _, v := range shown {
			if v != report.Failed {
				cells = append(cells, fmt.Sprint(total[v]))
			}
		}
		b.WriteString(row(cells))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func head(first string, columns []report.Column) string {
	titles := []string{first}
	for _, c := range columns {
		titles = append(titles, escape(c.Title))
	}
	return row(titles) + strings.Repeat("|---", len(titles)) + "|\n"
}

func row(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

func markdownCell(cells map[string]report.Cell, column string) string {
	cell, ok := cells[column]
	if !ok {
		return ""
	}
	text := cell.Verdict.Sign() + " " + cell.Verdict.Short()
	if cell.Verdict != report.Works && cell.Summary != "" {
		text += ": " + escape(cell.Summary)
	}
	return text
}

func markdownCost(costs map[string]report.Cost, column string) string {
	cost, ok := costs[column]
	switch {
	case !ok:
		return ""
	case cost.Missing != "":
		return escape(cost.Missing)
	}
	return fmt.Sprintf("%d calls, %d changes; again %d, %d", cost.Calls, cost.Changes, cost.AgainCalls,
		cost.AgainChanges)
}

// escape keeps a text in its cell of a table, and from being HTML.
func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`).Replace(oneLine(s))
}
