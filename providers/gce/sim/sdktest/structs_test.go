package sdktest

import (
	"fmt"
	"reflect"
	"regexp"
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
			out = append(out, checkTags(path+"."+name, f.Tag)...)
		}
	}
	return out
}

var tagKeys = regexp.MustCompile(`(\w+):"`)

// checkTags returns tags that the simulator does not read, and values that the tag enum does not have.
func checkTags(path string, tag reflect.StructTag) []string {
	var out []string
	for _, key := range tagKeys.FindAllStringSubmatch(string(tag), -1) {
		if !slices.Contains(strings.Fields("json enum simulated default range most format set link named outlived"), key[1]) {
			out = append(out, path+" has an unknown tag "+key[1])
		}
	}
	set, isSet := tag.Lookup("set")
	if isSet && !slices.Contains(strings.Fields("required never output once"), set) {
		out = append(out, path+" has an unknown tag set "+set)
	}
	values, isEnum := tag.Lookup("enum")
	for _, text := range strings.Split(tag.Get("simulated")+"|"+tag.Get("default"), "|") {
		if isEnum && text != "" && !slices.Contains(strings.Split(values, "|"), text) {
			out = append(out, path+" has no value "+text)
		}
	}
	return out
}
