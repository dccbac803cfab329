package text

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
)

// JSON writes a report in the format of docs/reference/comparison.schema.json.
func JSON(w io.Writer, r report.Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Read reads what JSON writes. Fields that it does not know are ignored: a newer program of the same schema may add
// some.
func Read(reader io.Reader) (report.Report, error) {
	data, err := io.ReadAll(reader)
	if err != nil {
		return report.Report{}, fmt.Errorf("read comparison: %w", err)
	}
	// The schema comes first: the types of another schema would only give an error about a field.
	var header struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &header); err != nil {
		return report.Report{}, fmt.Errorf("not a comparison, want JSON of schema %q: %w", report.Schema, err)
	}
	if header.Schema != report.Schema {
		return report.Report{}, fmt.Errorf("comparison has schema %q, want %q: write it again with "+
			"ccm-lab compare -o json", header.Schema, report.Schema)
	}
	var r report.Report
	if err := json.Unmarshal(data, &r); err != nil {
		return report.Report{}, fmt.Errorf("comparison of schema %q: %w", report.Schema, err)
	}
	return r, validate(r)
}

// validate reports verdicts and columns that a report must not have.
func validate(r report.Report) error {
	var names []string
	for _, c := range r.Columns {
		names = append(names, c.Name)
	}
	for _, c := range r.Capabilities {
		for column, cell := range c.Cells {
			if !slices.Contains(names, column) {
				return fmt.Errorf("comparison: %s has a cell of column %q, want one of %q", c.ID, column, names)
			}
			if !cell.Verdict.Known() {
				return fmt.Errorf("comparison: %s has verdict %q in column %q, want one of %q", c.ID, cell.Verdict,
					column, report.Verdicts())
			}
		}
	}
	for _, o := range r.Operations {
		for column := range o.Costs {
			if !slices.Contains(names, column) {
				return fmt.Errorf("comparison: %s has a cost of column %q, want one of %q", o.ID, column, names)
			}
		}
	}
	return nil
}
