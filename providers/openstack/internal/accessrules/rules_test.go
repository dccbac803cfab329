package main

import (
	"bytes"
	"os"
	"testing"
)

func TestWrittenRulesAreUpToDate(t *testing.T) {
	want, err := Document()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../../../../deploy/openstack/access-rules.json")
	if err != nil || !bytes.Equal(have, want) {
		t.Errorf("deploy/openstack/access-rules.json differs from the calls of package api (%v): run "+
			"hack/update-access-rules.sh", err)
	}
}

// TestEachRuleIsNeeded finds rules that another one makes redundant: no test would notice if they were dropped.
func TestEachRuleIsNeeded(t *testing.T) {
	rules, err := Rules()
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules {
		if coveredBy(rule, rules) {
			t.Errorf("another rule covers %+v", rule)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, tt := range []struct {
		pattern, path string
		want          bool
	}{
		{"/**/servers/*", "/**/servers/detail", true},
		{"/**/servers/*", "/**/servers/*", true},
		{"/**/servers/detail", "/**/servers/*", false},
		{"/**/servers/*", "/**/servers/*/ips", false},
	} {
		if got := covers(tt.pattern, tt.path); got != tt.want {
			t.Errorf("covers(%q, %q) = %v, want %v", tt.pattern, tt.path, got, tt.want)
		}
	}
}
