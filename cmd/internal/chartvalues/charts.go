package chartvalues

import (
	"fmt"
	"strings"
)

// charts are the charts that can be converted, sorted by name.
func charts() []*chart { return []*chart{awsChart(), openstackChart()} }

// Names returns the names of the charts that can be converted.
func Names() []string {
	var all []string
	for _, c := range charts() {
		all = append(all, c.name)
	}
	return all
}

// findChart returns the chart of a name, or the one that the values belong to.
func findChart(name string, values map[string]any) (*chart, error) {
	var found []*chart
	for _, c := range charts() {
		if name == c.name || name == "" && c.matches(values) {
			found = append(found, c)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case name != "":
		return nil, fmt.Errorf("--from=%s: the values of this chart cannot be converted; use %s", name, chartNames())
	default:
		return nil, fmt.Errorf("the values do not show which chart they are for: give --from=%s", chartNames())
	}
}

func chartNames() string { return strings.Join(Names(), " or ") }

// matches reports whether values have a key that only this chart has.
func (ch *chart) matches(values map[string]any) bool {
	for _, key := range ch.distinctKeys {
		if _, ok := values[key]; ok {
			return true
		}
	}
	return false
}
