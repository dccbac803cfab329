package instances_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
)

// The tables are shaped like those of real clouds, legacy forms included.
var (
	zonal = instances.MustScheme(instances.Table{
		Scheme: "aws",
		Forms: []instances.Form{
			{Name: "current", Template: "aws:///{zone?}/{id}"},
			{Name: "host", Template: "aws://{zone}/{id}"},
			{Name: "bare", Template: "{id}"},
		},
		Valid: map[string]func(string) bool{"id": func(id string) bool { return strings.HasPrefix(id, "i-") }},
	})
	regional = instances.MustScheme(instances.Table{
		Scheme: "openstack",
		Forms: []instances.Form{
			{Name: "current", Template: "openstack:///{id}"},
			{Name: "regional", Template: "openstack://{region}/{id}"},
			{Name: "path", Template: "/{id}"},
		},
		Foreign: func(f instances.Fields) string {
			if region := f["region"]; region != "" && region != "us" {
				return "region is " + region + ", ours is us"
			}
			return ""
		},
	})
)

func TestParse(t *testing.T) {
	tests := map[string]struct {
		scheme             *instances.TableScheme
		providerID         string
		wantID, wantForm   string
		foreign, malformed bool
	}{
		"current":                         {scheme: zonal, providerID: "aws:///us-east-1a/i-0123", wantID: "i-0123", wantForm: "current"},
		"empty zone":                      {scheme: zonal, providerID: "aws:////i-0123", wantID: "i-0123", wantForm: "current"},
		"zone as host":                    {scheme: zonal, providerID: "aws://us-east-1a/i-0123", wantID: "i-0123", wantForm: "host"},
		"bare":                            {scheme: zonal, providerID: "i-0123", wantID: "i-0123", wantForm: "bare"},
		"another cloud, our form of ID":   {scheme: zonal, providerID: "kind://c/kind/i-0123", foreign: true},
		"scheme with our prefix":          {scheme: zonal, providerID: "awsx:///z/i-0123", foreign: true},
		"scheme in capitals":              {scheme: zonal, providerID: "AWS:///z/i-0123", foreign: true},
		"field that fails its check":      {scheme: zonal, providerID: "aws:///z/x-0123", malformed: true},
		"too many parts":                  {scheme: zonal, providerID: "aws:///z/i-0123/more", malformed: true},
		"line feed at the end":            {scheme: zonal, providerID: "aws:///z\n/x-", malformed: true},
		"empty":                           {scheme: zonal, providerID: "", malformed: true},
		"scheme only":                     {scheme: zonal, providerID: "aws://", malformed: true},
		"without region":                  {scheme: regional, providerID: "openstack:///8f", wantID: "8f", wantForm: "current"},
		"with our region":                 {scheme: regional, providerID: "openstack://us/8f", wantID: "8f", wantForm: "regional"},
		"with another region":             {scheme: regional, providerID: "openstack://eu/8f", foreign: true},
		"path without a scheme":           {scheme: regional, providerID: "/8f", wantID: "8f", wantForm: "path"},
		"two slashes and no path":         {scheme: regional, providerID: "openstack://8f", malformed: true},
		"bare where it was never written": {scheme: regional, providerID: "8f", malformed: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fields, form, err := test.scheme.ParseFields(test.providerID)
			var foreign *instances.ForeignIDError
			var malformed *instances.MalformedIDError
			if got := errors.As(err, &foreign); got != test.foreign {
				t.Errorf("foreign = %v, want %v (%v)", got, test.foreign, err)
			}
			if got := errors.As(err, &malformed); got != test.malformed {
				t.Errorf("malformed = %v, want %v (%v)", got, test.malformed, err)
			}
			if fields["id"] != test.wantID || form != test.wantForm {
				t.Errorf("id %q in form %q, want %q in %q", fields["id"], form, test.wantID, test.wantForm)
			}
			for _, call := range []string{"first", "second"} { // the second may be answered from memory
				if id, got := test.scheme.Parse(test.providerID); id != test.wantID || (got == nil) != (err == nil) {
					t.Errorf("%s Parse = %q, %v, want %q, %v", call, id, got, test.wantID, err)
				}
			}
		})
	}
}

