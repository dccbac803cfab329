package report

import (
	"slices"
	"strings"
)

// programCCM is the program of this project.
const programCCM = "ccm"

// IsOther reports whether the column is that of another manager.
func (c Column) IsOther() bool { return c.Program != "" && c.Program != programCCM }

// Manager returns the name of the column's manager, without its kind of load balancers.
func (c Column) Manager() string {
	if !c.IsOther() {
		return programCCM
	}
	return strings.TrimSuffix(c.Title, ", "+c.Kind+" load balancer")
}

// GroupExamples is the group of the manifests in examples/.
const GroupExamples = "Examples"

// NodeJoins is the ID of the row about a node that joins while load balancers exist.
const NodeJoins = "service.node-joins"

// Pair is a column of ccm, and that of another manager on the same cloud with the same kind of load balancers.
type Pair struct{ Own, Other Column }

// Pairs returns a pair for each column of another manager that has a column of ccm beside it.
func (r Report) Pairs() []Pair {
	var out []Pair
	for _, other := range r.Columns {
		if !other.IsOther() {
			continue
		}
		own := slices.IndexFunc(r.Columns, func(c Column) bool {
			return !c.IsOther() && c.Provider == other.Provider && c.Kind == other.Kind && c.Cloud == other.Cloud
		})
		if own >= 0 {
			out = append(out, Pair{Own: r.Columns[own], Other: other})
		}
	}
	return out
}

// AddColumns adds the columns of other managers in an earlier report to this one, with their cells and costs of rows
// that this one has. Columns that exist here are kept.
func (r *Report) AddColumns(earlier Report) {
	for _, column := range earlier.Columns {
		if !column.IsOther() || slices.ContainsFunc(r.Columns, func(c Column) bool { return c.Name == column.Name }) {
			continue
		}
		if column.Observed == "" {
			column.Observed = earlier.Date
		}
		r.Columns = append(r.Columns, column)
		for _, row := range earlier.Capabilities {
			i := slices.IndexFunc(r.Capabilities, func(c Capability) bool { return c.ID == row.ID })
			if cell, ok := row.Cells[column.Name]; ok && i >= 0 {
				r.Capabilities[i].Cells[column.Name] = cell
			}
		}
		for _, row := range earlier.Operations {
			i := slices.IndexFunc(r.Operations, func(o Operation) bool { return o.ID == row.ID })
			if cost, ok := row.Costs[column.Name]; ok && i >= 0 {
				r.Operations[i].Costs[column.Name] = cost
			}
		}
	}
}
