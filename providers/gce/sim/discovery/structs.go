package discovery

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// CheckStruct returns the fields of a struct that a schema does not have, or has with another type. A tag "enum" must
// have the values of the schema.
func (d *Document) CheckStruct(schema string, x any) []string {
	s, ok := d.Schemas[schema]
	if !ok {
		return []string{"the API has no schema " + schema}
	}
	return d.checkStruct(schema, s, reflect.TypeOf(x))
}

func (d *Document) checkStruct(path string, s Schema, t reflect.Type) []string {
	if s.Ref != "" {
		s = d.Schemas[s.Ref]
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	want := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer",
		reflect.Int64: "integer", reflect.Float64: "number", reflect.Slice: "array", reflect.Struct: "object",
		reflect.Map: "object"}[t.Kind()]
	if s.Type != want {
		return []string{fmt.Sprintf("%s is %s, want %s", path, want, s.Type)}
	}
	switch t.Kind() {
	case reflect.Slice:
		return d.checkStruct(path, *s.Items, t.Elem())
	case reflect.Struct:
		return d.checkFields(path, s, t)
	}
	return nil
}

func (d *Document) checkFields(path string, s Schema, t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch p, ok := s.Properties[name]; {
		case f.Anonymous && name == "":
			out = append(out, d.checkFields(path, s, f.Type)...)
		case !f.IsExported() || name == "-":
		case !ok:
			out = append(out, path+"."+name+" is not in the API")
		default:
			out = append(out, d.checkStruct(path+"."+name, p, f.Type)...)
			tag, tagged := f.Tag.Lookup("enum")
			if values := strings.Split(tag, "|"); tagged && !slices.Equal(values, p.Enum) {
				out = append(out, fmt.Sprintf("%s.%s has values %v, want %v", path, name, values, p.Enum))
			}
		}
	}
	return out
}
