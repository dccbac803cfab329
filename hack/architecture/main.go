// Command architecture draws the packages of the workspace and their imports as Mermaid diagrams. It replaces
// the text between the markers "<!-- packages FOLDER -->" and "<!-- end -->" of a Markdown file by the
// diagram of the packages in that folder.
//
//	go list -json=ImportPath,Imports ./... | go run . FILE
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

const (
	modulePrefix = "github.com/unified-ccm/unified-ccm/"
	endMarker    = "<!-- end -->"
)

var beginMarker = regexp.MustCompile(`<!-- packages (\S+) -->`)

// testOnly matches packages that no binary links: helpers of tests.
var testOnly = regexp.MustCompile(`test$|/golden$|/internal/|/sim(/|$)|/conformance(/|$)`)

// graph has the imports of each package.
type graph map[string]map[string]bool

func main() {
	if err := run(os.Stdin, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "architecture:", err)
		os.Exit(1)
	}
}

func run(list io.Reader, args []string) error {
	if len(args) != 1 {
		return errors.New("usage: go list -json=ImportPath,Imports PACKAGES | architecture FILE")
	}
	imports, err := readPackages(list)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	page, err := render(string(text), imports)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return os.WriteFile(args[0], []byte(page), 0o644)
}

// readPackages parses the output of go list, and keeps the packages of the workspace.
func readPackages(list io.Reader) (graph, error) {
	imports := graph{}
	for decoder := json.NewDecoder(list); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return imports, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		from, ok := strings.CutPrefix(p.ImportPath, modulePrefix)
		if !ok || testOnly.MatchString(from) {
			continue
		}
		imports[from] = map[string]bool{}
		for _, path := range p.Imports {
			if to, ok := strings.CutPrefix(path, modulePrefix); ok && !testOnly.MatchString(to) {
				imports[from][to] = true
			}
		}
	}
}

// render replaces the text after each marker.
func render(page string, imports graph) (string, error) {
	var out strings.Builder
	for {
		match := beginMarker.FindStringSubmatchIndex(page)
		if match == nil {
			out.WriteString(page)
			return out.String(), nil
		}
		end := strings.Index(page[match[1]:], endMarker)
		if end < 0 {
			return "", fmt.Errorf("%s has no %s", page[match[0]:match[1]], endMarker)
		}
		out.WriteString(page[:match[1]] + "\n\n" + diagram(page[match[2]:match[3]], imports) + "\n")
		page = page[match[1]+end:]
	}
}

// diagram draws the packages in a folder. It omits imports that a longer path of imports implies.
func diagram(folder string, imports graph) string {
	inFolder := func(name string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }
	var lines []string
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		if !inFolder(from) {
			continue
		}
		lines = append(lines, fmt.Sprintf("  %s[%s]", node(folder, from), label(folder, from)))
		for _, to := range slices.Sorted(maps.Keys(imports[from])) {
			if inFolder(to) && !isImplied(imports, from, to) {
				lines = append(lines, fmt.Sprintf("  %s --> %s", node(folder, from), node(folder, to)))
			}
		}
	}
	return "```mermaid\nflowchart TD\n" + strings.Join(lines, "\n") + "\n```\n"
}

// isImplied reports whether from also reaches to through another package that it imports.
func isImplied(imports graph, from, to string) bool {
	seen := map[string]bool{}
	var reaches func(string) bool
	reaches = func(name string) bool {
		if seen[name] {
			return false
		}
		seen[name] = true
		return imports[name][to] || slices.ContainsFunc(slices.Collect(maps.Keys(imports[name])), reaches)
	}
	return slices.ContainsFunc(slices.Collect(maps.Keys(imports[from])), func(via string) bool {
		return via != to && reaches(via)
	})
}

// node returns the identifier of a package in a diagram.
func node(folder, name string) string {
	return strings.NewReplacer("/", "_", "-", "_").Replace(label(folder, name))
}

// label returns the path of a package below the folder, or the folder's own name.
func label(folder, name string) string {
	if name == folder {
		return name[strings.LastIndex(name, "/")+1:]
	}
	return strings.TrimPrefix(name, folder+"/")
}
