// Package compare runs the same scenarios on several managers, each on its own API server and cloud, and reports what
// each of them did. Verdicts follow from observations: objects in the cloud, status and Events.
package compare

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
)

// Run runs all scenarios on all columns. When ctx ends, it returns the results so far, with the names of the missing
// ones, and the error of the context. A column that does not start has its error in the report.
func Run(ctx context.Context, o Options) (report.Report, error) {
	r := newResult(o)
	slots := make(chan struct{}, max(o.Parallel, 1))
	var columns sync.WaitGroup
	for i := range o.Columns {
		column := &o.Columns[i]
		columns.Go(func() {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			defer func() { <-slots }()
			err := r.runColumn(ctx, column)
			if err == nil {
				err = r.measure(ctx, column)
			}
			if err != nil && ctx.Err() == nil {
				r.fail(column, err)
			}
		})
	}
	columns.Wait()
	return r.finish(), ctx.Err()
}

// IsComplete reports whether the results to resume from are complete, so that Run starts nothing.
func IsComplete(o Options) bool {
	r := newResult(o)
	return r.total == 0 && !slices.ContainsFunc(o.Columns, func(c Column) bool { return r.needsOperations(&c) })
}

func newResult(o Options) *result {
	r := &result{options: o, report: report.Report{Schema: report.Schema, Version: o.Version, Date: o.Date}}
	if o.Resume != nil {
		r.report.Kubernetes = o.Resume.Kubernetes
	}
	for i := range o.Columns {
		r.report.Columns = append(r.report.Columns, o.Columns[i].describe())
	}
	for _, s := range o.Scenarios {
		c := report.Capability{ID: s.ID, Group: s.Group, Title: s.Title, Detail: s.Detail,
			Values: s.Values, Periodic: s.Periodic || s.Routes, Cells: map[string]report.Cell{}}
		for i := range o.Columns {
			if cell, ok := previousCell(o.Resume, s.ID, o.Columns[i].Name); ok {
				c.Cells[o.Columns[i].Name] = cell
			} else {
				r.total++
			}
		}
		r.report.Capabilities = append(r.report.Capabilities, c)
	}
	if o.Operations {
		r.report.Operations = operations()
		r.resumeOperations(o.Resume)
	}
	return r
}

// previousCell returns the cell of an earlier run. A failed one runs again.
func previousCell(previous *report.Report, scenario, column string) (report.Cell, bool) {
	if previous == nil {
		return report.Cell{}, false
	}
	for _, c := range previous.Capabilities {
		if cell, ok := c.Cells[column]; ok && c.ID == scenario && cell.Verdict != report.Failed {
			return cell, true
		}
	}
	return report.Cell{}, false
}

// resumeOperations copies the costs of an earlier run.
func (r *result) resumeOperations(previous *report.Report) {
	if previous == nil {
		return
	}
	for _, o := range r.report.Operations {
		for _, operation := range previous.Operations {
			if operation.ID != o.ID {
				continue
			}
			for _, column := range r.report.Columns {
				if cost, ok := operation.Costs[column.Name]; ok && cost.Missing == "" {
					o.Costs[column.Name] = cost
				}
			}
		}
	}
}

// runColumn starts a column and runs the missing scenarios on it, one after the other, so that every call belongs to
// one of them.
func (r *result) runColumn(ctx context.Context, column *Column) (err error) {
	missing := r.missing(column.Name)
	if len(missing) == 0 {
		return nil
	}
	started := time.Now()
	run, err := startColumn(ctx, r.options, column)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.stop(context.WithoutCancel(ctx))) }()
	r.notify("%s: started in %.1f s", column.Name, time.Since(started).Seconds())
	r.setKubernetes(run.kubernetes)
	for _, scenario := range missing {
		cell, err := run.run(ctx, scenario)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		r.add(scenario.ID, column.Name, cell)
	}
	return nil
}

// missing returns the scenarios without a cell of a column.
func (r *result) missing(column string) []Scenario {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.options.Scenarios), func(s Scenario) bool {
		_, ok := r.capability(s.ID).Cells[column]
		return ok
	})
}

func (r *result) capability(id string) report.Capability {
	i := slices.IndexFunc(r.report.Capabilities, func(c report.Capability) bool { return c.ID == id })
	return r.report.Capabilities[i]
}

func (r *result) setKubernetes(version string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Kubernetes = version
}

func (r *result) add(scenario, column string, cell report.Cell) {
	r.mu.Lock()
	r.capability(scenario).Cells[column] = cell
	r.done++
	done := r.done
	r.mu.Unlock()
	line := fmt.Sprintf("%d/%d %s %s: %s", done, r.total, column, scenario, cell.Verdict)
	if cell.Verdict != report.Works {
		line += ": " + cell.Summary
	}
	if len(cell.Leaked) > 0 {
		line += "; left: " + strings.Join(cell.Leaked, ", ")
	}
	r.notify("%s (%.1f s)", line, cell.Seconds)
}

// fail records why a column has no (further) results.
func (r *result) fail(column *Column, err error) {
	r.mu.Lock()
	for i := range r.report.Columns {
		if r.report.Columns[i].Name == column.Name {
			r.report.Columns[i].Error = err.Error()
		}
	}
	r.mu.Unlock()
	r.notify("%s: %s", column.Name, err)
}

// finish returns the report, with the names of the cells and costs that are missing.
func (r *result) finish() report.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	clearKinds(r.report)
	for _, column := range r.report.Columns {
		if column.Error != "" {
			continue
		}
		for _, c := range r.report.Capabilities {
			if _, ok := c.Cells[column.Name]; !ok {
				r.report.Missing = append(r.report.Missing, column.Name+" "+c.ID)
			}
		}
		withoutOperations := slices.ContainsFunc(r.options.Columns, func(c Column) bool {
			return c.Name == column.Name && !c.hasOperations()
		})
		for _, o := range r.report.Operations {
			if _, ok := o.Costs[column.Name]; !ok && !withoutOperations {
				r.report.Missing = append(r.report.Missing, column.Name+" "+o.ID)
			}
		}
	}
	for _, earlier := range r.options.Add {
		r.report.AddColumns(earlier)
	}
	return r.report
}

// Scenarios returns all scenarios, in the order in which they run.
func Scenarios() []Scenario {
	return slices.Concat(serviceScenarios(), defaultScenarios(), annotationScenarios(), nodeScenarios(), routeScenarios())
}
