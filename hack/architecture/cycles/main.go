// Command cycles checks that the files of each package have an order: no file refers to one that refers back to it,
// directly or through others. It lists the references of each cycle and exits with 1.
//
//	cycles MODULE...
//
// It reads the packages of the modules in these folders, without tests.
package main

import (
	"fmt"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	failed := false
	for _, folder := range os.Args[1:] {
		found, err := readModule(folder)
		if err != nil {
			fmt.Fprintln(os.Stderr, "cycles:", err)
			os.Exit(1)
		}
		for _, pkg := range found {
			for _, line := range referencesOf(pkg).cycles() {
				fmt.Printf("%s: %s\n", pkg.PkgPath, line)
				failed = true
			}
		}
	}
	if failed {
		os.Exit(1)
	}
}

// readModule returns the packages of a module with their types. Those of imports come from the build cache, without which
// names in literals and embedded fields of imported types are not known.
func readModule(folder string) ([]*packages.Package, error) {
	const parts = packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes |
		packages.NeedTypesInfo | packages.NeedImports | packages.NeedExportFile
	found, err := packages.Load(&packages.Config{Mode: parts, Dir: folder}, "./...")
	if err != nil {
		return nil, err
	}
	for _, pkg := range found {
		for _, problem := range pkg.Errors {
			return nil, fmt.Errorf("%s: %w", pkg.PkgPath, problem)
		}
	}
	return found, nil
}

// graph has the names that a file uses of other files, by the names of both files.
type graph map[string]map[string]map[string]bool

// referencesOf returns the references between the files of a package.
func referencesOf(pkg *packages.Package) graph {
	references := graph{}
	for ident, object := range pkg.TypesInfo.Uses {
		if object.Pkg() != pkg.Types || !isDeclaration(object) {
			continue
		}
		from := filepath.Base(pkg.Fset.Position(ident.Pos()).Filename)
		to := filepath.Base(pkg.Fset.Position(object.Pos()).Filename)
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
	return references
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
