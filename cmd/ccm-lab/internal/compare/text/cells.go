package text

import (
	"fmt"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/screen"
)

func row(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

func markdownCell(c report.Capability, column string) string {
	cell, ok := c.Cells[column]
	switch {
	case !ok:
		return ""
	case c.Values && cell.Verdict == report.Works:
		return escape(cell.Summary)
	}
	text := cell.Verdict.Sign() + " " + cell.Verdict.Short()
	if cell.Verdict != report.Works && cell.Summary != "" {
		text += ": " + escape(cell.Phrase())
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
	text := screen.Plural(cost.Calls, "call") + ", " + screen.Plural(cost.Changes, "change")
	if cost.AgainCalls > 0 {
		text += fmt.Sprintf("; again %d, %d", cost.AgainCalls, cost.AgainChanges)
	}
	return text
}

// escape keeps a text in its cell of a table, and from being HTML.
func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`, "_", `\_`).Replace(oneLine(s))
}
