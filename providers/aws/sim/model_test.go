package sim

import (
	"cmp"
	"encoding/xml"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/apimodel"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
)

// versions are the API versions of the services, which distinguish both generations of load balancers.
var versions = map[string]string{
	core.ServiceEC2: versionEC2, core.ServiceELB: versionELB, core.ServiceELBv2: versionELBv2, core.ServiceSTS: versionSTS,
}

// TestOperationsAreThoseOfTheModel compares the operations, and the parameters that they are decoded into, with the
// service models.
func TestOperationsAreThoseOfTheModel(t *testing.T) {
	fields := fields{}
	for service, operations := range catalogue() {
		model := apimodel.Services()[service]
		have, want := slices.Sorted(maps.Keys(operations)), slices.Sorted(maps.Keys(model.Requests))
		if !slices.Equal(have, want) {
			t.Errorf("%s has the operations\n%v, the model\n%v", service, have, want)
		}
		for name, o := range operations {
			fields.compare(model, o.request, model.Shapes[model.Requests[name]])
		}
	}
	for field, known := range fields {
		if !known {
			t.Errorf("%s: no operation has this parameter, or it has another type", field)
		}
	}
}

// fields reports for each field of the requests' structs whether the model of an operation with this struct has it.
type fields map[string]bool

// kinds are the kinds of fields that the types of the model are decoded into.
var kinds = map[string][]reflect.Kind{
	"string": {reflect.String}, "boolean": {reflect.Bool}, "integer": {reflect.Int, reflect.Int32, reflect.Int64},
	"long": {reflect.Int, reflect.Int32, reflect.Int64}, "list": {reflect.Slice}, "structure": {reflect.Struct},
}

// compare reports whether a type fits a shape, after it has noted the fields of structs.
func (f fields) compare(m *apimodel.Model, in reflect.Type, s *apimodel.Shape) bool {
	for in.Kind() == reflect.Pointer {
		in = in.Elem()
	}
	if s == nil || !slices.Contains(kinds[s.Type], in.Kind()) {
		return false
	}
	if s.Type == "list" {
		return f.compare(m, in.Elem(), m.Shapes[s.Item])
	}
	if s.Type != "structure" {
		return true
	}
	for i := range in.NumField() {
		field := in.Field(i)
		name := cmp.Or(field.Tag.Get("q"), field.Name)
		if field.Anonymous {
			f.compare(m, field.Type, s)
		} else if name != "-" && field.IsExported() {
			known := f.compare(m, field.Type, m.Shapes[s.Members[name]])
			key := in.String() + "." + name
			f[key] = f[key] || known
		}
	}
	return true
}

// TestRequestsOutsideOfTheModelAreRefused sends, for each constraint of the service models, a request that does not
// meet it.
func TestRequestsOutsideOfTheModelAreRefused(t *testing.T) {
	c := newCloud(t, Options{})
	sent := 0
	for service, model := range apimodel.Services() {
		want := []string{"ValidationError"}
		if service == core.ServiceEC2 {
			want = []string{"MissingParameter", "InvalidParameterValue"}
		}
		for _, operation := range slices.Sorted(maps.Keys(model.Requests)) {
			g := generator{model: model}
			g.structure(model.Shapes[model.Requests[operation]], "", url.Values{})
			for _, form := range g.invalid {
				form.Set("Action", operation)
				form.Set("Version", versions[service])
				w := post(c, signedFor[service], form.Encode())
				if code := errorCode(t, w.Body.Bytes()); !slices.Contains(want, code) {
					t.Errorf("%s %s: %s", service, form.Encode(), cmp.Or(code, "accepted"))
				}
				sent++
			}
		}
	}
	t.Logf("%d requests", sent)
}

// signedFor are the names of the services in signatures.
var signedFor = map[string]string{
	core.ServiceEC2: "ec2", core.ServiceELB: "elasticloadbalancing", core.ServiceELBv2: "elasticloadbalancing",
	core.ServiceSTS: "sts",
}

