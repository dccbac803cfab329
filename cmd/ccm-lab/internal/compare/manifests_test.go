package compare

import (
	"strings"
	"testing"
)

func TestParseServices(t *testing.T) {
	const web, api = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n", "apiVersion: v1\nkind: Service\nmetadata: {name: api}\n"
	services, err := parseServices("# A comment.\n" + web + "---\n" + api)
	if err != nil || len(services) != 2 || services[0].Name != "web" || services[1].Name != "api" {
		t.Errorf("%v, %v, want web and api", services, err)
	}
	for manifest, want := range map[string]string{
		"":                               "there is no Service in it",
		"kind: Pod\nmetadata: {name: x}": "Pod x: a comparison applies Services only",
		"kind: Service":                  "no metadata.name",
		"kind: Service\nspecs: {}":       "not a manifest of a Service",
	} {
		if _, err := parseServices(manifest); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", manifest, err, want)
		}
	}
}

func TestCommentIsTheDetail(t *testing.T) {
	if got := leadingComment("# Two\n# lines.\nkind: Service\n# not this\n"); got != "Two lines." {
		t.Errorf("%q", got)
	}
}

func TestExamplesAreScenarios(t *testing.T) {
	examples, err := Examples()
	if err != nil || len(examples) < 12 {
		t.Errorf("%d examples, %v, want those of examples/", len(examples), err)
	}
}
