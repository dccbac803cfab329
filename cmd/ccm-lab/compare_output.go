package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	results "github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/page"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/text"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab/screen"
)

// formats are the values of --output, and writers what writes them.
func formats() []string { return []string{outputTable, outputJSON, "markdown", "html"} }

func writers() map[string]func(io.Writer, results.Report) error {
	return map[string]func(io.Writer, results.Report) error{
		outputTable: func(w io.Writer, r results.Report) error { return text.Table(w, r, terminalWidth(w)) },
		outputJSON:  text.JSON,
		"markdown":  text.Markdown,
		"html":      page.Write,
	}
}

// terminalWidth returns the columns of a terminal, 0 for anything else.
func terminalWidth(w io.Writer) int {
	columns, _, terminal := screen.Size(w)
	if !terminal {
		return 0
	}
	return columns
}

// writeComparison prints a comparison, and writes all formats to the directory of --out.
func writeComparison(o compareOptions, s streams, r results.Report) error {
	var errs []error
	if o.out != "" {
		errs = append(errs, os.MkdirAll(o.out, 0o755)) //nolint:gosec // results for everybody
		for name, format := range map[string]string{
			"comparison.json": outputJSON, "comparison.md": "markdown", "comparison.html": "html",
		} {
			errs = append(errs, writeFile(filepath.Join(o.out, name), func(w io.Writer) error { return writers()[format](w, r) }))
		}
	}
	return errors.Join(append(errs, writers()[o.output](s.out, r))...)
}

func writeFile(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
