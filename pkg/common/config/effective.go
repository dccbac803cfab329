package config

import (
	"bufio"
	"encoding"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// WriteEffective writes the effective configuration, defaults included, in the form of a cloud.conf file. Values
// of type Secret are redacted; keys without a value are omitted.
func WriteEffective(w io.Writer, cfg any) error {
	v := reflect.Indirect(reflect.ValueOf(cfg))
	if v.Kind() != reflect.Struct {
		return fmt.Errorf("config: %T is not a struct", cfg)
	}
	out := bufio.NewWriter(w)
	p := &printer{out: out}
	for _, section := range structFields(v.Type()) {
		value := v.FieldByIndex(section.index)
		if !hasSubsections(section) {
			p.section("["+section.name+"]", value)
			continue
		}
		for _, sub := range sortedKeys(value) {
			p.section("["+Section(section.name, sub.String())+"]", value.MapIndex(sub))
		}
	}
	return out.Flush()
}

// sortedKeys returns the names of subsections, sorted.
func sortedKeys(subsections reflect.Value) []reflect.Value {
	subs := subsections.MapKeys()
	sorting.Func(subs, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return subs
}

type printer struct {
	out     *bufio.Writer
	started bool
}

// section prints a section with the keys that have a value; without any it prints nothing.
func (p *printer) section(header string, value reflect.Value) {
	value = reflect.Indirect(value)
	if value.Kind() != reflect.Struct {
		return
	}
	var lines []string
	for _, key := range structFields(value.Type()) {
		for _, text := range formatValues(value.FieldByIndex(key.index)) {
			lines = append(lines, key.name+" = "+quote(text))
		}
	}
	if len(lines) == 0 {
		return
	}
	if p.started {
		_, _ = p.out.WriteString("\n")
	}
	p.started = true
	_, _ = p.out.WriteString(header + "\n" + strings.Join(lines, "\n") + "\n")
}

// formatValues returns the values of a key as they would be written: none for an empty one, several for a repeated
// key.
func formatValues(v reflect.Value) []string {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if err != nil || len(text) == 0 {
			return nil
		}
		return []string{string(text)}
	}
	switch v = reflect.Indirect(v); v.Kind() {
	case reflect.Slice:
		var all []string
		for i := range v.Len() {
			all = append(all, formatValues(v.Index(i))...)
		}
		return all
	case reflect.String:
		if v.Len() == 0 {
			return nil
		}
	}
	return []string{fmt.Sprint(v.Interface())}
}

// quote puts a value in double quotes if gcfg would parse it differently without them.
func quote(s string) string {
	if s == strings.TrimSpace(s) && !strings.ContainsAny(s, "#;\\\"\n\t\r") {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", "").Replace(s) + `"`
}
