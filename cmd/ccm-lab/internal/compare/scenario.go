package compare

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// trialFunc runs a scenario, and returns the verdict and its summary. With an error, there is no verdict.
type trialFunc func(ctx context.Context, t *Trial) (report.Verdict, string, error)

// Scenario shows one capability.
type Scenario struct {
	ID, Group, Title, Detail string
	// Routes runs it with the route controller.
	Routes bool
	// Values is set if readers compare the summaries of the cells.
	Values bool
	// Periodic marks a scenario that waits for what the framework's controllers do periodically, or at a start. Its reads
	// depend on time.
	Periodic bool
	// Args are further arguments of ccm, for a capability that is off by default. Other managers do not have them.
	Args []string
	// Declared returns the verdict that a descriptor declares, or "".
	Declared func(d provider.Descriptor) report.Verdict
	Run      trialFunc
}

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

// Scenarios returns all scenarios, in the order in which they run.
func Scenarios() []Scenario {
	return slices.Concat(serviceScenarios(), defaultScenarios(), annotationScenarios(), nodeScenarios(), routeScenarios())
}

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
