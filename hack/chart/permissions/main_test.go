package main

import (
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
