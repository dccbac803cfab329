package text

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/sample"
)

func readSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile("../../../../../docs/reference/comparison.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

func TestSchemaAcceptsWhatJSONWrites(t *testing.T) {
	resolved, err := readSchema(t).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	valid := func(r report.Report) error {
		var b bytes.Buffer
		if err := JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		var instance any
		if err := json.Unmarshal(b.Bytes(), &instance); err != nil {
			t.Fatal(err)
		}
		return resolved.Validate(instance)
	}
	for name, r := range map[string]report.Report{
		"complete": sample.Report(), "with problems": sample.WithProblems(), "empty": {Schema: report.Schema},
	} {
		if err := valid(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	wrong := sample.Report()
	edit(&wrong, func(c *report.Cell) { c.Verdict = "great" })
	if valid(wrong) == nil {
		t.Error("an unknown verdict is valid")
	}
	if valid(report.Report{Schema: "other"}) == nil {
		t.Error("another schema is valid")
	}
}

// The schema has the properties of the types, and requires those that are always written.
func TestSchemaHasFieldsOfTypes(t *testing.T) {
	s := readSchema(t)
	compare(t, "Report", s, reflect.TypeFor[report.Report]())
	for name, goType := range map[string]reflect.Type{
		"Column": reflect.TypeFor[report.Column](), "Capability": reflect.TypeFor[report.Capability](),
		"Cell": reflect.TypeFor[report.Cell](), "Evidence": reflect.TypeFor[report.Evidence](),
		"Check": reflect.TypeFor[report.Check](), "Event": reflect.TypeFor[report.Event](),
		"Object": reflect.TypeFor[report.Object](), "Call": reflect.TypeFor[report.Call](),
		"Operation": reflect.TypeFor[report.Operation](), "Cost": reflect.TypeFor[report.Cost](),
	} {
		compare(t, name, s.Defs[name], goType)
	}
	var verdicts []any
	for _, v := range report.Verdicts() {
		verdicts = append(verdicts, string(v))
	}
	if got := s.Defs["verdict"].Enum; !reflect.DeepEqual(got, verdicts) {
		t.Errorf("verdicts %v, want %v", got, verdicts)
	}
}

func compare(t *testing.T, name string, s *jsonschema.Schema, goType reflect.Type) {
	t.Helper()
	if s == nil {
		t.Fatalf("the schema has no %s", name)
	}
	var fields, required []string
	for field := range goType.Fields() {
		tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields = append(fields, tag)
		if options != "omitempty" {
			required = append(required, tag)
		}
	}
	var properties []string
	for property := range s.Properties {
		properties = append(properties, property)
	}
	slices.Sort(fields)
	slices.Sort(properties)
	if !slices.Equal(fields, properties) {
		t.Errorf("%s has the properties %q, and the type the fields %q", name, properties, fields)
	}
	slices.Sort(required)
	if got := slices.Sorted(slices.Values(s.Required)); !slices.Equal(got, required) {
		t.Errorf("%s requires %q, and the type always writes %q", name, got, required)
	}
}
