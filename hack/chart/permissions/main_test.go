package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const roles = `
kind: ClusterRole
rules:
  - apiGroups: [""]
    resources: [nodes]
    verbs: [get, delete]
  - apiGroups: [""]
    resources: [nodes/status]
    verbs: [patch]
---
kind: Service
---
kind: Role
rules:
  - apiGroups: [coordination.k8s.io]
    resources: [leases]
    resourceNames: [a, b]
    verbs: [update]
`

func event(user, verb, group, resource, subresource, name, code string) string {
	return `{"verb":"` + verb + `","user":{"username":"` + user + `"},"objectRef":{"resource":"` + resource + `","subresource":"` +
		subresource + `","apiGroup":"` + group + `","name":"` + name + `"},"responseStatus":{"code":` + code + "}}\n"
}

func TestUnusedAndForbiddenPermissionsAreFound(t *testing.T) {
	all := event("ccm", "get", "", "nodes", "", "n", "200") + event("ccm", "delete", "", "nodes", "", "n", "404") +
		event("ccm", "patch", "", "nodes", "status", "n", "200") +
		event("ccm", "update", "coordination.k8s.io", "leases", "", "a", "200")
	for name, tc := range map[string]struct {
		log  string
		want []string
	}{
		"all but one name": {all, []string{"granted and never used: update leases.coordination.k8s.io b"}},
		"of another account": {event("admin", "get", "", "nodes", "", "n", "200"), []string{
			"granted and never used: delete nodes", "granted and never used: get nodes", "granted and never used: patch nodes/status",
			"granted and never used: update leases.coordination.k8s.io a", "granted and never used: update leases.coordination.k8s.io b"}},
		"forbidden": {all + event("ccm", "update", "coordination.k8s.io", "leases", "", "b", "200") +
			event("ccm", "list", "", "secrets", "", "", "403"), []string{"requested and forbidden: list secrets"}},
	} {
		granted, err := Granted(strings.NewReader(roles))
		if err != nil {
			t.Fatal(err)
		}
		used, forbidden, err := Requested(strings.NewReader(tc.log), "ccm")
		if err != nil {
			t.Fatal(err)
		}
		if got := Compare(granted, used, forbidden); !slices.Equal(got, tc.want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(tc.want, "\n"))
		}
	}
}

// TestRolesHaveUsedPermissions compares the roles of each manifest with the permissions that were used on a real API
// server, which hack/verify-chart.sh checks. Each permission of a role is dropped once, and others are added: the
// comparison finds exactly these.
func TestRolesHaveUsedPermissions(t *testing.T) {
	used, rules := readUsed(t), readKubeRules(t)
	manifests, err := filepath.Glob("../../../deploy/manifests/*.yaml")
	if err != nil || len(manifests) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, manifest := range manifests {
		t.Run(filepath.Base(manifest), func(t *testing.T) {
			file, err := os.Open(manifest)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close() //nolint:errcheck // It is only read.
			granted, err := Granted(file)
			if err != nil {
				t.Fatal(err)
			}
			used := usedBy(used, strings.TrimSuffix(filepath.Base(manifest), ".yaml"), rules)
			if problems := differences(granted, used); len(problems) > 0 {
				t.Fatalf("the roles and used.txt differ:\n%s", strings.Join(problems, "\n"))
			}
			for i, dropped := range granted {
				want := []string{"used and not granted: " + dropped.String()}
				if got := differences(slices.Delete(slices.Clone(granted), i, i+1), used); !slices.Equal(got, want) {
					t.Errorf("without %s: %q", dropped, got)
				}
			}
			for _, added := range []Permission{
				{"list", "", "secrets", ""}, {"delete", "", "services", ""}, {"*", "", "nodes", ""},
				{"get", "coordination.k8s.io", "leases", ""}, {"get", "", "namespaces", "default"},
			} {
				want := []string{"granted and never used: " + added.String()}
				if got := differences(append(slices.Clone(granted), added), used); !slices.Equal(got, want) {
					t.Errorf("with %s: %q", added, got)
				}
			}
		})
	}
}

