package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/pkg/common/events"
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
	case len(o.broken) > 0 && o.warning != "":
		return report.CreatedWithout, o.warning
	case len(o.broken) > 0:
		return report.Ignored, describe(o.broken) + ", and no Event says why."
	case strings.HasPrefix(o.warning, events.UnsupportedAnnotation.String()+": "):
		return report.CreatedWithout, o.warning // What is as wanted is so without the annotation.
	case allOK(o.effect):
		return report.Works, describeOK(o.effect)
	case len(o.alternative) > 0 && allOK(o.alternative):
		return report.WorksDifferently, o.difference
	case o.warning != "":
		return report.CreatedWithout, o.warning
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
			out = append(out, fmt.Sprintf("%s is %s, want %s", c.Name, orNotSet(c.Got), orNotSet(c.Want)))
		}
	}
	return strings.Join(out, "; ")
}

// describeOK names what was observed.
func describeOK(checks []report.Check) string {
	var out []string
	for _, c := range checks {
		out = append(out, fmt.Sprintf("%s: %s", c.Name, orNotSet(c.Got)))
	}
	return strings.Join(out, "; ")
}

func orNotSet(text string) string {
	if text == "" {
		return "not set"
	}
	return text
}

// Failures returns why a comparison fails: the problems of the report, and scenarios that broke.
func Failures(r report.Report) []string {
	var out []string
	for _, p := range r.Problems() {
		out = append(out, strings.TrimSpace(p.Column+" "+p.Row)+": "+p.Text)
	}
	for _, c := range r.Capabilities {
		for _, column := range r.Columns {
			if cell := c.Cells[column.Name]; cell.Verdict == report.Failed {
				out = append(out, fmt.Sprintf("%s %s: failed: %s", column.Name, c.ID, cell.Summary))
			}
		}
	}
	return out
}

// clearKinds removes the declarations of cells that refuse what another kind of load balancer of the same cloud does: a
// descriptor is about the cloud.
func clearKinds(r report.Report) {
	for _, c := range r.Capabilities {
		for _, column := range r.Columns {
			cell := c.Cells[column.Name]
			if cell.Verdict != report.Refuses && cell.Verdict != report.CreatedWithout || !cell.Contradicts() {
				continue
			}
			if slices.ContainsFunc(r.Columns, func(o report.Column) bool {
				other, ok := c.Cells[o.Name]
				return ok && o.Provider == column.Provider && o.Program == column.Program && !other.Contradicts()
			}) {
				cell.Declared = ""
				c.Cells[column.Name] = cell
			}
		}
	}
}
