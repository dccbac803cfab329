package main

import (
	"os"
	"path/filepath"
	"testing"
)

const someChangelog = `# Changelog

Text.

## [Unreleased]

### Added

- A. It has
  two lines.

### Fixed

- F.

## [0.1.0] - 2026-01-01

### Added

- Everything.
`

func TestReleaseMovesFragmentsIntoChangelog(t *testing.T) {
	dir := write(t, map[string]string{
		"CHANGELOG.md":                  someChangelog,
		"changelog.d/README.md":         "How to write one.",
		"changelog.d/aws-b.added.md":    "- B.\n",
		"changelog.d/c.changed.md":      "- **Action required** (aws): C.\n  More.\n- D.\n",
		"changelog.d/tls-1.security.md": "- S.\n",
	})
	if err := releaseChangelog(dir, "v0.2.0", "2026-02-01"); err != nil {
		t.Fatal(err)
	}
	const section = `### Added

- A. It has
  two lines.
- B.

### Changed

- **Action required** (aws): C.
  More.
- D.

### Fixed

- F.

### Security

- S.
`
	want := "# Changelog\n\nText.\n\n## [Unreleased]\n\n## [0.2.0] - 2026-02-01\n\n" + section +
		"\n## [0.1.0] - 2026-01-01\n\n### Added\n\n- Everything.\n"
	if got := read(t, filepath.Join(dir, "CHANGELOG.md")); got != want {
		t.Errorf("changelog\n%s\nwant\n%s", got, want)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "changelog.d", "*")); len(left) != 1 {
		t.Errorf("files remain: %q", left)
	}
	got, err := releaseNotes(dir, "v0.2.0")
	if err != nil || got != section {
		t.Errorf("notes\n%s\nwant\n%s (%v)", got, section, err)
	}
	_, err = releaseNotes(dir, "v0.3.0")
	wantError(t, err, "has no section for v0.3.0")
	wantError(t, releaseChangelog(dir, "v0.3.0", "2026-02-01"), "no entry")
}

func TestReleaseRejectsVersions(t *testing.T) {
	dir := write(t, map[string]string{"CHANGELOG.md": someChangelog})
	wantError(t, releaseChangelog(dir, "0.2.0", "2026-02-01"), `"0.2.0" is not a version`)
	for _, date := range []string{"2026-01-01", "2026-01-02"} {
		wantError(t, releaseChangelog(dir, "v0.1.0", date), "has a section for v0.1.0 already")
	}
	if err := os.Remove(filepath.Join(dir, "CHANGELOG.md")); err != nil {
		t.Fatal(err)
	}
	if err := releaseChangelog(dir, "v0.2.0", "2026-02-01"); err == nil {
		t.Error("no error without a changelog")
	}
}

func TestFragmentsHaveKnownKindsAndEntries(t *testing.T) {
	for name, tc := range map[string]struct{ file, content, want string }{
		"unknown kind":    {"a.improved.md", "- A.", "one of these kinds: added, changed"},
		"no kind":         {"a.md", "- A.", "name it SUBJECT.KIND.md"},
		"capital letters": {"A.added.md", "- A.", "name it SUBJECT.KIND.md"},
		"no entry":        {"a.added.md", "A.", `line 1: an entry starts with "- "`},
		"not indented":    {"a.added.md", "- A.\nB.", `line 2: an entry starts with "- "`},
		"empty":           {"a.added.md", "\n", `line 1: an entry starts with "- "`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := write(t, map[string]string{filepath.Join(fragments, tc.file): tc.content})
			_, _, err := readFragments(dir)
			wantError(t, err, fragments+"/"+tc.file, tc.want)
		})
	}
}
