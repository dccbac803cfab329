package config

import (
	"fmt"
	"reflect"
	"strings"
)

// decoder sets the statements of a file into a struct, one by one, so that every problem gets its line.
type decoder struct {
	file        *File
	target      any
	sections    []field
	assignments []assignment
	// unknown are the sections with a warning.
	unknown map[string]bool
}

// assignment is a statement with a matching field in the struct.
type assignment struct {
	statement
	section, key field
}

func newDecoder(f *File, target any) *decoder {
	t := reflect.TypeOf(target)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		panic(fmt.Errorf("config: the target must be a pointer to a struct, not %T", target))
	}
	return &decoder{file: f, target: target, sections: structFields(t.Elem()), unknown: map[string]bool{}}
}

// check finds the field of a statement, and warns if the struct has none.
func (d *decoder) check(st statement) {
	f := d.file
	section, ok := findField(d.sections, st.section)
	if !ok {
		if name := strings.ToLower(st.section); !d.unknown[name] {
			d.unknown[name] = true
			f.warn(st.line, "unknown section [%s]%s", st.section, suggestNearest(st.section, fieldNames(d.sections)))
		}
		return
	}
	if st.sub != "" && !hasSubsections(section) {
		if st.header {
			f.warn(st.line, "[%s] has no subsections: [%s] is ignored", section.name, Section(section.name, st.sub))
		}
		return
	}
	loc := location{strings.ToLower(st.section), st.sub, strings.ToLower(st.key)}
	if st.header {
		f.lines[loc] = st.line
		d.assignments = append(d.assignments, assignment{st, section, field{}})
		return
	}
	key, ok := findField(sectionKeys(section), st.key)
	if !ok {
		f.warn(st.line, "unknown key %s in section [%s]%s", st.key, section.name, d.suggestion(section, st.key))
		return
	}
	if st.truncated {
		f.warn(st.line, "%s: the value ends at the comment character (# or ;) in its middle; put the value in double "+
			"quotes to keep all of it", f.keyText(section.name, key.name))
	}
	if earlier := f.lines[loc]; earlier > 0 && !isRepeatable(key) {
		f.warn(st.line, "%s is set again and overrides line %d", f.keyText(section.name, key.name), earlier)
	}
	f.lines[loc] = st.line
	d.assignments = append(d.assignments, assignment{st, section, key})
}

// suggestion names a similar key of this section, or the same key of another one.
func (d *decoder) suggestion(section field, key string) string {
	for _, other := range d.sections {
		if k, ok := findField(sectionKeys(other), key); ok {
			return fmt.Sprintf("; %s belongs in section [%s]", k.name, other.name)
		}
	}
	return suggestNearest(key, fieldNames(sectionKeys(section)))
}

func rank(section field) int {
	if hasSubsections(section) {
		return 1
	}
	return 0
}

// explain turns an error about a value into an instruction.
func explain(st assignment, err error) string {
	t := st.key.typ
	if isRepeatable(st.key) || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if st.blank {
		return fmt.Sprintf("needs a value: write %s = VALUE", st.key.name)
	}
	switch {
	case reflect.PointerTo(t).Implements(textUnmarshaler):
		// The type's own error.
	case t.Kind() == reflect.Bool:
		return fmt.Sprintf("must be true or false (or yes/no, on/off, 1/0), not %q", st.value)
	case t.Kind() == reflect.Int, t.Kind() == reflect.Int64:
		return fmt.Sprintf("must be a whole number, not %q", st.value)
	case t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64:
		return fmt.Sprintf("must be a whole number from %d to %d, not %q", -1<<(t.Bits()-1), 1<<(t.Bits()-1)-1, st.value)
	case t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uint64:
		return fmt.Sprintf("must be a whole number from 0 to %d, not %q", uint64(1)<<(t.Bits()-1)*2-1, st.value)
	}
	if t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64 {
		return fmt.Sprintf("must be a number, not %q", st.value)
	}
	return err.Error()
}
