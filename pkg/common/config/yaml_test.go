package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/config"
)

// commaList is a list that the INI form separates with commas.
type commaList []string

func (l *commaList) UnmarshalText(text []byte) error {
	*l = strings.Split(string(text), ",")
	return nil
}

type twoForms struct {
	Global struct {
		Insecure bool          `gcfg:"insecure-flag" yaml:"insecureFlag"`
		Port     uint16        `gcfg:"port" yaml:"port"`
		Password config.Secret `gcfg:"password" yaml:"password"`
		Families commaList     `gcfg:"ip-family" yaml:"ipFamily"`
		Names    []string      `gcfg:"name" yaml:"names"`
		Tags     string        `gcfg:"tags" yaml:"tags"`
		Old      string        `gcfg:"old"`
	} `yaml:"global"`
	VirtualCenter map[string]*struct {
		Server string `gcfg:"server" yaml:"server"`
	} `yaml:"vcenter"`
}

func TestINIAndYAMLDecodeToTheSame(t *testing.T) {
	t.Parallel()
	var ini, yaml twoForms
	for content, into := range map[string]*twoForms{
		`# comment
[Global]
insecure-flag = true
port = 443
password = "a\"b\\c#d"
ip-family = ipv6,ipv4
name = one
name = two
tags = "{\"a\":\"b\"}"
[VirtualCenter "a.b"]
server = 10.0.0.1
[VirtualCenter "empty"]
`: &ini,
		`# comment
global:
  insecureFlag: true
  port: 443
  password: 'a"b\c#d'
  ipFamily: [ipv6, ipv4]
  names: [one, two]
  tags: {a: b}
vcenter:
  a.b:
    server: 10.0.0.1
  empty:
`: &yaml,
	} {
		f := config.DecodeINIOrYAML("file", []byte(content), into)
		if err := f.Err(); err != nil || len(f.Warnings()) > 0 {
			t.Errorf("error %v, warnings %v in\n%s", err, f.Warnings(), content)
		}
	}
	if diff := cmp.Diff(ini, yaml); diff != "" {
		t.Errorf("INI (-), YAML (+):\n%s", diff)
	}
	if ini.Global.Password.Reveal() != `a"b\c#d` || len(ini.VirtualCenter) != 2 {
		t.Errorf("decoded %#v with password %q", ini, ini.Global.Password.Reveal())
	}
	written, err := config.MarshalYAML(ini)
	if err != nil {
		t.Fatal(err)
	}
	var again twoForms
	if err := config.DecodeINIOrYAML("file", written, &again).Err(); err != nil {
		t.Fatalf("%v in\n%s", err, written)
	}
	if diff := cmp.Diff(ini, again); diff != "" {
		t.Errorf("before (-) and after writing as YAML (+):\n%s\n%s", diff, written)
	}
}

func TestYAMLProblemsNameTheirLine(t *testing.T) {
	t.Parallel()
	var into twoForms
	f := config.DecodeINIOrYAML("vsphere.conf", []byte(`global:
  insecure-flag: true
  insecureFlagg: true
  port: many
  names: {a: b}
  old: x
  password: [a]
vcentre: {}
VirtualCenter: {}
vcenter:
  a: [b]
`), &into)
	f.Errorf(config.Section("VirtualCenter", "a"), "server", "is missing")
	f.Errorf("Global", "insecure-flag", "is missing")
	want := []string{
		`vsphere.conf:4: global.port: must be a whole number from 0 to 65535, not "many"`,
		`vsphere.conf:5: global.names must not be a map`,
		`vsphere.conf:7: global.password must be one value, not a list`,
		`vsphere.conf:11: vcenter.a must be a map with a line "key: value" for each setting`,
		`vsphere.conf:11: vcenter.a.server: is missing`,
		`vsphere.conf:1: global.insecureFlag: is missing`,
		`vsphere.conf:2: unknown key insecure-flag in global; in YAML it is written insecureFlag`,
		`vsphere.conf:3: unknown key insecureFlagg in global; did you mean insecureFlag?`,
		`vsphere.conf:6: unknown key old in global`,
		`vsphere.conf:8: unknown section vcentre; did you mean vcenter?`,
		`vsphere.conf:9: unknown section VirtualCenter; in YAML it is written vcenter`,
	}
	have := append(strings.Split(f.Err().Error(), "\n"), f.Warnings().Strings()...)
	for _, line := range want {
		if !strings.Contains("\n"+strings.Join(have, "\n")+"\n", "\n"+line+"\n") {
			t.Errorf("missing: %s", line)
		}
	}
	if len(have) != len(want) {
		t.Errorf("%d problems, want %d:\n%s", len(have), len(want), strings.Join(have, "\n"))
	}
}

func TestMalformedYAMLNamesTheLineOfTheProblem(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"global:\n  port: 1\n bad: [":               "f:2: did not find expected key",
		"global:\n  password: *secret\n":            "f: a value that starts with * or & must be in quotes",
		"just a text":                               `f:1: the file must be a map with a line "key: value" for each setting`,
		"global: &a {port: 1}\nvcenter:\n  x: *a\n": "",
	} {
		var into twoForms
		err := config.DecodeINIOrYAML("f", []byte(content), &into).Err()
		if text := errorText(err); want == "" && text != "" || !strings.HasPrefix(text, want) {
			t.Errorf("%q: error %q, want %q", content, text, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
