package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
)

// observation is what a verdict about a Service follows from.
type observation struct {
	// exists reports that the Service has a load balancer.
	exists bool
	// warning is the last Warning Event of the Service, and unsupported the log line of a manager without load balancers.
	warning, unsupported string
	// broken are the failed checks of what every load balancer needs.
	broken []report.Check
	// effect are the checks of the capability. Alternative are those of the same effect by other means, which
	// difference describes.
	effect, alternative []report.Check
	difference          string
}

// decide returns the verdict about a Service with one sentence.
func decide(o observation) (report.Verdict, string) {
	switch {
	case !o.exists && o.unsupported != "":
		return report.NotApplicable, "The manager has no load balancers: " + o.unsupported
	case !o.exists && o.warning != "":
		return report.Refuses, o.warning
	case !o.exists:
		return report.Ignored, "No load balancer was created, and no Event says why."
	case len(o.broken) > 0:
		return report.Failed, describe(o.broken)
	case allOK(o.effect):
		return report.Works, describeOK(o.effect)
	case len(o.alternative) > 0 && allOK(o.alternative):
		return report.WorksDifferently, o.difference
	case o.warning != "":
		return report.Refuses, o.warning
	default:
		return report.Ignored, describe(o.effect) + ", and no Event says why."
	}
}

func allOK(checks []report.Check) bool {
	return !slices.ContainsFunc(checks, func(c report.Check) bool { return !c.OK })
}

// describe names the checks that failed.
func describe(checks []report.Check) string {
	var out []string
	for _, c := range checks {
		if !c.OK {
			out = append(out, fmt.Sprintf("%s is %s, want %s", c.Name, orNothing(c.Got), orNothing(c.Want)))
		}
	}
	return strings.Join(out, "; ")
}

// describeOK names what was observed.
func describeOK(checks []report.Check) string {
	var out []string
	for _, c := range checks {
		out = append(out, fmt.Sprintf("%s: %s", c.Name, orNothing(c.Got)))
	}
	return strings.Join(out, "; ")
}

func orNothing(text string) string {
	if text == "" {
		return "not set"
	}
	return text
}

// Problems returns why a comparison fails: contradictions between a descriptor and an observation, orphans, and
// scenarios without a verdict.
func Problems(r report.Report) []string {
	var out []string
	for _, column := range r.Columns {
		if column.Error != "" {
			out = append(out, fmt.Sprintf("%s: %s", column.Name, column.Error))
		}
		for _, c := range r.Capabilities {
			cell, ok := c.Cells[column.Name]
			if !ok {
				continue
			}
			where := column.Name + " " + c.ID
			if cell.Verdict == report.Failed {
				out = append(out, fmt.Sprintf("%s: failed: %s", where, cell.Summary))
			} else if contradicts(cell) && !otherKindWorks(r, c, column) {
				out = append(out, fmt.Sprintf("%s: declares %s, but was observed: %s: %s", where, cell.Declared, cell.Verdict,
					cell.Summary))
			}
			if len(cell.Leaked) > 0 {
				out = append(out, fmt.Sprintf("%s: left in the cloud: %s", where, strings.Join(cell.Leaked, ", ")))
			}
		}
	}
	for _, o := range r.Operations {
		for _, column := range r.Columns {
			if left := o.Costs[column.Name].Left; len(left) > 0 {
				out = append(out, fmt.Sprintf("%s %s: left in the cloud: %s", column.Name, o.ID, strings.Join(left, ", ")))
			}
		}
	}
	return out
}

// contradicts reports whether the observed verdict is another one than the declared. What works differently works.
func contradicts(c report.Cell) bool {
	observed := c.Verdict
	if observed == report.WorksDifferently {
		observed = report.Works
	}
	return c.Declared != "" && observed != c.Declared
}

// otherKindWorks reports whether a column refuses what another kind of load balancer of the same cloud does. A
// descriptor is about the cloud.
func otherKindWorks(r report.Report, c report.Capability, column report.Column) bool {
	if c.Cells[column.Name].Verdict != report.Refuses {
		return false
	}
	return slices.ContainsFunc(r.Columns, func(other report.Column) bool {
		cell, ok := c.Cells[other.Name]
		return ok && other.Provider == column.Provider && other.Program == column.Program && !contradicts(cell)
	})
}
