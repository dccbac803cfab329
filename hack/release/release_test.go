package main

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

const mit = `MIT License

Copyright (c) 2024 Someone

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`

// zeroBSD is a licence that is not in the list.
const zeroBSD = `Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is
hereby granted.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT,
INDIRECT, OR CONSEQUENTIAL DAMAGES OR ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN
ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF
THIS SOFTWARE.
`

// write writes files, by their paths, into a new folder.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
}

func TestNoticeHasEveryLicenceOnce(t *testing.T) {
	first := write(t, map[string]string{"LICENSE": mit, "NOTICE": "Parts are by Example.", "part/code.go": ""})
	second := write(t, map[string]string{"COPYING": mit})
	modules := []Module{
		{Path: "example.com/first", Version: "v1.0.0", Dir: first, Packages: []string{filepath.Join(first, "part")}},
		{Path: "example.com/second", Version: "v2.0.0", Dir: second},
	}
	var out bytes.Buffer
	if err := WriteNotice(&out, modules); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"example.com/first   v1.0.0  MIT\n", "example.com/first\nexample.com/second\n\nMIT License",
		"Parts are by Example."} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the notice lacks %q:\n%s", part, &out)
		}
	}
	if n := strings.Count(out.String(), "Permission is hereby granted"); n != 1 {
		t.Errorf("the licence stands there %d times", n)
	}
}

func TestNoticeRefusesLicences(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"none":              {map[string]string{"README": ""}, []string{"example.com/m v1.0.0 has no licence file"}},
		"not allowed":       {map[string]string{"LICENSE": zeroBSD}, []string{"has the licence 0BSD", "allowed are Apache-2.0"}},
		"unknown":           {map[string]string{"LICENSE": "You may use this on Sundays only."}, []string{"0% of the text"}},
		"of a package only": {map[string]string{"LICENSE": mit, "part/LICENSE": zeroBSD}, []string{"0BSD"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, tc.files)
			m := Module{Path: "example.com/m", Version: "v1.0.0", Dir: dir, Packages: []string{dir}}
			if _, err := os.Stat(filepath.Join(dir, "part")); err == nil {
				m.Packages = append(m.Packages, filepath.Join(dir, "part"))
			}
			wantError(t, WriteNotice(&bytes.Buffer{}, []Module{m}), tc.want...)
		})
	}
}

func TestContentsOfProgram(t *testing.T) {
	dir := write(t, map[string]string{"LICENSE": mit})
	info := &buildinfo.BuildInfo{GoVersion: "go1.26.8 X:none", Deps: []*debug.Module{
		{Path: repository + "/pkg/common", Version: "(devel)"},
		{Path: "example.com/M", Version: "v1.0.0", Sum: "h1:abc="},
	}}
	modules := []Module{{Path: "example.com/M", Version: "v1.0.0", Dir: dir}}
	packages, err := linkedPackages(info, "v0.1.0", modules)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range packages {
		got = append(got, p.PackageExternalReferences[0].Locator+" "+p.PackageLicenseDeclared)
	}
	want := []string{"pkg:golang/stdlib@1.26.8 BSD-3-Clause",
		"pkg:golang/github.com/unified-ccm/unified-ccm/pkg/common@v0.1.0 Apache-2.0", "pkg:golang/example.com/m@v1.0.0 MIT"}
	if !slices.Equal(got, want) {
		t.Errorf("packages\n%q, want\n%q", got, want)
	}

	modules[0].Version = "v1.0.1"
	_, err = linkedPackages(info, "v0.1.0", modules)
	wantError(t, err, "links example.com/M v1.0.0", "build it again")
}

func TestIncompleteSBOMIsRejected(t *testing.T) {
	const document = `{"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "ccm",
		"documentNamespace": "https://example.com/1", "creationInfo": {"creators": ["Tool: t"], "created": "2026-01-01T00:00:00Z"},
		"packages": [PACKAGES],
		"relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-a"}]}`
	const complete = `{"name": "a", "SPDXID": "SPDXRef-a", "versionInfo": "v1", "downloadLocation": "NOASSERTION",
		"licenseConcluded": "MIT", "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
		"referenceLocator": "pkg:golang/a@v1"}]}`
	check := func(packages string) error {
		return CheckSBOM(strings.NewReader(strings.Replace(document, "PACKAGES", packages, 1)))
	}
	if err := check(complete); err != nil {
		t.Errorf("complete document: %v", err)
	}
	wantError(t, check(complete+","+strings.ReplaceAll(complete, `"a"`, `"b"`)), "contains 0 of the other 1 packages")
	wantError(t, check(strings.Replace(complete, `"MIT"`, `""`, 1)), "package a lacks its version, licence or package URL")
	wantError(t, check(strings.Replace(complete, "SPDXRef-a", "SPDXRef-b", 1)), "a")
	wantError(t, CheckSBOM(strings.NewReader("{}")), "spdxVersion")
}
