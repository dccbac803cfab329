package compare

import (
	"fmt"
	"path"
	"strings"
)

// withArgs returns the scenario with arguments of ccm.
func (s Scenario) withArgs(args ...string) Scenario {
	s.Args = args
	return s
}

// asPeriodic marks the scenario as one that waits for periodic work.
func (s Scenario) asPeriodic() Scenario {
	s.Periodic = true
	return s
}

// Groups of scenarios.
const (
	groupService     = "Service"
	groupDefaults    = "Defaults"
	groupAnnotations = "Annotations"
)

// Select returns the scenarios with IDs that match the pattern, which is a path pattern such as "service.*".
func Select(scenarios []Scenario, pattern string) ([]Scenario, error) {
	if pattern == "" {
		return scenarios, nil
	}
	var out []Scenario
	for _, s := range scenarios {
		ok, err := path.Match(pattern, s.ID)
		if err != nil {
			return nil, fmt.Errorf("%q is not a pattern such as service.*: %w", pattern, err)
		}
		if ok {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		ids := make([]string, len(scenarios))
		for i, s := range scenarios {
			ids[i] = s.ID
		}
		return nil, fmt.Errorf("no scenario matches %q; there are %s", pattern, strings.Join(ids, ", "))
	}
	return out, nil
}
