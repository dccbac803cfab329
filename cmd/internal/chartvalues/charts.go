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

// find returns the chart of a name, or the one that the values belong to.
func find(name string, values map[string]any) (*chart, error) {
	var found []*chart
	for _, c := range charts() {
		if name == c.name || name == "" && c.marked(values) {
			found = append(found, c)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case name != "":
		return nil, fmt.Errorf("--from=%s: the values of this chart cannot be converted; use %s", name, choice())
	default:
		return nil, fmt.Errorf("the values do not show which chart they are for: give --from=%s", choice())
	}
}

func choice() string { return strings.Join(Names(), " or ") }

func (ch *chart) marked(values map[string]any) bool {
	for _, key := range ch.marks {
		if _, ok := values[key]; ok {
			return true
		}
	}
	return false
}
