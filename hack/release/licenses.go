package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowedLicenses are the licences that linked modules may have: of those that the Cloud Native Computing Foundation
// allows without an exception, the ones that modules have today. Another one is a decision for the approvers: add it
// here.
var allowedLicenses = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}

// minCoverage is the percentage of a licence file's words that known licences must cover. Other words are copyright
// lines and headings.
const minCoverage = 75

// identifyLicenses returns the SPDX identifiers of the licences in a text, sorted. A text that is not covered by known
// licences is an error.
func identifyLicenses(text []byte) ([]string, error) {
	coverage := licensecheck.Scan(text)
	if coverage.Percent < minCoverage {
		return nil, fmt.Errorf("%.0f%% of the text are known licences, less than %d%%", coverage.Percent, minCoverage)
	}
	var ids []string
	for _, match := range coverage.Match {
		if !match.IsURL {
			ids = append(ids, match.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// licenses returns the SPDX identifiers of all licences of a module, sorted. One that is not allowed is an error.
func (m Module) licenses() ([]string, error) {
	files, err := m.files()
	if err != nil {
		return nil, err
	}
	var all []string
	for _, file := range files.licenses {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		ids, err := identifyLicenses(text)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %s: %w", m.Path, m.Version, file, err)
		}
		all = append(all, ids...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for _, id := range all {
		if !slices.Contains(allowedLicenses, id) {
			return nil, fmt.Errorf("%s %s has the licence %s; allowed are %s: use another module, or change the list in "+
				"hack/release/licenses.go with the approvers", m.Path, m.Version, id, strings.Join(allowedLicenses, ", "))
		}
	}
	return all, nil
}

// expression returns the SPDX expression of licences that all apply.
func expression(ids []string) string { return strings.Join(ids, " AND ") }
