package core

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Tags of the fields of resources and requests are the constraints that the API documents for them:
//
//	enum:"A|B"         the values that the API has
//	simulated:"A"      those of them, or of the protocols, that this simulation has
//	default:"A"        the value of a field that is not set; {} is an empty struct
//	range:"1-10"       the least and the greatest number
//	most:"5"           the greatest number of elements
//	format:"name"      the format of a text: one of formats
//	set:"required"     the field must have a value
//	set:"never"        the field must have none: what it is for is not simulated
//	set:"output"       the cloud sets the field, and ignores it in requests
//	set:"once"         the field cannot be changed
//	link:"nets.use"    the URL of a resource of a collection, and the permission that its use requires. It must not be in
//	                   another region, and cannot be deleted before the resource with the field.
//	named:"true"       a link may be a name
//	outlived:"true"    what a link leads to can be deleted nevertheless

// fieldVisitor gets a field with its path and its tags.
type fieldVisitor func(path string, tag reflect.StructTag, field reflect.Value) error

// eachField visits all fields of a struct, those of structs in it after the field that has them.
func eachField(path string, v reflect.Value, visit fieldVisitor) error {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return eachField(path, v.Elem(), visit)
		}
	case reflect.Slice:
		for i := 0; i < v.Len() && v.Type().Elem().Kind() != reflect.String; i++ {
			if err := eachField(path, v.Index(i), visit); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			inner := pathOf(path, f)
			if err := visit(inner, f.Tag, v.Field(i)); err != nil {
				return err
			}
			if err := eachField(inner, v.Field(i), visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// pathOf returns the path of a field in requests. Embedded structs have no name.
func pathOf(path string, f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
		return path + "." + name
	}
	return path
}

// checkEnum checks that a field with the tag enum has one of its values, or none.
func checkEnum(path string, tag reflect.StructTag, field reflect.Value) error {
	if values, ok := tag.Lookup("enum"); ok && field.String() != "" {
		return checkOneOf(path, values, field.String())
	}
	return nil
}

func checkOneOf(path, values, text string) error {
	if !slices.Contains(strings.Split(values, "|"), text) {
		return Invalid(path, text, "Must be one of [%s]", strings.ReplaceAll(values, "|", ", "))
	}
	return nil
}

// complete sets defaults and checks the constraints of all fields.
func complete(x any) error {
	return eachField("resource", reflect.ValueOf(x), func(path string, tag reflect.StructTag, field reflect.Value) error {
		if text, ok := tag.Lookup("default"); ok && field.IsZero() {
			setDefault(field, text)
		}
		switch set := tag.Get("set"); {
		case set == "required" && isUnset(field):
			return Required(path)
		case set == "never" && !isUnset(field):
			return Invalid(path, fmt.Sprint(field), "The field is not simulated.")
		}
		if most, err := strconv.Atoi(tag.Get("most")); err == nil && field.Len() > most {
			return Invalid(path, strconv.Itoa(field.Len()), "At most %d can be specified.", most)
		}
		return eachValue(field, func(value reflect.Value) error { return checkValue(path, tag, value) })
	})
}

func isUnset(field reflect.Value) bool {
	return field.IsZero() || field.Kind() == reflect.Slice && field.Len() == 0
}

// setDefault sets a text, a number, or a pointer to a number or to an empty struct.
func setDefault(field reflect.Value, text string) {
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field = field.Elem()
	}
	switch field.Kind() {
	case reflect.String:
		field.SetString(text)
	case reflect.Int:
		n, err := strconv.Atoi(text)
		if err != nil {
			panic(err) // The tag is wrong.
		}
		field.SetInt(int64(n))
	}
}

// eachValue visits a field that is set, or its elements.
func eachValue(field reflect.Value, visit func(reflect.Value) error) error {
	switch field.Kind() {
	case reflect.Pointer:
		if !field.IsNil() {
			return visit(field.Elem())
		}
	case reflect.Slice:
		for i := range field.Len() {
			if err := visit(field.Index(i)); err != nil {
				return err
			}
		}
	default:
		if !field.IsZero() {
			return visit(field)
		}
	}
	return nil
}

