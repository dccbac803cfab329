package octavia

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
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
	known := core.FieldsOf(fields.Type())
	for name, source := range core.FieldsOf(in.Type()) {
		o, ok := in.FieldByIndex(source.Index).Addr().Interface().(interface{ value() (reflect.Value, bool) })
		if !ok {
			continue
		}
		v, given := o.value()
		if !given {
			continue
		}
		target := known[name]
		field := fields.FieldByIndex(target.Index)
		switch {
		case !v.IsValid():
			target.SetDefault(field)
		case field.Kind() == reflect.Pointer:
			field.Set(v)
		default:
			field.Set(v.Elem())
		}
	}
}

// setDefaults sets every field of a new object to its default.
func setDefaults[Object any](object *Object) {
	fields := reflect.ValueOf(object).Elem()
	for _, f := range core.FieldsOf(fields.Type()) {
		if f.Standard.IsValid() {
			f.SetDefault(fields.FieldByIndex(f.Index))
		}
	}
}