// A region that is not configured is read from the cloud, after the first IDs were parsed.
func TestForeignIsDecidedAtEachParse(t *testing.T) {
	foreign := ""
	scheme := instances.MustScheme(instances.Table{
		Scheme: "toy", Forms: []instances.Form{{Name: "current", Template: "toy:///{id}"}},
		Foreign: func(instances.Fields) string { return foreign },
	})
	if id, err := scheme.Parse("toy:///1"); id != "1" || err != nil {
		t.Errorf("ID %q, error %v", id, err)
	}
	foreign = "another region"
	var want *instances.ForeignIDError
	if id, err := scheme.Parse("toy:///1"); id != "" || !errors.As(err, &want) {
		t.Errorf("ID %q, error %v, want a ForeignIDError", id, err)
	}
}

func TestFormatAndParseAreInverse(t *testing.T) {
	tests := map[string]struct {
		scheme *instances.TableScheme
		form   string
		fields instances.Fields
		want   string
	}{
		"zonal":          {zonal, "current", instances.Fields{"zone": "us-east-1a", "id": "i-0123"}, "aws:///us-east-1a/i-0123"},
		"without a zone": {zonal, "current", instances.Fields{"zone": "", "id": "i-0123"}, "aws:////i-0123"},
		"flat":           {regional, "current", instances.Fields{"id": "8f"}, "openstack:///8f"},
		"regional":       {regional, "regional", instances.Fields{"region": "us", "id": "8f"}, "openstack://us/8f"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.scheme.FormatAs(test.form, test.fields)
			if err != nil || got != test.want {
				t.Fatalf("FormatAs = %q, %v, want %q", got, err, test.want)
			}
			back, form, err := test.scheme.ParseFields(got)
			if err != nil || form != test.form {
				t.Fatalf("ParseFields(%q) = form %q, %v", got, form, err)
			}
			if diff := cmp.Diff(test.fields, back); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFormatRejectsFieldsThatDoNotParse(t *testing.T) {
	tests := map[string]instances.Fields{
		"no id":              {"zone": "a"},
		"slash in a field":   {"zone": "a/b", "id": "i-1"},
		"invalid id":         {"zone": "a", "id": "x"},
		"slash that hides":   {"zone": "", "id": "a/i-1"},
		"nothing whatsoever": nil,
	}
	for name, fields := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := zonal.Format(fields); err == nil {
				t.Errorf("Format = %q, want an error", got)
			}
		})
	}
}

func TestNewSchemeRejectsInvalidTables(t *testing.T) {
	form := func(templates ...string) (forms []instances.Form) {
		for _, template := range templates {
			forms = append(forms, instances.Form{Name: template, Template: template})
		}
		return forms
	}
	tests := map[string]instances.Table{
		"no scheme":                {Forms: form("x://{id}")},
		"no forms":                 {Scheme: "x"},
		"no id":                    {Scheme: "x", Forms: form("x://{zone}")},
		"field twice":              {Scheme: "x", Forms: form("x://{id}/{id}")},
		"field beside text":        {Scheme: "x", Forms: form("x://zone-{zone}/{id}")},
		"another scheme":           {Scheme: "x", Forms: form("x://{id}", "y://{id}")},
		"first form has no scheme": {Scheme: "x", Forms: form("{id}", "x://{id}")},
	}
	for name, table := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := instances.NewScheme(table); err == nil {
				t.Error("want an error")
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "aws://", "aws:///a/i-1", "i-1", "openstack://eu/1", "://", "aws:///\xff/i-\x00",
		"kind://c/i-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, providerID string) {
		for _, scheme := range []*instances.TableScheme{zonal, regional} {
			fields, form, err := scheme.ParseFields(providerID)
			var foreign *instances.ForeignIDError
			var malformed *instances.MalformedIDError
			switch {
			case err == nil:
				back, err := scheme.FormatAs(form, fields)
				if err != nil || back != providerID {
					t.Errorf("%q parsed as %v in form %q formats as %q, %v", providerID, fields, form, back, err)
				}
			case !errors.As(err, &foreign) && !errors.As(err, &malformed):
				t.Errorf("%q: untyped error %v", providerID, err)
			}
		}
	})
}
