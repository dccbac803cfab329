package config

import (
	"encoding"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A field is a section or key of the target struct, found by gcfg's rules: the name in the gcfg tag, or the
// field's name with hyphens for underscores, ignoring case.
type field struct {
	// name is the form for messages.
	name string
	// ident is the form for comparisons, ignoring case; tagged is set if it comes from a tag.
	ident  string
	tagged bool
	// yaml is the name in YAML files, "" for a field that they do not have.
	yaml  string
	typ   reflect.Type
	index []int
}

// structFields returns the fields of a struct type that can be set, in source order, embedded structs included.
func structFields(t reflect.Type) []field {
	var all []field
	for _, sf := range reflect.VisibleFields(t) {
		if !sf.IsExported() || sf.Anonymous && !hasIdent(sf) {
			continue
		}
		f := field{typ: sf.Type, index: sf.Index}
		f.ident, _, _ = strings.Cut(sf.Tag.Get("gcfg"), ",")
		f.name, f.tagged = f.ident, f.ident != ""
		f.yaml = sf.Tag.Get("yaml")
		if !f.tagged {
			f.ident = sf.Name
			f.name = strings.ReplaceAll(sf.Name, "_", "-")
		}
		all = append(all, f)
	}
	return all
}

func hasIdent(sf reflect.StructField) bool {
	ident, _, _ := strings.Cut(sf.Tag.Get("gcfg"), ",")
	return ident != ""
}

// findField returns the field for a name in the file.
func findField(all []field, name string) (field, bool) {
	folded := strings.ReplaceAll(name, "-", "_")
	if r, _ := utf8.DecodeRuneInString(name); unicode.IsLetter(r) && !unicode.IsLower(r) && !unicode.IsUpper(r) {
		// gcfg's rule for scripts without case: their Go field names start with an X.
		folded = "X" + folded
	}
	for _, f := range all {
		if f.tagged && strings.EqualFold(f.ident, name) || !f.tagged && strings.EqualFold(f.ident, folded) {
			return f, true
		}
	}
	return field{}, false
}

// sectionKeys returns the keys of a section field; a section with subsections is a map.
func sectionKeys(section field) []field {
	t := section.typ
	if hasSubsections(section) {
		t = t.Elem()
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return structFields(t)
}

func hasSubsections(section field) bool { return section.typ.Kind() == reflect.Map }

// isRepeatable reports whether each occurrence of a key adds a value.
func isRepeatable(key field) bool {
	t := key.typ
	if t.Name() == "" && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Name() == "" && t.Kind() == reflect.Slice
}

func fieldNames(all []field) []string {
	list := make([]string, len(all))
	for i, f := range all {
		list[i] = f.name
	}
	return list
}

// textUnmarshaler is the type of encoding.TextUnmarshaler.
var textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
