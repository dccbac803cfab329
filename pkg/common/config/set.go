package config

import (
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

var errNoValue = errors.New("a value is missing")

// set assigns a statement to its field by gcfg's rules. gcfg itself links encoding/gob, to copy the defaults of
// subsections; the tests of this package compare both.
func (d *decoder) set(st assignment) error {
	section := reflect.ValueOf(d.target).Elem().FieldByIndex(st.section.index)
	if hasSubsections(st.section) {
		section = d.subsection(st, section)
	}
	if st.header {
		return nil
	}
	target := section.FieldByIndex(st.key.index)
	if !isRepeatable(st.key) {
		return setValue(target, st.statement)
	}
	if target.Kind() == reflect.Pointer {
		if target.IsNil() {
			target.Set(reflect.New(target.Type().Elem()))
		}
		target = target.Elem()
	}
	if st.blank {
		target.SetZero()
		return nil
	}
	value := reflect.New(target.Type().Elem()).Elem()
	if err := setValue(value, st.statement); err != nil {
		return err
	}
	n := target.Len()
	target.Set(reflect.Append(target.Slice3(0, n, n), value))
	return nil
}

// subsection returns the struct of a subsection. A new one starts with the values of the section default-NAME.
func (d *decoder) subsection(st assignment, all reflect.Value) reflect.Value {
	if all.IsNil() {
		all.Set(reflect.MakeMap(all.Type()))
	}
	sub := all.MapIndex(reflect.ValueOf(st.sub))
	if !sub.IsValid() {
		sub = reflect.New(all.Type().Elem().Elem())
		if defaults, ok := findField(d.sections, "default-"+st.statement.section); ok {
			sub.Elem().Set(reflect.ValueOf(d.target).Elem().FieldByIndex(defaults.index))
		}
		all.SetMapIndex(reflect.ValueOf(st.sub), sub)
	}
	return sub.Elem()
}

// setValue parses the value of a statement into a field.
func setValue(target reflect.Value, st statement) error {
	if target.Kind() == reflect.Pointer && target.Type().Name() == "" {
		if target.IsNil() {
			value := reflect.New(target.Type().Elem())
			err := setValue(value.Elem(), st)
			if err == nil {
				target.Set(value)
			}
			return err
		}
		target = target.Elem()
	}
	text := unquote(st.value)
	unmarshaler, custom := target.Addr().Interface().(encoding.TextUnmarshaler)
	switch kind := target.Kind(); {
	case kind == reflect.Bool && !custom:
		return setBool(target, text, st.blank)
	case st.blank:
		return errNoValue
	case custom:
		return unmarshaler.UnmarshalText([]byte(text))
	case target.Type() == reflect.TypeFor[string]():
		target.SetString(text)
		return nil
	case kind >= reflect.Int && kind <= reflect.Uint64:
		// Decimal, or hexadecimal with 0x: a leading zero does not mean octal.
		text = strings.TrimSpace(text)
		if !strings.HasPrefix(strings.TrimPrefix(text, "-"), "0x") {
			return scanValue(target, text, "%d%s")
		}
	}
	return scanValue(target, text, "%v%s")
}

// setBool parses a bool. A key without a value is true.
func setBool(target reflect.Value, text string, blank bool) error {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		target.SetBool(true)
	case "false", "no", "off", "0":
		target.SetBool(false)
	default:
		if !blank {
			return fmt.Errorf("%q is not a bool", text)
		}
		target.SetBool(true)
	}
	return nil
}

// scanValue parses all of a text. The format ends with %s for the remainder, which must be empty.
func scanValue(target reflect.Value, text, format string) error {
	var remainder []byte
	n, err := fmt.Sscanf(text, format, target.Addr().Interface(), &remainder)
	if n != 1 || !errors.Is(err, io.EOF) {
		return fmt.Errorf("%q is not a value of type %v", text, target.Type())
	}
	return nil
}

// assign sets the assignments. Sections with subsections come second: new subsections start with the values
// of the default-NAME section, which may be anywhere in the file.
func (d *decoder) assign() {
	sorting.StableFunc(d.assignments, func(a, b assignment) int {
		return rank(a.section) - rank(b.section)
	})
	for _, st := range d.assignments {
		if err := d.set(st); err != nil {
			d.file.errors = append(d.file.errors, Problem{File: d.file.Name, Line: st.line,
				Message: d.file.keyText(st.section.name, st.key.name) + ": " + explain(st, err)})
		}
	}
}
