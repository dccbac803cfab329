package world

import (
	"cmp"
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// Inventory is implemented by worlds that list their objects with the fields that the cloud's API shows. Comparisons
// read settings and orphans from it. Its calls do not appear in the Front's call log.
type Inventory interface {
	// Inventory returns the existing objects, sorted by kind and ID.
	Inventory() []Object
}

// Certificates is implemented by worlds with certificates for TLS at load balancers.
type Certificates interface {
	// Certificate returns the reference of a certificate, as the portable annotation names it.
	Certificate() (reference string)
}

// Object is one object in the cloud.
type Object struct {
	// Kind is singular, in words of the cloud: "target group".
	Kind, Name, ID string
	// Fields have the names of the cloud's API, with a dot between the parts: "healthCheck.port". Empty ones are left
	// out.
	Fields map[string]string
}

// Reserver is implemented by worlds with objects that a Service can name.
type Reserver interface {
	// Reserve reserves addresses for one load balancer. It returns them as the portable annotation for static addresses
	// names them, and one as an IP address.
	Reserve() (names []string, ip string, err error)
	// Subnet returns a subnet for load balancers that is not the default one, as the portable annotation names it.
	Subnet() (subnet string, err error)
}

// FamilySubnets is implemented by worlds in which each subnet has one address family.
type FamilySubnets interface {
	// IPv6Subnet returns a subnet for load balancers with IPv6 addresses, as the portable annotation names it; empty if
	// there is none.
	IPv6Subnet() string
}

// NewObject returns the object with the exported fields of all views, which are structs, maps or pointers to them. A
// field is named by its json or xml tag.
func NewObject(kind, name, id string, views ...any) Object {
	o := Object{Kind: kind, Name: name, ID: id, Fields: map[string]string{}}
	for _, view := range views {
		o.add("", reflect.ValueOf(view))
	}
	return o
}

// SortObjects sorts objects by kind, name and ID.
func SortObjects(list []Object) {
	sorting.Func(list, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
}

// add adds a value under a name; an empty name adds the fields of a struct without a prefix.
func (o *Object) add(name string, v reflect.Value) {
	if text, ok := formatScalar(v); ok {
		if text != "" {
			o.Fields[name] = text
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			o.add(name, v.Elem())
		}
	case reflect.Struct:
		o.addStruct(name, v)
	case reflect.Map:
		for _, key := range v.MapKeys() {
			o.add(joinName(name, fmt.Sprint(key)), v.MapIndex(key))
		}
	case reflect.Slice, reflect.Array:
		o.addList(name, v)
	}
}

func (o *Object) addStruct(name string, v reflect.Value) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		label := fieldName(field)
		switch {
		case label == "-":
		case field.Anonymous, v.NumField() == 1 && (field.Name == "Member" || field.Name == "Item"):
			// A list in AWS' XML has an element around its members.
			o.add(name, v.Field(i))
		case field.IsExported():
			o.add(joinName(name, label), v.Field(i))
		}
	}
}

// addList joins scalars, and numbers other elements.
func (o *Object) addList(name string, v reflect.Value) {
	var texts []string
	for i := range v.Len() {
		text, ok := formatScalar(v.Index(i))
		if !ok {
			o.add(joinName(name, strconv.Itoa(i)), v.Index(i))
			continue
		}
		texts = append(texts, text)
	}
	if len(texts) > 0 {
		o.Fields[name] = strings.Join(texts, ", ")
	}
}

// formatScalar formats a value that has no parts. Values of unexported embedded structs cannot be formatted by their
// methods.
func formatScalar(v reflect.Value) (string, bool) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			return formatScalar(v.Elem())
		}
	case reflect.Bool:
		return strconv.FormatBool(v.Bool()), true
	case reflect.String:
		return v.String(), true
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), true
	case reflect.Float32, reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64), true
	case reflect.Struct:
		if v.CanInterface() {
			if m, ok := v.Interface().(encoding.TextMarshaler); ok {
				text, err := m.MarshalText()
				return string(text), err == nil
			}
		}
	}
	return "", false
}

// fieldName returns the name of a field in the cloud's API.
func fieldName(field reflect.StructField) string {
	for _, tag := range []string{"json", "xml"} {
		if label, _, _ := strings.Cut(field.Tag.Get(tag), ","); label != "" {
			return strings.ReplaceAll(label, ">", ".")
		}
	}
	return field.Name
}

func joinName(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

// ChangedObjects returns the objects of after that before lacks, or has with other fields, sorted as after.
func ChangedObjects(before, after []Object) []Object {
	previous := map[string]Object{}
	for _, o := range before {
		previous[o.key()] = o
	}
	return slices.DeleteFunc(slices.Clone(after), func(o Object) bool {
		earlier, ok := previous[o.key()]
		return ok && maps.Equal(earlier.Fields, o.Fields)
	})
}

// MissingObjects returns the objects of before that do not exist in after.
func MissingObjects(before, after []Object) []Object {
	existing := map[string]bool{}
	for _, o := range after {
		existing[o.key()] = true
	}
	return slices.DeleteFunc(slices.Clone(before), func(o Object) bool { return existing[o.key()] })
}

func (o Object) key() string { return o.Kind + "\x00" + o.ID }