func checkValue(path string, tag reflect.StructTag, value reflect.Value) error {
	if values, ok := tag.Lookup("simulated"); ok {
		return checkOneOf(path, values, value.String())
	}
	if limits, ok := tag.Lookup("range"); ok {
		first, last, _ := strings.Cut(limits, "-")
		least, errLeast := strconv.ParseFloat(first, 64)
		greatest, errGreatest := strconv.ParseFloat(last, 64)
		if errLeast != nil || errGreatest != nil {
			panic("the range " + limits + " is no range")
		}
		if n := value.Convert(reflect.TypeFor[float64]()).Float(); n < least || n > greatest {
			return Invalid(path, fmt.Sprint(value), "Must be between %s and %s.", first, last)
		}
	}
	if format, ok := tag.Lookup("format"); ok && !formats[format].matches(value.String()) {
		return Invalid(path, value.String(), "Must be %s.", formats[format].description)
	}
	return nil
}

// formats are the formats of texts by their name in tags.
var formats = map[string]struct {
	description string
	matches     func(string) bool
}{
	"name": {"a match of regex '" + namePattern + "'", validName.MatchString},
	"path": {"a path, which starts with a slash", func(text string) bool { return text[0] == '/' }},
	"path without query": {"a path, without query parameters", func(text string) bool {
		return text[0] == '/' && !strings.Contains(text, "?")
	}},
	"url": {"a fully-qualified URL. Partial URLs are not supported", func(text string) bool {
		return strings.HasPrefix(text, "https://") || strings.HasPrefix(text, "http://")
	}},
	"ip": {"an IP address", func(text string) bool {
		_, err := netip.ParseAddr(text)
		return err == nil
	}},
	"ip4": {"an IPv4 address", func(text string) bool {
		ip, err := netip.ParseAddr(text)
		return err == nil && ip.Is4()
	}},
	"protocol": {"a protocol name or number", isProtocol},
	"port": {"a port from 1 to 65535", func(text string) bool {
		ports, ok := ParsePorts(text)
		return ok && ports.First == ports.Last && !strings.Contains(text, "-")
	}},
	"ports": {"a port or a range of ports from 1 to 65535", func(text string) bool {
		_, ok := ParsePorts(text)
		return ok
	}},
	"range": {"a CIDR block", func(text string) bool {
		p, err := netip.ParsePrefix(text)
		return err == nil && p == p.Masked()
	}},
}

// setPlace sets the zone or the region of a resource.
func setPlace(x any, r Ref) {
	name, collection, place := "Region", "regions", r.Region()
	if zone := r.Zone(); zone != "" {
		name, collection, place = "Zone", "zones", zone
	}
	if field := textField(x, name); field != nil && place != "" {
		*field = Ref{Project: r.Project, Collection: collection, Name: place}.URL()
	}
}

// textField returns a field of a resource, or nil.
func textField(x any, name string) *string {
	if field := reflect.ValueOf(x).Elem().FieldByName(name); field.IsValid() {
		return field.Addr().Interface().(*string) //nolint:forcetypeassert // all fields of these names are texts
	}
	return nil
}

// keepOutputs gives a changed resource what the change does not set: outputs, and fields that cannot be changed.
func keepOutputs(old, changed any) {
	before, after := reflect.ValueOf(old).Elem(), reflect.ValueOf(changed).Elem()
	for i := range after.NumField() {
		set := after.Type().Field(i).Tag.Get("set")
		if set == "output" || set == "once" && after.Field(i).IsZero() {
			after.Field(i).Set(before.Field(i))
		}
	}
}

// checkFixed checks that fields that cannot be changed have their old values.
func checkFixed(old, changed any) error {
	before, after := reflect.ValueOf(old).Elem(), reflect.ValueOf(changed).Elem()
	for i := range after.NumField() {
		f := after.Type().Field(i)
		if f.Tag.Get("set") == "once" && !after.Field(i).Equal(before.Field(i)) {
			return Invalid(pathOf("resource", f), fmt.Sprint(after.Field(i)), "The field cannot be changed.")
		}
	}
	return nil
}

// CheckName checks the name of a resource, which complies with RFC 1035.
func CheckName(field, name string) error {
	if name == "" {
		return Required(field)
	}
	if !validName.MatchString(name) {
		return Invalid(field, name, "Must be a match of regex '%s'", namePattern)
	}
	return nil
}
