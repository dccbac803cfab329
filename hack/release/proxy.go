package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// WriteProxy writes a module proxy (the GOPROXY protocol, for file://) with all modules of go.work at one version, as
// they are published when each has its tag.
func WriteProxy(version, folder string) error {
	folders, err := workspaceModules()
	if err != nil {
		return err
	}
	for _, dir := range folders {
		if err := publish(dir, version, folder); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	return nil
}

// workspaceModules returns the folders of go.work.
func workspaceModules() ([]string, error) {
	out, err := exec.Command("go", "work", "edit", "-json").Output()
	if err != nil {
		return nil, fmt.Errorf("go work edit: %w", err)
	}
	var work struct{ Use []struct{ DiskPath string } }
	if err := json.Unmarshal(out, &work); err != nil {
		return nil, err
	}
	var folders []string
	for _, use := range work.Use {
		folders = append(folders, filepath.Clean(use.DiskPath))
	}
	return folders, nil
}

// publish writes the files of one module at a version: those of its folder without the modules below it.
func publish(dir, version, proxy string) error {
	gomod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	if err := checkVersions(gomod, version); err != nil {
		return err
	}
	m := module.Version{Path: modfile.ModulePath(gomod), Version: version}
	if want := repository + "/" + filepath.ToSlash(dir); m.Path != want {
		return fmt.Errorf("the module is called %s, and its tag would publish %s", m.Path, want)
	}
	escaped, err := module.EscapePath(m.Path)
	if err != nil {
		return err
	}
	dest := filepath.Join(proxy, escaped, "@v")
	if err := os.MkdirAll(dest, 0o755); err != nil {
		return err
	}
	archive, err := os.Create(filepath.Join(dest, version+".zip"))
	if err != nil {
		return err
	}
	return errors.Join(
		modzip.CreateFromDir(archive, m, dir),
		archive.Close(),
		os.WriteFile(filepath.Join(dest, version+".mod"), gomod, 0o644),
		os.WriteFile(filepath.Join(dest, version+".info"), fmt.Appendf(nil, `{"Version":%q}`, version), 0o644),
		os.WriteFile(filepath.Join(dest, "list"), []byte(version+"\n"), 0o644),
	)
}

// checkVersions returns an error for each module of this repository that a go.mod requires at another version.
func checkVersions(gomod []byte, version string) error {
	parsed, err := modfile.ParseLax("go.mod", gomod, nil)
	if err != nil {
		return err
	}
	var mismatches []string
	for _, r := range parsed.Require {
		if isOwn(r.Mod.Path) && r.Mod.Version != version {
			mismatches = append(mismatches, r.Mod.String())
		}
	}
	if len(mismatches) > 0 {
		return fmt.Errorf("go.mod of release %s requires %s: hack/release-prepare.sh sets the versions", version,
			strings.Join(mismatches, ", "))
	}
	return nil
}
