// Command permissions compares the roles of a manifest with an audit log of the API server: every permission that the
// account was granted is used, and no request of it was forbidden. The used permissions are those of a file, with which
// a test compares the roles of all manifests without a server. It exits 1 with a line for each that differs.
//
//	permissions ACCOUNT MANIFEST AUDIT-LOG USED
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Permission is one verb on one resource. Name is empty if the role does not restrict it to an object.
type Permission struct{ Verb, Group, Resource, Name string }

func (p Permission) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", p.Verb, strings.Trim(p.Resource+"."+p.Group, "."), p.Name))
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: permissions ACCOUNT MANIFEST AUDIT-LOG USED")
		os.Exit(2)
	}
	problems, err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4])
	if err != nil {
		fmt.Fprintln(os.Stderr, "permissions:", err)
		os.Exit(1)
	}
	for _, problem := range problems {
		fmt.Println(problem)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

func run(account, manifest, log, recorded string) ([]string, error) {
	roles, err := os.Open(manifest)
	if err != nil {
		return nil, err
	}
	defer roles.Close() //nolint:errcheck // It is only read.
	granted, err := Granted(roles)
	if err != nil {
		return nil, err
	}
	events, err := os.Open(log)
	if err != nil {
		return nil, err
	}
	defer events.Close() //nolint:errcheck // It is only read.
	used, forbidden, err := Requested(events, account)
	if err != nil {
		return nil, err
	}
	file, err := os.ReadFile(recorded)
	if err != nil {
		return nil, err
	}
	problems := Compare(granted, used, forbidden)
	if want := Record(granted, used); string(file) != want {
		problems = append(problems, recorded+" is not what the audit log has; its content should be:\n"+want)
	}
	return problems, nil
}

// sharedResources are the resources that Kubernetes' own roles allow, to which the chart binds the account:
// system:auth-delegator and extension-apiserver-authentication-reader.
var sharedResources = []string{"tokenreviews", "subjectaccessreviews", "configmaps"}

// Record returns the used permissions, one a line and sorted. A permission has the name of an object if the role
// restricts it to that object.
func Record(granted []Permission, used map[Permission]bool) string {
	var lines []string
	for p := range used {
		restricted := slices.ContainsFunc(granted, func(g Permission) bool {
			return g.Name != "" && g.Verb == p.Verb && g.Group == p.Group && g.Resource == p.Resource
		})
		if restricted == (p.Name != "") && (slices.Contains(granted, p) || !slices.Contains(sharedResources, p.Resource)) {
			lines = append(lines, p.String()+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// Granted returns the permissions of all roles in a manifest.
func Granted(manifest io.Reader) (granted []Permission, err error) {
	documents := yaml.NewDecoder(manifest)
	for {
		var role struct {
			Kind  string
			Rules []struct {
				APIGroups       []string `yaml:"apiGroups"`
				Resources       []string
				ResourceNames   []string `yaml:"resourceNames"`
				Verbs           []string
				NonResourceURLs []string `yaml:"nonResourceURLs"`
			}
		}
		if err := documents.Decode(&role); errors.Is(err, io.EOF) {
			return granted, nil
		} else if err != nil {
			return nil, err
		}
		if role.Kind != "ClusterRole" && role.Kind != "Role" {
			continue
		}
		for _, rule := range role.Rules {
			names := rule.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range names {
						for _, verb := range rule.Verbs {
							// The manifests of several presets share most rules.
							if p := (Permission{verb, group, resource, name}); !slices.Contains(granted, p) {
								granted = append(granted, p)
							}
						}
					}
				}
			}
		}
	}
}

// Requested returns the permissions that an account has used, with and without the object's name, and those that it was
// refused.
func Requested(log io.Reader, account string) (used, forbidden map[Permission]bool, err error) {
	used, forbidden = map[Permission]bool{}, map[Permission]bool{}
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var event struct {
			Verb      string
			User      struct{ Username string }
			ObjectRef struct {
				Resource, Subresource, APIGroup, Name string
			}
			ResponseStatus struct{ Code int }
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, nil, fmt.Errorf("audit log: %w", err)
		}
		if event.User.Username != account || event.ObjectRef.Resource == "" {
			continue
		}
		p := Permission{event.Verb, event.ObjectRef.APIGroup, event.ObjectRef.Resource, ""}
		if event.ObjectRef.Subresource != "" {
			p.Resource += "/" + event.ObjectRef.Subresource
		}
		set := used
		if event.ResponseStatus.Code == 403 {
			set = forbidden
		}
		set[p] = true
		p.Name = event.ObjectRef.Name
		set[p] = true
	}
	return used, forbidden, lines.Err()
}

// Compare returns a line for each permission that is granted and not used, or requested and forbidden.
func Compare(granted []Permission, used, forbidden map[Permission]bool) (problems []string) {
	for _, p := range granted {
		if !used[p] {
			problems = append(problems, "granted and never used: "+p.String())
		}
	}
	for p := range maps.Keys(forbidden) {
		if p.Name == "" {
			problems = append(problems, "requested and forbidden: "+p.String())
		}
	}
	slices.Sort(problems)
	return problems
}
