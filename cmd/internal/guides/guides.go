// Package guides writes the generated parts of the guides: the tables of what the changes of each cloud disrupt. They
// are between the markers "<!-- disruptions PROVIDER -->" and "<!-- end -->" of a Markdown page.
package guides

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

const endMarker = "<!-- end -->"

var beginMarker = regexp.MustCompile(`<!-- disruptions (\S+) -->\n`)

// severities are the disruptions in the order of the tables.
var severities = []plan.Disruption{plan.DisruptsTraffic, plan.DisruptsAddress, plan.DisruptsLoadBalancer}

// Update replaces the tables in the pages of a folder. Each provider with disruptive changes must have one.
func Update(dir string, all []provider.Descriptor) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return err
	}
	missing := map[string]bool{}
	tables := map[string]string{}
	for _, d := range all {
		if len(d.Disruptions) > 0 {
			missing[d.Name], tables[d.Name] = true, table(d.Disruptions)
		}
	}
	for _, file := range files {
		page, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		updated, found, err := replace(string(page), tables)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, name := range found {
			delete(missing, name)
		}
		if updated == string(page) {
			continue
		}
		if err := os.WriteFile(file, []byte(updated), 0o644); err != nil {
			return err
		}
	}
	for name := range missing {
		return fmt.Errorf("no page in %s has the marker <!-- disruptions %s --> for the changes that disrupt on this cloud",
			dir, name)
	}
	return nil
}

// replace replaces the text between the markers of a page, and returns the providers that they name.
func replace(page string, tables map[string]string) (updated string, found []string, err error) {
	var out strings.Builder
	for {
		match := beginMarker.FindStringSubmatchIndex(page)
		if match == nil {
			out.WriteString(page)
			return out.String(), found, nil
		}
		name := page[match[2]:match[3]]
		text, ok := tables[name]
		end := strings.Index(page[match[1]:], endMarker)
		if !ok || end < 0 {
			return "", nil, fmt.Errorf("%q needs a provider with disruptive changes, and %s after the table",
				strings.TrimSpace(page[match[0]:match[1]]), endMarker)
		}
		found = append(found, name)
		out.WriteString(page[:match[1]] + "\n" + text + "\n")
		page = page[match[1]+end:]
	}
}

// table describes the effects, by severity.
func table(effects []plan.Effect) string {
	var out strings.Builder
	fmt.Fprint(&out, "| change | disrupts |\n|---|---|\n")
	for _, severity := range severities {
		for _, e := range effects {
			if e.Disrupts == severity {
				fmt.Fprintf(&out, "| %s | %s |\n", e.Change, e.Disrupts)
			}
		}
	}
	fmt.Fprint(&out, "| members | members |\n| everything else | nothing |\n")
	return out.String()
}
