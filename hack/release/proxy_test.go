package main

import (
	"archive/zip"
	"path/filepath"
	"slices"
	"testing"
)

func TestProxyHasModulesOfWorkspace(t *testing.T) {
	common := repository + "/pkg/common"
	dir := write(t, map[string]string{
		"go.work":               "go 1.26\nuse (\n\t./pkg/common\n\t./cmd\n)\n",
		"pkg/common/go.mod":     "module " + common + "\n\ngo 1.26\n",
		"pkg/common/common.go":  "package common\n",
		"pkg/common/sub/go.mod": "module " + common + "/sub\n",
		"cmd/go.mod": "module " + repository + "/cmd\n\ngo 1.26\n\nrequire " + common + " v0.1.0\n\nreplace " + common +
			" => ../pkg/common\n",
		"cmd/main.go": "package main\n",
	})
	t.Chdir(dir)
	t.Setenv("GOWORK", "")
	proxy := t.TempDir()
	if err := WriteProxy("v0.1.0", proxy); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(proxy, common, "@v")
	if got := read(t, filepath.Join(at, "list")) + read(t, filepath.Join(at, "v0.1.0.info")); got != "v0.1.0\n{\"Version\":\"v0.1.0\"}" {
		t.Errorf("list and info are %q", got)
	}
	archive, err := zip.OpenReader(filepath.Join(at, "v0.1.0.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	var names []string
	for _, file := range archive.File {
		names = append(names, file.Name)
	}
	slices.Sort(names)
	if want := []string{common + "@v0.1.0/common.go", common + "@v0.1.0/go.mod"}; !slices.Equal(names, want) {
		t.Errorf("the module has %q, want %q", names, want)
	}
	wantError(t, WriteProxy("v0.2.0", proxy), "cmd: go.mod of release v0.2.0 requires "+common+"@v0.1.0",
		"hack/release-prepare.sh")
}
