package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gopkg.in/gcfg.v1"
)

// sample has the shapes that existing cloud.conf files need: tagged and untagged keys, lists,
// switches, numbers, and sections with subsections that have defaults.
type sample struct {
	Global struct {
		Region         string
		Zone           []string
		AuthURL        string `gcfg:"auth-url"`
		Password       Secret
		Adopt_Unknown  bool //nolint:staticcheck // gcfg writes the hyphen of adopt-unknown as an underscore.
		Wait           Duration
		Port           uint16
		Count          int
		Rate           float64
		NodeIPFamilies []string
	}
	LoadBalancer struct {
		FlavorID string `gcfg:"flavor-id"`
		Enabled  *bool
	}
	ServiceOverride map[string]*override
	// A section of this name sets what new subsections start with.
	Default_ServiceOverride override //nolint:staticcheck // The name is gcfg's.
}

type override struct {
	URL    string
	Region string
}

func TestDecodeAcceptsFilesOfGcfg(t *testing.T) {
	for _, tc := range []struct{ name, text string }{
		{"an empty file", ""},
		{"only comments", "# one\n; two\n"},
		{"section and key in any case", "[GLOBAL]\nREGION = r\nAuth-Url = u\n"},
		{"values keep their case and inner spaces", "[Global]\nregion =  My Region  \n"},
		{"no spaces around the equals sign", "[Global]\nregion=r\n"},
		{"an equals sign in the value", "[Global]\nregion=a=b\n"},
		{"the last of two wins", "[Global]\nregion=a\nregion=b\n"},
		{"repeated keys add up", "[Global]\nzone=a\nzone=b\n"},
		{"a comma list is one value", "[Global]\nzone=a,b\n"},
		{"a bare list key empties the list", "[Global]\nzone=a\nzone\nzone=b\n"},
		{"a bare key means true", "[Global]\nadopt-unknown\n"},
		{"switches", "[Global]\nadopt-unknown = YES\n"},
		{"switch off", "[Global]\nadopt-unknown = off\n"},
		{"hexadecimal", "[Global]\nport = 0x1F\ncount = -3\n"},
		{"quotes around special characters", "[Global]\npassword = \"a#b;c\\\\d\\\"e\"\n"},
		{"quotes in the middle", "[Global]\nregion = a\" b \"c\n"},
		{"a comment behind a value", "[Global]\nregion = a ; why\nzone = b # why\n"},
		{"a value that goes on", "[Global]\nregion = a\\\n b\nzone = z\n"},
		{"an empty value", "[Global]\nregion =\n"},
		{"Windows line ends", "[Global]\r\nregion = a\r\nzone = b\r\n"},
		{"no line end at the end", "[Global]\nregion = a"},
		{"a section twice", "[Global]\nregion=a\n[LoadBalancer]\nflavor-id=f\n[Global]\nzone=b\n"},
		{"subsections keep their case", "[ServiceOverride \"One\"]\nurl=1\n[serviceoverride \"one\"]\nURL=2\n"},
		{"a subsection without keys", "[ServiceOverride \"1\"]\n"},
		{"defaults of subsections after them", "[ServiceOverride \"1\"]\nurl=u\n[Default-ServiceOverride]\nregion=r\n"},
		{"unknown sections and keys", "[BlockStorage]\nx=y\n[Global]\nnope=1\nregion=r\n"},
		{"a subsection where there is none", "[Global \"x\"]\nregion=r\n"},
		{"a section inside a comment", "#[Global]\n[Global]\nregion=r #[LoadBalancer]\n"},
		{"a pointer", "[LoadBalancer]\nenabled=false\n"},
		{"line feeds and tabs", "[Global]\npassword = \"a\\nb\\tc\"\n"},
		{"a number", "[Global]\nrate = 1.5e1\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var want, got sample
			if err := gcfg.FatalOnly(gcfg.ReadStringInto(&want, tc.text)); err != nil {
				t.Fatalf("the case itself is wrong: gcfg says %v", err)
			}
			if _, err := parse("cloud.conf", []byte(tc.text), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("differs from gcfg (-gcfg +got):\n%s", diff)
			}
		})
	}
}

