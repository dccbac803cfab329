package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Files of the changelog.
const (
	changelog  = "CHANGELOG.md"
	fragments  = "changelog.d"
	unreleased = "## [Unreleased]"
)

// kinds are the sections of a version, in their order (Keep a Changelog), by the last part of a fragment's name.
var kinds = []string{"added", "changed", "deprecated", "removed", "fixed", "security"}

func heading(kind string) string { return "### " + strings.ToUpper(kind[:1]) + kind[1:] }

// fragmentName matches SUBJECT.KIND.md.
var fragmentName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*\.([a-z]+)\.md$`)

// versionName matches the version of a release, such as v1.2.3.
var versionName = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

// readFragments returns the entries of the fragments by kind, and the files. Each file is one or more entries: lines
// that start with "- ", with indented lines below.
func readFragments(dir string) (entries map[string][]string, files []string, err error) {
	listed, err := os.ReadDir(filepath.Join(dir, fragments))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, nil, err
	}
	entries = map[string][]string{}
	var problems []error
	for _, file := range listed {
		path := filepath.Join(dir, fragments, file.Name())
		if file.Name() == "README.md" {
			continue
		}
		name := fragmentName.FindStringSubmatch(file.Name())
		if name == nil || !slices.Contains(kinds, name[1]) {
			problems = append(problems, fmt.Errorf("%s/%s: name it SUBJECT.KIND.md, with lower-case letters, digits and "+
				"dashes in SUBJECT and one of these kinds: %s", fragments, file.Name(), strings.Join(kinds, ", ")))
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		text := strings.TrimSpace(string(content))
		if err := checkEntries(text); err != nil {
			problems = append(problems, fmt.Errorf("%s/%s: %w", fragments, file.Name(), err))
		}
		entries[name[1]] = append(entries[name[1]], text)
		files = append(files, path)
	}
	return entries, files, errors.Join(problems...)
}

func checkEntries(text string) error {
	for number, line := range strings.Split(text, "\n") {
		entry := strings.HasPrefix(line, "- ")
		if !entry && (number == 0 || !strings.HasPrefix(line, "  ")) {
			return fmt.Errorf("line %d: an entry starts with \"- \", and its other lines with two spaces", number+1)
		}
		if len([]rune(line)) > 140 {
			return fmt.Errorf("line %d has more than 140 columns", number+1)
		}
	}
	return nil
}

// releaseChangelog moves the fragments and the entries of the unreleased section into a section for the version, and
// deletes the fragments.
func releaseChangelog(dir, version, date string) error {
	if !versionName.MatchString(version) {
		return fmt.Errorf("%q is not a version such as v1.2.3", version)
	}
	entries, files, err := readFragments(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, changelog)
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if strings.Contains("\n"+string(content), "\n## ["+version[1:]+"]") {
		return fmt.Errorf("%s has a section for %s already", changelog, version)
	}
	before, section, after, err := cutSection(string(content), unreleased)
	if err != nil {
		return err
	}
	merged, err := mergeEntries(section, entries)
	if err != nil {
		return err
	}
	text := before + unreleased + "\n\n## [" + version[1:] + "] - " + date + "\n\n" + merged
	if after != "" {
		text += "\n" + after
	}
	// The entries must not get lost: the fragments stay until they are in the changelog.
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	var problems []error
	for _, file := range files {
		problems = append(problems, os.Remove(file))
	}
	return errors.Join(problems...)
}

// releaseNotes returns the section of a version, without its heading.
func releaseNotes(dir, version string) (string, error) {
	content, err := os.ReadFile(filepath.Join(dir, changelog))
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(string(content), "\n") {
		if strings.HasPrefix(line, "## ["+strings.TrimPrefix(version, "v")+"]") {
			_, section, _, err := cutSection(string(content), line)
			return section, err
		}
	}
	return "", fmt.Errorf("%s has no section for %s: hack/release-prepare.sh writes it", changelog, version)
}

// cutSection returns the text before a heading of level two, its section, and the sections after it.
func cutSection(text, title string) (before, section, after string, err error) {
	before, section, found := strings.Cut(text, title+"\n")
	if !found {
		return "", "", "", fmt.Errorf("%s has no line %q", changelog, title)
	}
	if end := strings.Index(section, "\n## "); end >= 0 {
		section, after = section[:end+1], section[end+1:]
	}
	return before, strings.Trim(section, "\n") + "\n", after, nil
}

// mergeEntries returns a section with the entries of the fragments below those that it has.
func mergeEntries(section string, entries map[string][]string) (string, error) {
	byKind := map[string][]string{}
	kind := ""
	for _, line := range strings.Split(strings.TrimSpace(section), "\n") {
		switch {
		case strings.HasPrefix(line, "### "):
			kind = strings.ToLower(strings.TrimPrefix(line, "### "))
			if !slices.Contains(kinds, kind) {
				return "", fmt.Errorf("%s has the unknown section %q", changelog, line)
			}
		case line == "":
		case kind == "":
			return "", fmt.Errorf("%s has an entry above the first section of %s: %q", changelog, unreleased, line)
		default:
			byKind[kind] = append(byKind[kind], line)
		}
	}
	var text []string
	for _, kind := range kinds {
		if all := append(byKind[kind], entries[kind]...); len(all) > 0 {
			text = append(text, heading(kind)+"\n\n"+strings.Join(all, "\n")+"\n")
		}
	}
	if len(text) == 0 {
		return "", errors.New("no entry: a release without changes for its users needs no release")
	}
	return strings.Join(text, "\n"), nil
}
