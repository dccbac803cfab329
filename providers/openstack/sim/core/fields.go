package core

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// FieldInfo is a field with a name in JSON. Its default is a tag: a text, or for other types JSON.
type FieldInfo struct {
	Index    []int
	Standard reflect.Value
}

// SetDefault restores the default. A pointer without one becomes nil, any other field without one keeps its value.
func (f FieldInfo) SetDefault(field reflect.Value) {
	switch {
	case f.Standard.IsValid() && field.Kind() == reflect.Map:
		field.Set(reflect.MakeMap(field.Type())) // Objects must not share a map.
	case f.Standard.IsValid():
		field.Set(f.Standard)
	case field.Kind() == reflect.Pointer:
		field.SetZero()
	}
}

// fieldCache caches fieldsOf by type: batches have thousands of members.
var fieldCache sync.Map

// FieldsOf returns the fields of a struct by their names in JSON.
func FieldsOf(t reflect.Type) map[string]FieldInfo {
	if known, ok := fieldCache.Load(t); ok {
		return known.(map[string]FieldInfo)
	}
	out := map[string]FieldInfo{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || !f.IsExported() {
			continue
		}
		info := FieldInfo{Index: f.Index}
		if text, ok := f.Tag.Lookup("default"); ok {
			info.Standard = reflect.New(f.Type).Elem()
			if f.Type.Kind() == reflect.String {
				info.Standard.SetString(text)
			} else if err := json.Unmarshal([]byte(text), info.Standard.Addr().Interface()); err != nil {
				panic(err) // Tags are constants.
			}
		}
		out[name] = info
	}
	fieldCache.Store(t, out)
	return out
}

// Assign sets the fields of an object that a request gives as a pointer to a text, a boolean or a number, matched by
// their names in JSON.
func Assign[Object, Request any](object *Object, request Request) {
	fields, in := reflect.ValueOf(object).Elem(), reflect.ValueOf(request)
	known := FieldsOf(fields.Type())
	for name, source := range FieldsOf(in.Type()) {
		given := in.FieldByIndex(source.Index)
		target, ok := known[name]
		if !ok || given.Kind() != reflect.Pointer || given.IsNil() {
			continue
		}
		field := fields.FieldByIndex(target.Index)
		if field.Kind() != reflect.Slice && given.Type().Elem() == field.Type() {
			field.Set(given.Elem())
		}
	}
}