// errorCode returns the code of an error response, empty for another response.
func errorCode(t *testing.T, body []byte) string {
	t.Helper()
	var response struct {
		EC2   string `xml:"Errors>Error>Code"`
		Query string `xml:"Error>Code"`
	}
	if err := xml.Unmarshal(body, &response); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return cmp.Or(response.EC2, response.Query)
}

// generator builds requests that violate one constraint each.
type generator struct {
	model   *apimodel.Model
	invalid []url.Values
	// path are the shapes above the current one: some contain themselves.
	path []*apimodel.Shape
}

func (g *generator) add(base url.Values, name, value string) {
	form := maps.Clone(base)
	form.Set(name, value)
	g.invalid = append(g.invalid, form)
}

// structure adds requests for the constraints of a structure and its members. base has the parameters that the rest of
// the request requires.
func (g *generator) structure(s *apimodel.Shape, prefix string, base url.Values) {
	if s == nil || slices.Contains(g.path, s) {
		return
	}
	g.path = append(g.path, s)
	defer func() { g.path = g.path[:len(g.path)-1] }()
	complete := maps.Clone(base)
	g.fill(s, prefix, complete)
	for name, shape := range s.Members {
		required := slices.Contains(s.Required, name)
		without := remove(complete, prefix+name)
		if required && (prefix == "" || len(without) > len(remove(without, strings.TrimSuffix(prefix, ".")))) {
			g.invalid = append(g.invalid, without)
		}
		g.value(g.model.Shapes[shape], prefix+name, complete)
	}
}

func (g *generator) value(s *apimodel.Shape, name string, base url.Values) {
	rest := remove(base, name)
	switch s.Type {
	case "structure":
		g.structure(s, name+".", rest)
	case "list":
		item := name + ".1"
		if g.model == apimodel.Services()[core.ServiceEC2] {
			g.value(g.model.Shapes[s.Item], item, rest)
		} else {
			g.value(g.model.Shapes[s.Item], name+".member.1", rest)
		}
		if s.Min != nil && *s.Min > 0 {
			g.add(rest, name, "")
		}
		if s.Max != nil {
			form := maps.Clone(rest)
			for n := range *s.Max + 1 {
				g.fillValue(g.model.Shapes[s.Item], name+"."+strconv.Itoa(n+1), form)
			}
			g.invalid = append(g.invalid, form)
		}
	case "integer", "long":
		if s.Min != nil {
			g.add(rest, name, strconv.Itoa(*s.Min-1))
		}
		if s.Max != nil {
			g.add(rest, name, strconv.Itoa(*s.Max+1))
		}
	case "string":
		if s.Min != nil && *s.Min > 0 {
			g.add(rest, name, strings.Repeat("a", *s.Min-1))
		}
		if s.Max != nil {
			g.add(rest, name, strings.Repeat("a", *s.Max+1))
		}
		if len(s.Enum) > 0 || s.Pattern != nil {
			g.add(rest, name, "~no such value\u2603")
		}
	}
}

// fill adds values for the required members of a structure.
func (g *generator) fill(s *apimodel.Shape, prefix string, form url.Values) {
	for _, name := range s.Required {
		g.fillValue(g.model.Shapes[s.Members[name]], prefix+name, form)
	}
}

func (g *generator) fillValue(s *apimodel.Shape, name string, form url.Values) {
	switch {
	case s.Type == "structure" && len(s.Required) > 0:
		g.fill(s, name+".", form)
	case s.Type == "list":
		g.fillValue(g.model.Shapes[s.Item], name+".1", form)
	case s.Type == "integer" || s.Type == "long":
		least := 1
		if s.Min != nil {
			least = *s.Min
		}
		form.Set(name, strconv.Itoa(least))
	case s.Type == "boolean":
		form.Set(name, "true")
	case len(s.Enum) > 0:
		form.Set(name, s.Enum[0])
	default:
		least := 1
		if s.Min != nil {
			least = max(1, *s.Min)
		}
		form.Set(name, strings.Repeat("a", least))
	}
}

// remove returns a form without a parameter and its members.
func remove(form url.Values, name string) url.Values {
	out := url.Values{}
	for k, v := range form {
		if k != name && !strings.HasPrefix(k, name+".") {
			out[k] = v
		}
	}
	return out
}
