package sim

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// opt is a field of a request that may be absent, null, or given.
type opt[T any] struct {
	given, null bool
	v           T
}

// UnmarshalJSON implements json.Unmarshaler. It is called for null too, and not for what is absent.
func (o *opt[T]) UnmarshalJSON(raw []byte) error {
	o.given = true
	if string(raw) == "null" {
		o.null = true
		return nil
	}
	if _, number := any(o.v).(int); number {
		raw = bytes.Trim(raw, `"`) // Octavia accepts numbers as text too, which is how its command line sends some.
	}
	return json.Unmarshal(raw, &o.v)
}

// or returns the given value, or the default.
func (o opt[T]) or(standard T) T {
	if o.given && !o.null {
		return o.v
	}
	return standard
}

// value returns a pointer to the value that the request gives: an invalid one for null. given is false for an absent
// field.
func (o *opt[T]) value() (v reflect.Value, given bool) {
	if o.null || !o.given {
		return reflect.Value{}, o.given
	}
	return reflect.ValueOf(&o.v), true
}

// merge sets the fields of an object that a request gives, matched by their names in JSON. Null restores the default.
func merge[Object, Request any](object *Object, request *Request) {
	fields, in := reflect.ValueOf(object).Elem(), reflect.ValueOf(request).Elem()
	known := fieldsOf(fields.Type())
	for name, source := range fieldsOf(in.Type()) {
		o, ok := in.FieldByIndex(source.index).Addr().Interface().(interface{ value() (reflect.Value, bool) })
		if !ok {
			continue
		}
		v, given := o.value()
		if !given {
			continue
		}
		target := known[name]
		field := fields.FieldByIndex(target.index)
		switch {
		case !v.IsValid():
			target.setDefault(field)
		case field.Kind() == reflect.Pointer:
			field.Set(v)
		default:
			field.Set(v.Elem())
		}
	}
}

// setDefaults gives every field of a new object its default.
func setDefaults[Object any](object *Object) {
	fields := reflect.ValueOf(object).Elem()
	for _, f := range fieldsOf(fields.Type()) {
		if f.standard.IsValid() {
			f.setDefault(fields.FieldByIndex(f.index))
		}
	}
}

// fieldInfo is a field with a name in JSON. Its default is a tag: a text, or for other types JSON.
type fieldInfo struct {
	index    []int
	standard reflect.Value
}

// setDefault restores the default. A pointer without one becomes nil, any other field without one keeps its value.
func (f fieldInfo) setDefault(field reflect.Value) {
	switch {
	case f.standard.IsValid() && field.Kind() == reflect.Map:
		field.Set(reflect.MakeMap(field.Type())) // Objects must not share a map.
	case f.standard.IsValid():
		field.Set(f.standard)
	case field.Kind() == reflect.Pointer:
		field.SetZero()
	}
}

// fieldCache holds the result of fieldsOf by type: batches have thousands of members.
var fieldCache sync.Map

// fieldsOf returns the fields of a struct by their names in JSON.
func fieldsOf(t reflect.Type) map[string]fieldInfo {
	if known, ok := fieldCache.Load(t); ok {
		return known.(map[string]fieldInfo)
	}
	out := map[string]fieldInfo{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || !f.IsExported() {
			continue
		}
		info := fieldInfo{index: f.Index}
		if text, ok := f.Tag.Lookup("default"); ok {
			info.standard = reflect.New(f.Type).Elem()
			if f.Type.Kind() == reflect.String {
				info.standard.SetString(text)
			} else if err := json.Unmarshal([]byte(text), info.standard.Addr().Interface()); err != nil {
				panic(err) // Tags are constants.
			}
		}
		out[name] = info
	}
	fieldCache.Store(t, out)
	return out
}
