package sim

import (
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/gce/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/lb"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vm"
	"github.com/unified-ccm/unified-ccm/providers/gce/sim/vpc"
)

// method is a method of the API on the state of the cloud.
type method = core.Method[*lb.State]

// catalogue returns all methods.
func catalogue() []method {
	out := lb.Methods()
	out = bind(out, vm.Methods(), func(s *lb.State) *vm.State { return s.State })
	out = bind(out, vpc.Methods(), func(s *lb.State) *vpc.State { return s.State.State })
	return bind(out, core.OperationMethods(), func(s *lb.State) *core.State { return s.Core() })
}

// bind adds the methods of a package, which run on its part of the state.
func bind[S any](out []method, list []core.Method[S], part func(*lb.State) S) []method {
	for _, m := range list {
		out = append(out, method{ID: m.ID, Verb: m.Verb, Path: m.Path, Mutating: m.Mutating, Query: m.Query,
			Permission: m.Permission,
			Do:         func(s *lb.State, k *core.Call) (any, error) { return m.Do(part(s), k) }})
	}
	return out
}

// match finds the method of a verb of HTTP and a path below the project.
func match(list []method, verb string, path []string) (*method, map[string]string) {
	for i := range list {
		if list[i].Verb != verb || len(list[i].Path) != len(path) {
			continue
		}
		if params, ok := paramsOf(list[i].Path, path); ok {
			return &list[i], params
		}
	}
	return nil, nil
}

// paramsOf reads the variable parts of a path, written as {name}.
func paramsOf(pattern, path []string) (map[string]string, bool) {
	out := map[string]string{}
	for i, part := range pattern {
		if name, ok := strings.CutPrefix(part, "{"); ok && path[i] != "" {
			out[strings.TrimSuffix(name, "}")] = path[i]
		} else if part != path[i] {
			return nil, false
		}
	}
	return out, true
}

// Method describes a method of the API that is simulated.
type Method struct {
	// ID is as in Google's description: compute.targetPools.insert.
	ID, Verb, Path string
	Query          []string
}

// Methods returns all methods of the API that are simulated.
func Methods() []Method {
	var out []Method
	for _, m := range catalogue() {
		out = append(out, Method{ID: core.ServiceCompute + "." + m.ID, Verb: m.Verb, Query: m.Query,
			Path: strings.TrimSuffix("projects/{project}/"+strings.Join(m.Path, "/"), "/")})
	}
	return out
}
