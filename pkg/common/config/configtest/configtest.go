// Package configtest has the tests of configurations that all providers share.
package configtest

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/config"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// VerifyDocumented fails the test unless each key of cfg, a provider's configuration, has a row in the reference
// with a type and a text, and the rows of exactly the secret keys are marked as secret.
func VerifyDocumented(t testing.TB, cfg any, rows []provider.ConfigKey) {
	t.Helper()
	var documented []string
	for _, row := range rows {
		documented = append(documented, formatKey(row.Section, row.Key, row.Secret))
		if row.Type == "" || row.Doc == "" {
			t.Errorf("[%s] %s has no type or no text", row.Section, row.Key)
		}
	}
	fieldKeys := keysOf(reflect.TypeOf(cfg))
	slices.Sort(documented)
	slices.Sort(fieldKeys)
	if diff := cmp.Diff(fieldKeys, documented); diff != "" {
		t.Errorf("keys that are read (-) and rows of the reference (+):\n%s", diff)
	}
}

// VerifyLocated fails the test unless every problem in err, one a line, begins with the name of its file.
func VerifyLocated(t testing.TB, file string, err error) {
	t.Helper()
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if !strings.HasPrefix(line, file) {
			t.Errorf("the problem %q does not name its file", line)
		}
	}
}

// keysOf returns the keys of a configuration struct. Its fields are sections, or maps of sections by
// subsection.
func keysOf(cfg reflect.Type) []string {
	var out []string
	for _, section := range reflect.VisibleFields(cfg) {
		typ, name := section.Type, fieldName(section)
		if typ.Kind() == reflect.Map {
			typ, name = typ.Elem().Elem(), config.Section(name, "NAME")
		}
		for _, key := range reflect.VisibleFields(typ) {
			if key.Anonymous && key.Tag.Get("gcfg") == "" {
				continue // its fields are keys of the section
			}
			out = append(out, formatKey(name, fieldName(key), key.Type == reflect.TypeFor[config.Secret]()))
		}
	}
	return out
}

// fieldName returns the name of a field in files.
func fieldName(field reflect.StructField) string {
	if tag := field.Tag.Get("gcfg"); tag != "" {
		return tag
	}
	return strings.ReplaceAll(field.Name, "_", "-")
}

// formatKey normalizes a key for the comparison: case does not matter in files.
func formatKey(section, key string, secret bool) string {
	text := strings.ToLower("[" + section + "] " + key)
	if secret {
		text += " (secret)"
	}
	return text
}
