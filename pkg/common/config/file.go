package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/internal/spell"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// File is a decoded file: it records the line of each key and collects problems.
type File struct {
	// Name is used in messages only.
	Name     string
	lines    map[location]int
	errors   Problems
	warnings Problems
	// yaml are the sections of a YAML file, nil for the other form.
	yaml []field
}

// defaultName is the name of a file without one, in messages.
const defaultName = "cloud.conf"

// location is a key of a section; section and key are in lower case, sub as written.
type location struct{ section, sub, key string }

func newFile(name string) *File {
	return &File{Name: cmp.Or(name, defaultName), lines: map[location]int{}}
}

// Section names a subsection for the methods of File, as it is written in the file: Name "sub".
func Section(name, sub string) string { return fmt.Sprintf("%s %q", name, sub) }

// Line returns the line of a key (of its last occurrence, which takes effect), or 0 if the file does not set
// it. An empty key means the section header.
func (f *File) Line(section, key string) int {
	name, sub := splitSection(section)
	return f.lines[location{strings.ToLower(name), sub, strings.ToLower(key)}]
}

// Has reports whether the file sets the key, so that a default does not override an explicit zero.
func (f *File) Has(section, key string) bool { return f.Line(section, key) > 0 }

// Errorf adds an error about a key at the key's line. The message should name the value, unless
// it is a secret, and what to write instead.
func (f *File) Errorf(section, key, format string, args ...any) {
	f.errors = append(f.errors, f.problem(section, key, format, args...))
}

// Warnf adds a warning about a key at the key's line.
func (f *File) Warnf(section, key, format string, args ...any) {
	f.warnings = append(f.warnings, f.problem(section, key, format, args...))
}

// Warnings returns the problems that do not prevent the use of the file, in file order.
func (f *File) Warnings() Problems { return sortByLine(f.warnings) }

// Err returns all errors as Problems in file order, or nil.
func (f *File) Err() error {
	if len(f.errors) == 0 {
		return nil
	}
	return sortByLine(f.errors)
}

func (f *File) problem(section, key, format string, args ...any) Problem {
	line := f.Line(section, key)
	if line == 0 {
		line = f.Line(section, "")
	}
	return Problem{File: f.Name, Line: line, Message: f.keyText(section, key) + ": " + fmt.Sprintf(format, args...)}
}

func (f *File) keyText(section, key string) string {
	if f.yaml != nil {
		return f.yamlKeyText(section, key)
	}
	return strings.TrimSpace(fmt.Sprintf("[%s] %s", section, key))
}

// splitSection is the inverse of Section.
func splitSection(section string) (name, sub string) {
	name, quoted, found := strings.Cut(section, " ")
	if !found {
		return name, ""
	}
	if _, err := fmt.Sscanf(quoted, "%q", &sub); err != nil {
		return section, ""
	}
	return name, sub
}

// sortByLine orders by line; problems without a line come last. It keeps the order within a line.
func sortByLine(ps Problems) Problems {
	ps = slices.Clone(ps)
	sorting.StableFunc(ps, func(a, b Problem) int {
		if a.Line == 0 || b.Line == 0 {
			return b.Line - a.Line
		}
		return a.Line - b.Line
	})
	return ps
}

// suggestNearest returns a suggestion of a similar word, for the end of a message.
func suggestNearest(word string, known []string) string {
	if suggestion := spell.Nearest(word, known); suggestion != "" {
		return fmt.Sprintf("; did you mean %s?", suggestion)
	}
	return ""
}

func (f *File) warn(line int, format string, args ...any) {
	f.warnings = append(f.warnings, Problem{File: f.Name, Line: line, Message: fmt.Sprintf(format, args...)})
}

// yamlKeyText returns the name of a key in a YAML file: global.insecureFlag.
func (f *File) yamlKeyText(section, key string) string {
	name, sub := splitSection(section)
	parts := []string{name}
	known, ok := findField(f.yaml, name)
	if ok {
		parts[0] = known.yaml
	}
	if sub != "" {
		parts = append(parts, sub)
	}
	if k, found := findField(sectionKeys(known), key); ok && found {
		key = k.yaml
	}
	if key != "" {
		parts = append(parts, key)
	}
	return strings.Join(parts, ".")
}
