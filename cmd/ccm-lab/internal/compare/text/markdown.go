package text

import (
	"fmt"
	"io"
	"slices"
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
	b.WriteString(differences(r))
	b.WriteString(defaults(r))
	b.WriteString(similarities(r))
	b.WriteString(managers(r))
	if len(r.Operations) > 0 {
		b.WriteString("## Cost of operations\n\nCalls to the cloud, and the changes among them; then the same " +
			"again, after a restart. Syncs that run at the same time share reads, so that two runs differ by a few calls.\n\n")
		b.WriteString(head("Operation", r.Own()))
		for _, o := range r.Operations {
			cells := []string{escape(o.Title)}
			for _, column := range r.Own() {
				cells = append(cells, markdownCost(o.Costs, column.Name))
			}
			b.WriteString(row(cells))
		}
	}
	_, err := io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

// sections writes a section with a table for each group of the rows that are included.
func sections(r report.Report, title string, included func(report.Capability) bool) string {
	var b strings.Builder
	columns := r.Own()
	for _, g := range r.Groups() {
		rows := slices.DeleteFunc(slices.Clone(g.Capabilities), func(c report.Capability) bool { return !included(c) })
		if len(rows) == 0 {
			continue
		}
		if b.Len() == 0 {
			b.WriteString("## " + title + "\n\n")
		}
		b.WriteString(head(g.Name, columns))
		for _, c := range rows {
			cells := []string{escape(c.Title)}
			for _, column := range columns {
				cells = append(cells, markdownCell(c, column.Name))
			}
			b.WriteString(row(cells))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// differences writes the rows in which clouds differ. The provider fake is the last column, and no cloud.
func differences(r report.Report) string {
	clouds := r.Clouds()
	return sections(r, "Where clouds differ", func(c report.Capability) bool { return !c.Values && c.Differs(clouds) })
}

// defaults writes the rows with values.
func defaults(r report.Report) string {
	return sections(r, "What a Service without annotations gets", func(c report.Capability) bool { return c.Values })
}

// similarities writes the rows in which all clouds have one verdict, as lists.
func similarities(r report.Report) string {
	var b strings.Builder
	clouds := r.Clouds()
	for _, verdict := range report.Verdicts() {
		for _, g := range r.Groups() {
			var titles []string
			for _, c := range g.Capabilities {
				if !c.Values && !c.Differs(clouds) && verdictOf(c, clouds) == verdict {
					titles = append(titles, escape(c.Title))
				}
			}
			if len(titles) == 0 {
				continue
			}
			if b.Len() == 0 {
				b.WriteString("## The same on all clouds\n\n")
			}
			fmt.Fprintf(&b, "- %s %s, %s: %s\n", verdict.Sign(), verdict.Short(), escape(g.Name), strings.Join(titles, " · "))
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// verdictOf returns the verdict of a row that is the same in all columns with a result.
func verdictOf(c report.Capability, columns []report.Column) report.Verdict {
	for _, column := range columns {
		if cell, ok := c.Cells[column.Name]; ok {
			return cell.Verdict
		}
	}
	return ""
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
	for _, c := range r.Own() {
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
