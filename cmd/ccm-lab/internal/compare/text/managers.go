package text

import (
	"fmt"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
)

// managers writes a table for each column of another manager, beside that of ccm on the same cloud: the rows in which
// they differ, and what operations cost both.
func managers(r report.Report) string {
	var b strings.Builder
	for _, p := range r.Pairs() {
		if b.Len() == 0 {
			b.WriteString("## Beside today's managers\n\nBinaries of the clouds' own managers ran the same scenarios on the " +
				"same simulated clouds, with their own annotations. Each outcome is that of one run. Rows in which both do the " +
				"same are left out. So is the node that joins: here it is Ready as soon as it registers, and these managers make " +
				"it a member when it becomes Ready. Changes are calls that would change something, also those that find nothing " +
				"to delete; calls include reads of the metadata server, which are local on a real instance.\n\n")
		}
		b.WriteString(beside(r, p))
	}
	return b.String()
}

// beside writes the section of one pair.
func beside(r report.Report, p report.Pair) string {
	var differing []string
	rows, same := 0, 0
	for _, c := range r.Capabilities {
		// Examples repeat other rows, and are judged by Warning Events, which other managers rarely have.
		if _, ok := c.Cells[p.Other.Name]; !ok || c.Group == report.GroupExamples || c.ID == report.NodeJoins {
			continue
		}
		rows++
		if c.Differs([]report.Column{p.Own, p.Other}) {
			differing = append(differing, row([]string{escape(c.Group + ": " + c.Title), markdownCell(c, p.Own.Name),
				markdownCell(c, p.Other.Name)}))
			continue
		}
		same++
	}
	for _, o := range r.Operations {
		if cost, ok := o.Costs[p.Other.Name]; ok && cost.Missing == "" {
			differing = append(differing, row([]string{escape(o.Title), markdownCost(o.Costs, p.Own.Name),
				markdownCost(o.Costs, p.Other.Name)}))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "### %s and %s\n\n", escape(p.Own.Title), escape(p.Other.Manager()))
	if p.Other.Observed != "" {
		fmt.Fprintf(&b, "Observed on %s. ", p.Other.Observed)
	}
	fmt.Fprintf(&b, "In %d of %d rows both do the same.\n\n", same, rows)
	b.WriteString(row([]string{"", "here", escape(p.Other.Manager())}) + "|---|---|---|\n")
	b.WriteString(strings.Join(differing, "") + "\n")
	return b.String()
}
