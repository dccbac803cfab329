package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// Rule is an access rule of Keystone.
type Rule struct {
	Service string `json:"service"`
	Method  string `json:"method"`
	Path    string `json:"path"`
}

const (
	// root is the endpoint of a service, and base that of its resources.
	root = "/endpoint/"
	base = "/endpoint/version/"
	// anyPrefix replaces base in paths, because clouds have different ones: /v2.1/servers, /compute/v2.1/servers,
	// /v2.1/PROJECT/servers. Keystone accepts only paths that begin with a slash.
	anyPrefix = "/**/"
	// placeholder is the value of arguments, which are IDs and other parts of paths.
	placeholder = "PLACEHOLDER"
)

// taggedKinds are the kinds of objects for the calls that have the kind as an argument.
var taggedKinds = map[string]string{
	"SetTags": api.Routers, "AddTag": api.FloatingIPs, "RemoveTag": api.FloatingIPs,
}

// Rules returns the sorted rules of the provider's calls. It makes each call of package api with placeholders, and
// records the requests that gophercloud builds.
func Rules() ([]Rule, error) {
	recorder := &recorder{}
	clients := reflect.ValueOf(api.New(recorder))
	var problems []error
	for _, calls := range []reflect.Type{
		reflect.TypeFor[api.ComputeAPI](), reflect.TypeFor[api.NetworkAPI](), reflect.TypeFor[api.LoadBalancingAPI](),
		reflect.TypeFor[api.KeyManagerAPI](),
	} {
		for n := range calls.NumMethod() {
			name, previous := calls.Method(n).Name, recorder.requests
			method := clients.MethodByName(name)
			method.Call(arguments(name, method.Type()))
			if recorder.requests == previous {
				problems = append(problems, fmt.Errorf("%s: gophercloud rejects its arguments, so that no request was "+
					"recorded", name))
			}
		}
	}
	rules := slices.DeleteFunc(recorder.rules, func(r Rule) bool { return coveredBy(r, recorder.rules) })
	sorting.Func(rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
	})
	return slices.Compact(rules), errors.Join(problems...)
}

// Document returns the rules in JSON, as the openstack command line reads them.
func Document() ([]byte, error) {
	rules, err := Rules()
	if err != nil {
		return nil, err
	}
	document, err := json.MarshalIndent(rules, "", "  ")
	return append(document, '\n'), err
}

// coveredBy reports whether another rule allows the same requests, and more: /servers/* covers /servers/detail.
func coveredBy(r Rule, all []Rule) bool {
	return slices.ContainsFunc(all, func(other Rule) bool {
		return other != r && other.Service == r.Service && other.Method == r.Method && covers(other.Path, r.Path)
	})
}

func covers(pattern, path string) bool {
	a, b := strings.Split(pattern, "/"), strings.Split(path, "/")
	return slices.EqualFunc(a, b, func(x, y string) bool { return x == y || x == "*" })
}

// recorder sends no request. It records the rules that allow them.
type recorder struct {
	rules    []Rule
	requests int
}

var _ api.Caller = (*recorder)(nil)

// Call implements api.Caller.
func (r *recorder) Call(ctx context.Context, request cloudapi.Request,
	call func(context.Context, *gophercloud.ServiceClient) error) error {
	provider := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: transport{r, request.Service}}}
	const host = "http://openstack.invalid"
	return call(ctx, &gophercloud.ServiceClient{ProviderClient: provider, Endpoint: host + root, ResourceBase: host + base,
		Type: request.Service})
}

// transport records the requests to a service.
type transport struct {
	*recorder
	service string
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	t.requests++
	// The versions at the root are served without a token.
	if path, ok := strings.CutPrefix(request.URL.Path, base); ok {
		t.rules = append(t.rules, Rule{Service: t.service, Method: request.Method,
			Path: anyPrefix + strings.ReplaceAll(path, placeholder, "*")})
	}
	return nil, errors.New("recorded")
}

// arguments returns placeholders for the parameters of a call.
func arguments(name string, call reflect.Type) []reflect.Value {
	values := []reflect.Value{reflect.ValueOf(context.Background())}
	for n := 1; n < call.NumIn(); n++ {
		value := reflect.New(call.In(n)).Elem()
		fill(value)
		values = append(values, value)
	}
	if kind, ok := taggedKinds[name]; ok {
		values[1] = reflect.ValueOf(kind)
	}
	return values
}

// fill sets the values that gophercloud requires before it builds a request: strings and numbers; in its own structs
// the fields with the tag required, and the first field of each pair with the tags or and xor; in the structs of
// package api all fields.
func fill(value reflect.Value) {
	switch value.Kind() {
	case reflect.String:
		value.SetString(placeholder)
	case reflect.Int:
		value.SetInt(1)
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		fill(value.Index(0))
	case reflect.Struct:
		filled := map[string]bool{}
		ownType := value.Type().PkgPath() == reflect.TypeFor[api.Clients]().PkgPath()
		for n := range value.NumField() {
			tag := value.Type().Field(n).Tag
			alternative := cmp.Or(tag.Get("xor"), tag.Get("or"))
			isFirst := alternative != "" && !filled[alternative]
			if ownType || tag.Get("required") == "true" || isFirst {
				fill(value.Field(n))
				filled[value.Type().Field(n).Name] = true
			}
		}
	}
}
