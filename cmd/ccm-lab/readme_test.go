package main

import (
	"os"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/text"
)

// The README shows the summary of the committed comparison.
func TestReadmeHasSummaryOfComparison(t *testing.T) {
	file, err := os.Open("../../docs/reference/comparison.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	comparison, err := text.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	var summary strings.Builder
	if err := text.Summary(&summary, comparison); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), summary.String()) {
		t.Errorf("README.md lacks the summary of docs/reference/comparison.json:\n%s", summary.String())
	}
}
