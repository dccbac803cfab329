package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// programs are the programs of a release.
var programs = []string{"./cmd/ccm", "./cmd/ccm-lab"}

// platforms are the platforms of a release.
var platforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

const noticeHead = `unified-ccm
https://github.com/unified-ccm/unified-ccm

Licensed under the Apache License, Version 2.0: see the file LICENSE.

The programs of a release contain the Go standard library (BSD-3-Clause, https://go.dev/LICENSE) and the modules
below. Their licences and notices follow. hack/update-notice.sh writes this file from their sources.

`

// legalText is a licence or notice with the modules that have the same words.
type legalText struct {
	modules []string
	content string
}

// legalTexts collects equal texts once, in the order of their first module.
type legalTexts struct {
	byWords map[string]*legalText
	all     []*legalText
}

func (t *legalTexts) add(module, content string) {
	words := strings.Join(strings.Fields(content), " ")
	if t.byWords == nil {
		t.byWords = map[string]*legalText{}
	}
	existing := t.byWords[words]
	if existing == nil {
		existing = &legalText{content: strings.TrimSpace(content)}
		t.byWords[words] = existing
		t.all = append(t.all, existing)
	}
	if n := len(existing.modules); n == 0 || existing.modules[n-1] != module {
		existing.modules = append(existing.modules, module)
	}
}

// WriteNotice writes the licences of the modules that a release links. The Apache License itself is in LICENSE.
func WriteNotice(w io.Writer, modules []Module) error {
	if _, err := io.WriteString(w, noticeHead); err != nil {
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var collected legalTexts
	var problems []error
	for _, m := range modules {
		ids, err := m.licenses()
		if err != nil {
			problems = append(problems, err)
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", m.Path, m.Version, expression(ids))
		problems = append(problems, m.collect(&collected))
	}
	if err := errors.Join(append(problems, table.Flush())...); err != nil {
		return err
	}
	for _, t := range collected.all {
		_, err := fmt.Fprintf(w, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(t.modules, "\n"), t.content)
		if err != nil {
			return err
		}
	}
	return nil
}

// collect adds the texts that a copy of the module has to include.
func (m Module) collect(collected *legalTexts) error {
	files, err := m.files()
	if err != nil {
		return err
	}
	for _, file := range append(files.licenses, files.notices...) {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if ids, err := identifyLicenses(content); err == nil && expression(ids) == "Apache-2.0" {
			continue
		}
		name := m.Path
		if rel, err := filepath.Rel(m.Dir, filepath.Dir(file)); err == nil && rel != "." {
			name += "/" + filepath.ToSlash(rel)
		}
		collected.add(name, string(content))
	}
	return nil
}
