package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretIsNeverPrinted(t *testing.T) {
	const secret = "hunter2"
	cfg := sample{}
	cfg.Global.Password = secret
	asJSON, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"JSON": string(asJSON)}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s"} {
		texts["value "+verb] = fmt.Sprintf(verb, cfg.Global.Password)
		texts["struct "+verb] = fmt.Sprintf(verb, cfg)
		texts["error "+verb] = fmt.Errorf("bad: "+verb, cfg.Global.Password).Error()
	}
	var effective strings.Builder
	if err := WriteEffective(&effective, cfg); err != nil {
		t.Fatal(err)
	}
	texts["WriteEffective"] = effective.String()
	for how, text := range texts {
		if strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
			t.Errorf("%s prints the secret: %s", how, text)
		}
	}
	if got := Secret(secret).Reveal(); got != secret {
		t.Errorf("Reveal returns %q", got)
	}
	if got := Secret("").String(); got != "" {
		t.Errorf("an unset secret is printed as %q", got)
	}
}

func TestWriteEffective(t *testing.T) {
	var cfg sample
	text := "[Global]\nregion = \"a #1\"\nzone = x\nzone = y\npassword = p\nwait = 90\nadopt-unknown\n" +
		"[ServiceOverride \"b\"]\nurl = 2\n[ServiceOverride \"a\"]\nurl = 1\n"
	if _, err := parse("", []byte(text), &cfg); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := WriteEffective(&out, &cfg); err != nil {
		t.Fatal(err)
	}
	want := "[Global]\nRegion = \"a #1\"\nZone = x\nZone = y\nPassword = REDACTED\nAdopt-Unknown = true\nWait = 1m30s\nPort = 0\nCount = 0\nRate = 0\n\n" +
		"[ServiceOverride \"a\"]\nURL = 1\n\n[ServiceOverride \"b\"]\nURL = 2\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var again sample
	if _, err := parse("", []byte(out.String()), &again); err != nil {
		t.Fatalf("the output is not a configuration: %v", err)
	}
	again.Global.Password = cfg.Global.Password
	if diff := cmp.Diff(cfg, again); diff != "" {
		t.Errorf("reading the output gives another configuration (-want +got):\n%s", diff)
	}
}

func TestWriteEffectiveRejectsOtherTypes(t *testing.T) {
	if err := WriteEffective(&strings.Builder{}, 1); err == nil {
		t.Error("want an error")
	}
}
