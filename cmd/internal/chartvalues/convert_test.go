package chartvalues

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/unified-ccm/unified-ccm/providers/openstack" // cloud.conf is checked
)

var update = flag.Bool("update", false, "write the expected results")

func known(name string) bool {
	return slices.Contains([]string{"allocate-node-cidrs", "concurrent-service-syncs", "cloud-config"}, name)
}

// convert runs the command and returns its output, with the notes below.
func convert(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out, notes bytes.Buffer
	cmd := NewCommand(known)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&notes)
	cmd.SetArgs(append([]string{}, args...)) // nil would be those of the test
	err := cmd.Execute()
	return out.String() + "---\n" + notes.String(), err
}

func TestConvertWholeFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("files: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			got, err := convert(t, "", "-f", file)
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("result differs from %s (-update writes it):\n%s", golden, got)
			}
		})
	}
}

func TestConvertValues(t *testing.T) {
	for name, tc := range map[string]struct {
		from, values string
		want, not    []string
	}{
		"flag and value in two arguments": {values: `args: [--v, "5", --cluster-name, a]`,
			want: []string{"verbosity: 5", "clusterName: a"}},
		"one dash and underscores": {values: `args: [-v=5, --cluster_name=a]`,
			want: []string{"verbosity: 5", "clusterName: a"}},
		"flag without a value": {values: `args: [--allocate-node-cidrs]`, want: []string{`allocate-node-cidrs: "true"`}},
		"not a flag":           {values: `args: [run]`, want: []string{"note: args: run is not a flag"}},
		"no routes without a range of pods": {values: `args: [--configure-cloud-routes=true]`,
			not: []string{"routes"}},
		"no routes if turned off": {values: `args: [--cluster-cidr=10.0.0.0/8, --configure-cloud-routes=false]`,
			want: []string{"clusterCIDR: 10.0.0.0/8"}, not: []string{"enabled: true"}},
		"no routes without a router": {values: "cluster: {name: a}\ncontrollerExtraArgs: |\n  - --cluster-cidr=10.0.0.0/8",
			want: []string{"clusterCIDR: 10.0.0.0/8"}, not: []string{"enabled: true"}},
		"no routes without the controller": {values: `args: ["--controllers=*,-route", --cluster-cidr=10.0.0.0/8]`,
			want: []string{"- -node-route-controller"}, not: []string{"enabled: true"}},
		"all controllers": {values: `enabledControllers: ["*"]`, not: []string{"controllers"}},
		"leader election turned off": {values: `args: [--leader-elect=false]`,
			want: []string{"note: args: --leader-elect: leader election stays on"}, not: []string{"leader-elect: \""}},
		"arguments as a template": {values: "controllerExtraArgs: |\n  - --v={{ .Values.x }}",
			want: []string{"note: controllerExtraArgs: it is a template"}},
		"arguments as a list": {values: `controllerExtraArgs: ["--v=3"]`, want: []string{"verbosity: 3"}},
		"a whole cloud.conf": {values: "cloudConfig: {global: {region: a}}\ncloudConfigContents: \"[Global]\\nregion=b\\n\"",
			want: []string{"region=b"}, not: []string{"region = "}},
		"misspelt key":            {values: "args: []\nnodeSelctor: {}", want: []string{"if nodeSelector is meant"}},
		"unknown key in a group":  {values: `cluster: {nme: a}`, want: []string{"note: cluster.nme: the chart"}},
		"selector without a role": {values: `{cluster: {name: a}, nodeSelector: null}`, not: []string{"nodeSelector"}},
		"empty file": {from: "aws-cloud-controller-manager",
			want: []string{"cloudProvider: aws", "hostNetwork: false"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := convert(t, tc.values, "-f", "-", "--from", tc.from)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing in:\n%s", want, got)
				}
			}
			for _, not := range tc.not {
				if strings.Contains(got, not) {
					t.Errorf("%q is in:\n%s", not, got)
				}
			}
		})
	}
}

func TestConvertRejectsInvalidValues(t *testing.T) {
	for name, tc := range map[string]struct{ from, values, want string }{
		"unknown chart":      {from: "gcp", want: "--from=gcp: the values of this chart cannot be converted; use aws-"},
		"no chart":           {values: `resources: {}`, want: "do not show which chart they are for"},
		"both charts":        {values: `{args: [], cluster: {name: a}}`, want: "do not show which chart they are for"},
		"not YAML":           {values: "a: [", want: "not a YAML file with values"},
		"a list of values":   {values: "[a]", want: "not a YAML file with values"},
		"arguments as a map": {values: `args: {v: 2}`, want: "args: map[v:2] is not a list"},
		"argument 5":         {values: `args: [5]`, want: "args: 5 is not a flag"},
		"image as a text":    {values: `{args: [], image: a}`, want: "image: a is not a map"},
		"verbosity":          {values: `args: [--v=high]`, want: `args: --v: strconv.Atoi: parsing "high"`},
		"feature gate":       {values: `args: [--feature-gates=A]`, want: "args: --feature-gates"},
		"another cloud":      {values: `args: [--cloud-provider=gce]`, want: "the chart is for aws, not for gce"},
		"environment":        {values: `{args: [], env: {A: b}}`, want: "env: map[A:b] is not a list"},
		"section":            {values: `cloudConfig: {global: a}`, want: "cloudConfig.global: a is not a map"},
		"list in cloud.conf": {values: `cloudConfig: {global: {region: [a]}}`,
			want: "cloudConfig.global.region: [a] is not a text"},
		"pull secrets": {values: `{args: [], imagePullSecrets: [{nme: a}]}`, want: "is not the name of a Secret"},
		"controllers":  {values: `enabledControllers: a`, want: "enabledControllers: a is not a list"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := convert(t, tc.values, "-f", "-", "--from", tc.from)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q; output:\n%s", err, tc.want, got)
			}
		})
	}
	_, err := convert(t, "", "-f", "testdata/missing.yaml")
	if err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("missing file: %v", err)
	}
	if _, err := convert(t, ""); err == nil || !strings.Contains(err.Error(), "-f is not set") {
		t.Errorf("no file: %v", err)
	}
}
