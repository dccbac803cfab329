package core

import (
	"bytes"
	"encoding/json"
	"errors"
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

// Method is one method of the API.
type Method struct {
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
	Do         func(*Call) (any, error)
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

// decode parses a body into a struct. Like the API it rejects unknown fields, and unknown values of enums.
func decode(raw []byte, into any) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	var typeError *json.UnmarshalTypeError
	var content any
	if err := json.Unmarshal(raw, into); errors.As(err, &typeError) {
		return badPayload("Invalid value at 'resource.%s' (%s), %s", typeError.Field, typeError.Type, typeError.Value)
	} else if err != nil {
		return badPayload("%s", err)
	}
	if err := json.Unmarshal(raw, &content); err != nil {
		return badPayload("%s", err)
	}
	if name := unknownField(content, reflect.TypeOf(into)); name != "" {
		return badPayload("Unknown name %q at 'resource': Cannot find field.", name)
	}
	return eachField("resource", reflect.ValueOf(into), checkEnum)
}

// unknownField returns the name of a field that a type does not have, or "". Names are compared exactly.
func unknownField(content any, t reflect.Type) string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	switch v := content.(type) {
	case []any:
		for _, item := range v {
			if name := unknownField(item, t); name != "" {
				return name
			}
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return "" // Keys are those of the client.
		}
		fields := map[string]reflect.Type{}
		for _, f := range reflect.VisibleFields(t) {
			fields[strings.TrimPrefix(pathOf("", f), ".")] = f.Type
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if fields[name] == nil {
				return name
			}
			if inner := unknownField(v[name], fields[name]); inner != "" {
				return inner
			}
		}
	}
	return ""
}

// has reports whether the body has a field.
func (k *Call) has(field string) bool {
	var body map[string]json.RawMessage
	return json.Unmarshal(k.Body, &body) == nil && body[field] != nil
}
