package octavia

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// opt is an optional field of a request: absent, null, or with a value.
type opt[T any] struct {
	isSet, null bool
	v           T
}

// UnmarshalJSON implements json.Unmarshaler. It is called for null too, but not for an absent field.
func (o *opt[T]) UnmarshalJSON(raw []byte) error {
	o.isSet = true
	if string(raw) == "null" {
		o.null = true
		return nil
	}
	if _, number := any(o.v).(int); number {
		raw = bytes.Trim(raw, `"`) // Octavia accepts numbers as text too, which is how its command line sends some.
	}
	return json.Unmarshal(raw, &o.v)
}

// or returns the value, or for an absent or null field the default.
func (o opt[T]) or(defaultValue T) T {
	if o.isSet && !o.null {
		return o.v
	}
	return defaultValue
}

// value returns a pointer to the value, an invalid one for null. isSet is false for an absent field.
func (o *opt[T]) value() (v reflect.Value, isSet bool) {
	if o.null || !o.isSet {
		return reflect.Value{}, o.isSet
	}
	return reflect.ValueOf(&o.v), true
}

// merge sets the fields of an object that a request has, matched by their names in JSON. Null restores the default.
func merge[Object, Request any](object *Object, request *Request) {
	to, from := reflect.ValueOf(object).Elem(), reflect.ValueOf(request).Elem()
	targets := core.FieldsOf(to.Type())
	for name, source := range core.FieldsOf(from.Type()) {
		o, ok := from.FieldByIndex(source.Index).Addr().Interface().(interface{ value() (reflect.Value, bool) })
		if !ok {
			continue
		}
		v, isSet := o.value()
		if !isSet {
			continue
		}
		target := targets[name]
		field := to.FieldByIndex(target.Index)
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
		if f.Default.IsValid() {
			f.SetDefault(fields.FieldByIndex(f.Index))
		}
	}
}
