package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
)

// Reference returns the part of a report for the documentation: verdicts and summaries, with placeholders for values
// that the API server and the cloud choose, and the calls of operations. It has no times, no calls of scenarios and no
// evidence, which a run or a release has.
func Reference(r report.Report) report.Report {
	out := report.Report{Schema: r.Schema, Kubernetes: r.Kubernetes, Columns: r.Columns, Missing: r.Missing}
	for _, c := range r.Capabilities {
		cells := map[string]report.Cell{}
		for column, cell := range c.Cells {
			cell.Calls, cell.Changes, cell.Seconds, cell.Evidence = 0, 0, 0, nil
			cell.Summary = stable(cell.Summary)
			cells[column] = cell
		}
		c.Cells = cells
		out.Capabilities = append(out.Capabilities, c)
	}
	for _, o := range r.Operations {
		costs := map[string]report.Cost{}
		for column, cost := range o.Costs {
			cost.Seconds = 0
			cost.Missing, _, _ = strings.Cut(cost.Missing, "; the log of ccm ends: ")
			costs[column] = cost
		}
		o.Costs = costs
		out.Operations = append(out.Operations, o)
	}
	return out
}

// CheckReference returns why the rows and columns of a reference are not those of this program.
func CheckReference(r report.Report, scenarios []Scenario, columns []Column) error {
	var problems []string
	rows := map[string]report.Capability{}
	for _, c := range r.Capabilities {
		rows[c.ID] = c
	}
	for _, s := range scenarios {
		row, ok := rows[s.ID]
		delete(rows, s.ID)
		switch {
		case !ok:
			problems = append(problems, "row "+s.ID+" is missing")
			continue
		case row.Group != s.Group || row.Title != s.Title || row.Detail != s.Detail:
			problems = append(problems, "row "+s.ID+" has other texts")
		}
		for i := range columns {
			if _, ok := row.Cells[columns[i].Name]; !ok {
				problems = append(problems, "row "+s.ID+" has no cell of "+columns[i].Name)
			}
		}
	}
	for id := range rows {
		problems = append(problems, "row "+id+" has no scenario")
	}
	for _, c := range r.Columns {
		if !c.IsOther() &&
			!slices.ContainsFunc(columns, func(l Column) bool { return l.Name == c.Name && l.Title == c.Title }) {
			problems = append(problems, "column "+c.Name+" is not one of the linked clouds")
		}
	}
	problems = append(problems, checkOperations(r, columns)...)
	problems = append(problems, Failures(r)...)
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	return fmt.Errorf("%s", strings.Join(problems, "; "))
}

// checkOperations returns the operations that a reference lacks.
func checkOperations(r report.Report, columns []Column) []string {
	var problems []string
	for _, o := range operations() {
		i := slices.IndexFunc(r.Operations, func(p report.Operation) bool { return p.ID == o.ID && p.Title == o.Title })
		if i < 0 {
			problems = append(problems, "operation "+o.ID+" is missing")
			continue
		}
		for c := range columns {
			if _, ok := r.Operations[i].Costs[columns[c].Name]; !ok && columns[c].hasOperations() {
				problems = append(problems, "operation "+o.ID+" has no cost of "+columns[c].Name)
			}
		}
	}
	return problems
}