// Each value has to be accepted or refused as by gcfg, for each kind of field.
func TestDecodeParsesValuesAsGcfg(t *testing.T) {
	for _, key := range []string{"port", "count", "rate", "adopt-unknown", "region", "zone"} {
		for _, value := range []string{
			"", "0", "7", " 7 ", "010", "-1", "+5", "1_0", "0x", "0x1f", "-0x5", "0X1F", "0b1", "0o7", "65536", "9999999999999999999",
			"1.5", "1e3", ".5", "7 8", "x", "true", "Off", "nan", "\"7\"", "\" 7\"", "7\" \"",
		} {
			text := "[Global]\n" + key + " = " + value + "\n"
			var want, got sample
			wantErr := gcfg.FatalOnly(gcfg.ReadStringInto(&want, text))
			_, err := parse("cloud.conf", []byte(text), &got)
			if (err == nil) != (wantErr == nil) {
				t.Errorf("%s = %s: gcfg says %v, got %v", key, value, wantErr, err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); err == nil && diff != "" {
				t.Errorf("%s = %s differs from gcfg (-gcfg +got):\n%s", key, value, diff)
			}
		}
	}
}

func TestParseProblems(t *testing.T) {
	for _, tc := range []struct {
		name, text       string
		errors, warnings []string
	}{
		{
			name: "every malformed line is reported, and the good ones are read",
			text: "[Global]\nregion = \"open\nadopt-unknown = maybe\n\n# fine\nport = 99999\ncount = x # eh\nzone = ok\nwait = soon\n",
			errors: []string{`cloud.conf:2: a double quote (") is not closed on this line`,
				`cloud.conf:3: [Global] Adopt-Unknown: must be true or false (or yes/no, on/off, 1/0), not "maybe"`,
				`cloud.conf:6: [Global] Port: must be a whole number from 0 to 65535, not "99999"`,
				`cloud.conf:7: [Global] Count: must be a whole number, not "x"`,
				`cloud.conf:9: [Global] Wait: must be a duration such as 30s or 5m (a bare number means seconds), not "soon"`},
		},
		{
			name:   "a key before any section",
			text:   "\nregion = r\n[Global]\n",
			errors: []string{"cloud.conf:2: key region stands before any [Section] header"},
		},
		{
			name:   "keys under a broken header are not blamed",
			text:   "[Global\nregion = r\nzone = z\n[LoadBalancer]\nflavor-id = f\n",
			errors: []string{`cloud.conf:1: a section header must look like [Name] or [Name "subsection"]`},
		},
		{
			name:   "an underscore in a key",
			text:   "[Global]\nauth_url = u\n",
			errors: []string{"cloud.conf:2: a key is made of letters, digits and hyphens: write - instead of _"},
		},
		{
			name:   "JSON is not this format",
			text:   "{\"region\": \"r\"}\n",
			errors: []string{"cloud.conf:1: unexpected '{': expected a [Section] header or key = value"},
		},
		{
			name:   "a key that needs a value",
			text:   "[Global]\nregion\n",
			errors: []string{"cloud.conf:2: [Global] Region: needs a value: write Region = VALUE"},
		},
		{
			name:   "a backslash outside quotes",
			text:   "[Global]\npassword = a\\b\n",
			errors: []string{`cloud.conf:2: a backslash must stand inside double quotes and be doubled: "a\\b"`},
		},
		{
			name: "unknown words name the nearest one",
			text: "[Globl]\nx = 1\ny = 2\n[Global]\nreigon = r\nflavor-id = f\nwhatever = 1\n",
			warnings: []string{"cloud.conf:1: unknown section [Globl]; did you mean Global?",
				"cloud.conf:5: unknown key reigon in section [Global]; did you mean Region?",
				"cloud.conf:6: unknown key flavor-id in section [Global]; flavor-id belongs in section [LoadBalancer]",
				"cloud.conf:7: unknown key whatever in section [Global]"},
		},
		{
			name:     "a value cut off by a comment character",
			text:     "[Global]\npassword = abc#def\nregion = r # a comment\n",
			warnings: []string{"cloud.conf:2: [Global] Password: the value ends at the comment character (# or ;) in its middle; put the value in double quotes to keep all of it"},
		},
		{
			name:     "a key that is set twice",
			text:     "[Global]\nregion = a\nregion = b\nzone = a\nzone = b\n",
			warnings: []string{"cloud.conf:3: [Global] Region is set again and overrides line 2"},
		},
		{
			name:     "lines are counted through values that go on",
			text:     "[Global]\nregion = a\\\nb\\\nc\nnope = 1\n",
			warnings: []string{"cloud.conf:5: unknown key nope in section [Global]"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var cfg sample
			warnings, err := parse("cloud.conf", []byte(tc.text), &cfg)
			var problems Problems
			if err != nil && !errors.As(err, &problems) {
				t.Fatalf("%T is not Problems", err)
			}
			if diff := cmp.Diff(tc.errors, emptyIsNil(problems.Strings())); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.warnings, emptyIsNil(warnings.Strings())); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func emptyIsNil(s []string) []string {
	if len(s) == 0 {
		return nil
	}
	return s
}

func TestValidLinesAreReadBesideInvalidOnes(t *testing.T) {
	var cfg sample
	_, err := parse("cloud.conf", []byte("[Global]\nport = x\nregion = r\n"), &cfg)
	if err == nil || cfg.Global.Region != "r" {
		t.Errorf("region %q, error %v: want r and an error", cfg.Global.Region, err)
	}
}

func TestValidationNamesLines(t *testing.T) {
	var cfg sample
	f := Decode("/etc/cloud.conf", []byte("[global]\nregion = a\n\nREGION = b\n[ServiceOverride \"X 1\"]\nurl = u\n[LoadBalancer]\n"), &cfg)
	f.Errorf(Section("ServiceOverride", "X 1"), "url", "must be an absolute URL, not %q", "u")
	f.Errorf("Global", "Region", "no region is called %q", cfg.Global.Region)
	f.Errorf("LoadBalancer", "flavor-id", "must be set")
	f.Errorf("Networking", "public", "must be set")
	want := "/etc/cloud.conf:4: [Global] Region: no region is called \"b\"\n" +
		"/etc/cloud.conf:6: [ServiceOverride \"X 1\"] url: must be an absolute URL, not \"u\"\n" +
		"/etc/cloud.conf:7: [LoadBalancer] flavor-id: must be set\n" +
		"/etc/cloud.conf: [Networking] public: must be set"
	if diff := cmp.Diff(want, f.Err().Error()); diff != "" {
		t.Error(diff)
	}
	if f.Has("Global", "zone") || !f.Has("GLOBAL", "region") {
		t.Error("Has must report only keys that are set")
	}
	var p Problem
	if !errors.As(f.Err(), &p) || p.Line != 4 {
		t.Errorf("the first problem is %v", p)
	}
}

func TestDuration(t *testing.T) {
	for _, tc := range []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"30s", 30 * time.Second, true},
		{"1h30m", 90 * time.Minute, true},
		{"500ms", 500 * time.Millisecond, true},
		{"45", 45 * time.Second, true},
		{"0", 0, true},
		{"1.5", 1500 * time.Millisecond, true},
		{"-5s", 0, false},
		{"-5", 0, false},
		{"", 0, false},
		{"soon", 0, false},
		{"5 s", 0, false},
	} {
		t.Run(tc.text, func(t *testing.T) {
			var d Duration
			err := d.UnmarshalText([]byte(tc.text))
			if (err == nil) != tc.ok || d.Duration != tc.want {
				t.Errorf("got %v, %v", d.Duration, err)
			}
		})
	}
}

func TestReadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "my.conf")
	if err := os.WriteFile(path, []byte("[Global]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	name, content, err := Read(file)
	if name != path || string(content) != "[Global]\n" || err != nil {
		t.Errorf("got %q %q %v", name, content, err)
	}
	if got := FileName(strings.NewReader("")); got != "cloud.conf" {
		t.Errorf("a reader without a name is called %q", got)
	}
	if name, content, err := Read(nil); name != "" || content != nil || err != nil {
		t.Errorf("no file: got %q %q %v", name, content, err)
	}
}

// parse decodes content without validation.
func parse(file string, content []byte, into any) (warnings Problems, err error) {
	f := Decode(file, content, into)
	return f.Warnings(), f.Err()
}
