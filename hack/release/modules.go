package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// repository is the prefix of the modules of this repository.
const repository = "github.com/unified-ccm/unified-ccm"

// Module is a module that a program links.
type Module struct {
	Path, Version, Dir string
	// Packages are the folders of its linked packages.
	Packages []string
}

// isOwn reports whether the module is part of this repository.
func isOwn(path string) bool {
	return path == repository || strings.HasPrefix(path, repository+"/")
}

// Linked returns the modules that the programs link on the platforms (OS/ARCH), sorted by path. Modules of this
// repository and the standard library are not in the list.
func Linked(platforms []string, programs ...string) ([]Module, error) {
	modules := map[string]*Module{}
	for _, platform := range platforms {
		goos, arch, _ := strings.Cut(platform, "/")
		list := exec.Command("go", append([]string{"list", "-deps", "-json=Dir,Module"}, programs...)...)
		list.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch)
		list.Stderr = os.Stderr
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", platform, err)
		}
		if err := addPackages(modules, out); err != nil {
			return nil, err
		}
	}
	var sorted []Module
	for _, m := range modules {
		slices.Sort(m.Packages)
		m.Packages = slices.Compact(m.Packages)
		sorted = append(sorted, *m)
	}
	slices.SortFunc(sorted, func(a, b Module) int { return cmp.Compare(a.Path, b.Path) })
	return sorted, nil
}

// addPackages adds the packages that go list printed to their modules.
func addPackages(modules map[string]*Module, list []byte) error {
	decoder := json.NewDecoder(strings.NewReader(string(list)))
	for {
		var p struct {
			Dir    string
			Module *struct{ Path, Version, Dir string }
		}
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("output of go list: %w", err)
		}
		if p.Module == nil || isOwn(p.Module.Path) {
			continue
		}
		m := modules[p.Module.Path]
		if m == nil {
			m = &Module{Path: p.Module.Path, Version: p.Module.Version, Dir: p.Module.Dir}
			modules[m.Path] = m
		}
		m.Packages = append(m.Packages, p.Dir)
	}
}

// legalFiles are the files with the licences of a module, and the notices that a copy has to include.
type legalFiles struct {
	licenses, notices []string
}

// files returns the licence files that apply to the linked packages: those in the folder of a package and in each
// folder above it, up to the root of the module.
func (m Module) files() (legalFiles, error) {
	folders := map[string]bool{m.Dir: true}
	for _, dir := range m.Packages {
		for ; len(dir) > len(m.Dir); dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	var found legalFiles
	for dir := range folders {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return found, err
		}
		for _, entry := range entries {
			name := strings.ToUpper(entry.Name())
			path := filepath.Join(dir, entry.Name())
			switch {
			case entry.IsDir() || strings.HasSuffix(name, ".GO"):
			case strings.HasPrefix(name, "LICENSE"), strings.HasPrefix(name, "LICENCE"), strings.HasPrefix(name, "COPYING"):
				found.licenses = append(found.licenses, path)
			case name == "NOTICE", name == "NOTICE.TXT", name == "NOTICE.MD":
				found.notices = append(found.notices, path)
			}
		}
	}
	if len(found.licenses) == 0 {
		return found, fmt.Errorf("%s %s has no licence file", m.Path, m.Version)
	}
	slices.Sort(found.licenses)
	slices.Sort(found.notices)
	return found, nil
}
