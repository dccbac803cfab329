package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// ServiceCompute is the name of the API in the call log and in limits.
const ServiceCompute = "compute"

// Call is a parsed request with its method of the API.
type Call struct {
	// ID is the method of the API without its service: targetPools.addInstance. It is empty for the console.
	ID     string
	Method string
	Path   string
	// Params are the variable parts of the path by name.
	Params map[string]string
	Query  url.Values
	Body   []byte
	// Allow reports whether the caller has a permission such as compute.targetPools.use in a project. Nil allows all.
	Allow func(permission, project string) bool
	// Target is the resource that the call creates or changes, as far as it is known.
	Target Ref
}

// Project returns the project in the path.
func (k *Call) Project() string { return k.Params["project"] }

// Scope returns the scope in the path.
func (k *Call) Scope() string {
	switch {
	case k.Params["zone"] != "":
		return "zones/" + k.Params["zone"]
	case k.Params["region"] != "":
		return "regions/" + k.Params["region"]
	}
	return ScopeGlobal
}

// Permit checks that the caller has a permission on a resource: targetPools.use.
func (k *Call) Permit(permission string, r Ref) error {
	if permission = "compute." + permission; k.Allow != nil && !k.Allow(permission, r.Project) {
		return ErrForbidden(permission, r.String())
	}
	return nil
}

// Method is one method of the API, on the part S of the state.
type Method[S any] struct {
	// ID is without the service: targetPools.addInstance.
	ID   string
	Verb string // of HTTP
	// Path is below the project.
	Path     []string
	Mutating bool
	// Query are the parameters of the method.
	Query []string
	// Permission is what the method requires: targetPools.addInstance.
	Permission string
	Do         func(S, *Call) (any, error)
}

// systemParameters are the query parameters of all methods, of which only fields has an effect.
var systemParameters = []string{"$.xgafv", "access_token", "alt", "callback", "fields", "key", "oauth_token",
	"prettyPrint", "quotaUser", "uploadType", "upload_protocol", "userIp"}

// CheckQuery checks that the method has all parameters of the query, as the API does.
func (k *Call) CheckQuery(known []string) error {
	for _, name := range slices.Sorted(maps.Keys(k.Query)) {
		if !slices.Contains(known, name) && !slices.Contains(systemParameters, name) {
			return badPayload("Unknown name \"%s\": Cannot bind query parameter. Field '%s' could not be found in "+
				"request message.", name, name)
		}
	}
	if alt := k.Query.Get("alt"); alt != "" && alt != "json" {
		return Invalid("alt", alt, "Only json is supported.")
	}
	return nil
}

// Decode parses the body into a struct and checks the values of its fields. Like the API it rejects unknown fields.
func Decode(k *Call, into any) error { return decode(k.Body, into) }

func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	var typeError *json.UnmarshalTypeError
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return checkEnums("resource", reflect.ValueOf(into))
	case errors.As(err, &typeError):
		return badPayload("Invalid value at 'resource.%s' (%s), %s", typeError.Field, typeError.Type, typeError.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return badPayload("Unknown name %s at 'resource': Cannot find field.", name)
	}
	return badPayload("%s", err)
}

// checkEnums checks that each field with the tag enum has one of its values, or none.
func checkEnums(field string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			return checkEnums(field, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkEnums(field, v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			path := field + "." + name
			if f.Anonymous {
				path = field
			}
			if values, ok := f.Tag.Lookup("enum"); ok {
				text := v.Field(i).String()
				if text != "" && !slices.Contains(strings.Split(values, "|"), text) {
					return Invalid(path, text, "Must be one of [%s]", strings.ReplaceAll(values, "|", ", "))
				}
				continue
			}
			if err := checkEnums(path, v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Has reports whether the body has a field.
func (k *Call) Has(field string) bool {
	var body map[string]json.RawMessage
	return json.Unmarshal(k.Body, &body) == nil && body[field] != nil
}
