package sdktest

import (
	"strings"
	"testing"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/discovery"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/lb"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vm"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vpc"
)

func TestResourcesHaveTheFieldsAndValuesOfTheAPI(t *testing.T) {
	document, err := discovery.Load()
	if err != nil {
		t.Fatal(err)
	}
	for schema, x := range map[string]any{
		"Operation": core.Operation{}, "ForwardingRule": lb.Rule{}, "TargetPool": lb.Pool{}, "BackendService": lb.Backends{},
		"HttpHealthCheck": lb.LegacyCheck{}, "HealthCheck": lb.Check{}, "Instance": vm.Instance{}, "InstanceGroup": vm.Group{},
		"Route": vm.Route{}, "Project": vm.Project{}, "Region": vm.Region{}, "Zone": vm.Zone{}, "Network": vpc.Network{},
		"Subnetwork": vpc.Subnetwork{}, "Address": vpc.Address{}, "Firewall": vpc.Firewall{},
	} {
		for _, problem := range document.CheckStruct(schema, x) {
			t.Error(problem)
		}
	}
	if problems := document.CheckStruct("Zone", vm.Group{}); len(problems) == 0 {
		t.Error("a struct with other fields is accepted")
	}
}

func TestMethodsAreThoseOfTheAPI(t *testing.T) {
	document, err := discovery.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range sim.Methods() {
		described := document.Method(m.ID)
		if described == nil {
			t.Errorf("the API has no method %s", m.ID)
			continue
		}
		if m.Verb != described.HTTPMethod || parts(m.Path) != parts(described.Path) {
			t.Errorf("%s is %s %s, want %s %s", m.ID, m.Verb, m.Path, described.HTTPMethod, described.Path)
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
