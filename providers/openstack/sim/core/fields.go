package core

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// FieldInfo describes a field with a name in JSON. Default is valid for a field with the tag "default", which has a
// text, or for types other than string JSON.
type FieldInfo struct {
	Index   []int
	Default reflect.Value
}

// SetDefault restores the default. A pointer without one becomes nil, any other field without one keeps its value.
func (f FieldInfo) SetDefault(field reflect.Value) {
	switch {
	case f.Default.IsValid() && field.Kind() == reflect.Map:
		field.Set(reflect.MakeMap(field.Type())) // Objects must not share a map.
	case f.Default.IsValid():
		field.Set(f.Default)
	case field.Kind() == reflect.Pointer:
		field.SetZero()
	}
}

// fieldCache caches FieldsOf by type: batches have thousands of members.
var fieldCache sync.Map

// FieldsOf returns the fields of a struct by their names in JSON.
func FieldsOf(t reflect.Type) map[string]FieldInfo {
	if cached, ok := fieldCache.Load(t); ok {
		return cached.(map[string]FieldInfo)
	}
	out := map[string]FieldInfo{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || !f.IsExported() {
			continue
		}
		info := FieldInfo{Index: f.Index}
		if text, ok := f.Tag.Lookup("default"); ok {
			info.Default = reflect.New(f.Type).Elem()
			if f.Type.Kind() == reflect.String {
				info.Default.SetString(text)
			} else if err := json.Unmarshal([]byte(text), info.Default.Addr().Interface()); err != nil {
				panic(err) // Tags are constants.
			}
		}
		out[name] = info
	}
	fieldCache.Store(t, out)
	return out
}

// Assign sets the fields of an object for which a request has a pointer to a text, a boolean or a number, matched by
// their names in JSON.
func Assign[Object, Request any](object *Object, request Request) {
	to, from := reflect.ValueOf(object).Elem(), reflect.ValueOf(request)
	targets := FieldsOf(to.Type())
	for name, source := range FieldsOf(from.Type()) {
		value := from.FieldByIndex(source.Index)
		target, ok := targets[name]
		if !ok || value.Kind() != reflect.Pointer || value.IsNil() {
			continue
		}
		field := to.FieldByIndex(target.Index)
		if field.Kind() != reflect.Slice && value.Type().Elem() == field.Type() {
			field.Set(value.Elem())
		}
	}
}
