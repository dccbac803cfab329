package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

type sampleGlobal struct {
	Region         string
	Zone           []string
	AuthURL        string `gcfg:"auth-url"`
	Password       Secret
	Adopt_Unknown  bool
	Provision_Time Duration
	Port           uint16
	Count          int
	NodeIPFamilies []string
}

type sampleOverride struct {
	URL     string
	Service string
}

type sample struct {
	Global          sampleGlobal
	LoadBalancer    struct{ Flavor_ID string }
	ServiceOverride map[string]*sampleOverride
}

func TestParseSimple(t *testing.T) {
	var got sample
	warnings, err := Parse("cloud.conf", []byte("[Global]\nregion = here\nzone=a\nZONE = b\n"), &got)
	if err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	want := sample{Global: sampleGlobal{Region: "here", Zone: []string{"a", "b"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
