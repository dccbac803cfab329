// Command cycles checks that the files of a package have an order: no file refers to one that refers back to it,
// directly or through others. It lists the references of each cycle and exits with 1.
//
//	cycles FOLDER...
package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	failed := false
	for _, folder := range os.Args[1:] {
		graph, err := readPackage(folder)
		if err != nil {
			fmt.Fprintln(os.Stderr, "cycles:", err)
			os.Exit(1)
		}
		for _, line := range graph.cycles() {
			fmt.Printf("%s: %s\n", folder, line)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// graph has the names that a file uses of other files, by the names of both files.
type graph map[string]map[string]map[string]bool

// readPackage returns the references between the files of one package, tests not included.
func readPackage(folder string) (graph, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	// Imports are not resolved: only names of this package count, and the errors about others are ignored.
	config := types.Config{Importer: noImporter{}, Error: func(error) {}, FakeImportC: true}
	pkg, _ := config.Check(folder, set, files, info)
	references := graph{}
	for ident, object := range info.Uses {
		if object.Pkg() != pkg || !isDeclaration(object) {
			continue
		}
		from, to := filepath.Base(set.File(ident.Pos()).Name()), filepath.Base(set.File(object.Pos()).Name())
		if from == to {
			continue
		}
		if references[from] == nil {
			references[from] = map[string]map[string]bool{}
		}
		if references[from][to] == nil {
			references[from][to] = map[string]bool{}
		}
		references[from][to][object.Name()] = true
	}
	return references, nil
}

// isDeclaration reports whether an object is declared at the top level of a file, or is a method. A field belongs to
// its struct, which counts.
func isDeclaration(object types.Object) bool {
	if object.Parent() != nil && object.Parent() == object.Pkg().Scope() {
		return true
	}
	f, ok := object.(*types.Func)
	return ok && f.Signature().Recv() != nil
}

// cycles describes each reference between two files that reach each other.
func (g graph) cycles() []string {
	var lines []string
	for _, from := range slices.Sorted(maps.Keys(g)) {
		for _, to := range slices.Sorted(maps.Keys(g[from])) {
			if g.reaches(to, from, map[string]bool{}) {
				names := slices.Sorted(maps.Keys(g[from][to]))
				lines = append(lines, fmt.Sprintf("%s refers to %s (%s), which leads back", from, to, strings.Join(names, ", ")))
			}
		}
	}
	return lines
}

func (g graph) reaches(from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	for next := range g[from] {
		if g.reaches(next, to, seen) {
			return true
		}
	}
	return false
}

// noImporter resolves no import.
type noImporter struct{}

func (noImporter) Import(path string) (*types.Package, error) {
	return nil, errors.New(cmp.Or(path, "no path") + " is not resolved")
}
