package query

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// ValueError is a parameter with a text that does not fit its type.
type ValueError struct {
	// Parameter is the whole name as sent, such as Filter.1.Value.2.
	Parameter string
	Value     string
	// Type is integer or boolean.
	Type string
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("parameter %s: %q is not a %s", e.Parameter, e.Value, e.Type)
}

// Decode fills in a struct from the parameters of a request. Fields are named by their tag
// `q:"Name"`, or like the field; `q:"-"` skips one, and embedded structs are seen through. Strings, integers, booleans,
// pointers to them (nil if the parameter is absent), structs and slices of all these are understood. Members of a slice
// are numbered: Name.1, or Name.member.1; gaps are allowed, and order is by number.
//
// unknown are the parameters without a field, sorted. An error is a *ValueError.
func Decode(values url.Values, into any) (unknown []string, err error) {
	d := &decoder{Params: NewParams(values), used: map[string]bool{}}
	if err := d.fields("", reflect.ValueOf(into).Elem()); err != nil {
		return nil, err
	}
	for name := range values {
		if !d.used[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown, nil
}

type decoder struct {
	Params
	used map[string]bool
}

func (d *decoder) fields(prefix string, v reflect.Value) error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name := field.Tag.Get("q")
		if field.Anonymous {
			if err := d.fields(prefix, v.Field(i)); err != nil {
				return err
			}
			continue
		}
		if name == "-" || !field.IsExported() {
			continue
		}
		if name == "" {
			name = field.Name
		}
		if err := d.value(prefix+name, v.Field(i)); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) value(name string, v reflect.Value) error {
	if !d.Present(name) {
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(name, v.Elem())
	case reflect.Struct:
		return d.fields(name+".", v)
	case reflect.Slice:
		return d.list(name, v)
	default:
		return d.scalar(name, v)
	}
}

func (d *decoder) scalar(name string, v reflect.Value) error {
	text, ok := d.Text(name)
	if !ok {
		return nil
	}
	d.used[name] = true
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		b, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return &ValueError{Parameter: name, Value: text, Type: "boolean"}
		}
		v.SetBool(b)
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
		if err != nil {
			return &ValueError{Parameter: name, Value: text, Type: "integer"}
		}
		v.SetInt(n)
	default:
		panic(fmt.Sprintf("query: parameter %s has a field of kind %s", name, v.Kind()))
	}
	return nil
}

// list reads numbered members. An empty list is sent as the bare name with an empty value.
func (d *decoder) list(name string, v reflect.Value) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))
	if text, ok := d.values[name]; ok && text[0] == "" {
		d.used[name] = true
	}
	base, numbers := d.Numbers(name)
	for _, n := range numbers {
		member := reflect.New(v.Type().Elem()).Elem()
		if err := d.value(base+"."+strconv.Itoa(n), member); err != nil {
			return err
		}
		v.Set(reflect.Append(v, member))
	}
	return nil
}