func readUsed(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("used.txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// kubeRules are the permissions that single providers need, by provider.
type kubeRules map[string][]struct {
	APIGroup                string `json:"apiGroup"`
	Resources, Names, Verbs []string
}

func readKubeRules(t *testing.T) (rules kubeRules) {
	t.Helper()
	text, err := os.ReadFile("../../../deploy/chart/files/kube-rules.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	return rules
}

// permissions returns the permissions of one provider's rules.
func (r kubeRules) permissions(provider string) (all []string) {
	for _, rule := range r[provider] {
		names := rule.Names
		if len(names) == 0 {
			names = []string{""}
		}
		for _, resource := range rule.Resources {
			for _, name := range names {
				for _, verb := range rule.Verbs {
					all = append(all, Permission{verb, rule.APIGroup, resource, name}.String())
				}
			}
		}
	}
	return all
}

// ofSeveralClouds is the permission that only a manager of several clouds needs.
const ofSeveralClouds = "list endpointslices.discovery.k8s.io"

// usedBy returns the used permissions without those that only other presets need. The name of a preset is that of its
// provider; one of several has their names with hyphens.
func usedBy(used []string, preset string, rules kubeRules) []string {
	own := rules.permissions(preset)
	several := strings.Contains(preset, "-")
	return slices.DeleteFunc(slices.Clone(used), func(p string) bool {
		if p == ofSeveralClouds {
			return !several
		}
		for other := range rules {
			if other != preset && slices.Contains(rules.permissions(other), p) {
				return !slices.Contains(own, p)
			}
		}
		return false
	})
}

// TestRulesOfOneProvider has a rule that another provider's manifest must not have, and that its own must.
func TestRulesOfOneProvider(t *testing.T) {
	var rules kubeRules
	const text = `{"gce": [{"namespace": "kube-system", "apiGroup": "", "resources": ["configmaps"], "names": ["uid"],
		"verbs": ["get"]}]}`
	if err := json.Unmarshal([]byte(text), &rules); err != nil {
		t.Fatal(err)
	}
	used := []string{"get configmaps uid", "get nodes"}
	nodes, uid := Permission{"get", "", "nodes", ""}, Permission{"get", "", "configmaps", "uid"}
	for name, tc := range map[string]struct {
		provider string
		granted  []Permission
		want     []string
	}{
		"its own rule":                 {"gce", []Permission{nodes, uid}, nil},
		"its own rule is missing":      {"gce", []Permission{nodes}, []string{"used and not granted: get configmaps uid"}},
		"no rule of another":           {"aws", []Permission{nodes}, nil},
		"the rule of another provider": {"aws", []Permission{nodes, uid}, []string{"granted and never used: get configmaps uid"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := differences(tc.granted, usedBy(used, tc.provider, rules)); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if got := Record([]Permission{nodes, uid}, map[Permission]bool{uid: true, {"get", "", "configmaps", "other"}: true}); got != "get configmaps uid\n" {
		t.Errorf("recorded %q", got)
	}
}

// differences returns a line for each permission that is granted or used, and not both.
func differences(granted []Permission, used []string) (problems []string) {
	var lines []string
	for _, p := range granted {
		lines = append(lines, p.String())
		if !slices.Contains(used, p.String()) {
			problems = append(problems, "granted and never used: "+p.String())
		}
	}
	for _, p := range used {
		if !slices.Contains(lines, p) {
			problems = append(problems, "used and not granted: "+p)
		}
	}
	return problems
}

func TestRecordNamesRestrictedObjects(t *testing.T) {
	granted, err := Granted(strings.NewReader(roles))
	if err != nil {
		t.Fatal(err)
	}
	log := event("ccm", "get", "", "nodes", "", "n", "200") +
		event("ccm", "create", "authentication.k8s.io", "tokenreviews", "", "", "201") +
		event("ccm", "update", "coordination.k8s.io", "leases", "", "a", "200")
	used, _, err := Requested(strings.NewReader(log), "ccm")
	if err != nil {
		t.Fatal(err)
	}
	const want = "get nodes\nupdate leases.coordination.k8s.io a\n"
	if got := Record(granted, used); got != want {
		t.Errorf("recorded %q, want %q", got, want)
	}
}
