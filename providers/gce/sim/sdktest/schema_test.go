package sdktest

import (
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/lb"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vm"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vpc"
)

func TestResourcesHaveTheFieldsAndValuesOfTheAPI(t *testing.T) {
	document, err := loadDocument()
	if err != nil {
		t.Fatal(err)
	}
	for schema, x := range map[string]any{
		"Operation": core.Operation{}, "InstanceGroupsAddInstancesRequest": vm.Members{}, "ForwardingRule": lb.Rule{}, "TargetPool": lb.Pool{}, "BackendService": lb.Backends{},
		"HttpHealthCheck": lb.LegacyCheck{}, "HealthCheck": lb.Check{}, "Instance": vm.Instance{}, "InstanceGroup": vm.Group{},
		"Route": vm.Route{}, "Project": vm.Project{}, "Region": vm.Region{}, "Zone": vm.Zone{}, "Network": vpc.Network{},
		"Subnetwork": vpc.Subnetwork{}, "Address": vpc.Address{}, "Firewall": vpc.Firewall{},
	} {
		for _, problem := range document.CheckStruct(schema, x) {
			t.Error(problem)
		}
	}
	type wrong struct {
		Status string `json:"status" enum:"DOWN|UP" default:"OPEN" set:"always" formt:"name"`
	}
	if problems := document.CheckStruct("Zone", wrong{}); len(problems) != 3 {
		t.Errorf("problems of a struct with wrong tags are %v, want 3", problems)
	}
	if problems := document.CheckStruct("Zone", vm.Group{}); len(problems) == 0 {
		t.Error("a struct with other fields is accepted")
	}
}

func TestMethodsAreThoseOfTheAPI(t *testing.T) {
	document, err := loadDocument()
	if err != nil {
		t.Fatal(err)
	}
	world, err := sim.New(sim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range world.Methods() {
		described := document.Method("compute." + m.ID)
		if described == nil {
			t.Errorf("the API has no method %s", m.ID)
			continue
		}
		path := parts(strings.Join(append([]string{"projects", "{project}"}, m.Path...), "/"))
		if m.Verb != described.HTTPMethod || path != parts(described.Path) {
			t.Errorf("%s is %s %s, want %s %s", m.ID, m.Verb, path, described.HTTPMethod, described.Path)
		}
		for _, name := range m.Query {
			if described.Parameters[name].Location != "query" {
				t.Errorf("%s has no query parameter %s", m.ID, name)
			}
		}
	}
}

// parts returns a path with the same name for all variable parts.
func parts(path string) string {
	out := strings.Split(path, "/")
	for i, p := range out {
		if strings.HasPrefix(p, "{") {
			out[i] = "{}"
		}
	}
	return strings.Join(out, "/")
}
