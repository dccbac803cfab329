package compare

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
)

func TestDecideFollowsFromObservations(t *testing.T) {
	good := []report.Check{{Name: "idle timeout", Want: "90", Got: "90", OK: true}}
	bad := []report.Check{{Name: "idle timeout", Want: "90", Got: "60"}}
	const warning = "UnsupportedAnnotation: no idle timeout"
	for name, c := range map[string]struct {
		seen    observation
		verdict report.Verdict
		summary string
	}{
		"effect":                     {observation{exists: true, effect: good}, report.Works, "idle timeout: 90"},
		"effect with a warning":      {observation{exists: true, effect: good, warning: "LoadBalancerWarning: x"}, report.Works, "idle timeout: 90"},
		"effect of something else":   {observation{exists: true, effect: good, warning: warning}, report.CreatedWithout, warning},
		"other effect":               {observation{exists: true, effect: bad, alternative: good, difference: "By a limit."}, report.WorksDifferently, "By a limit."},
		"no effect, and an Event":    {observation{exists: true, effect: bad, alternative: bad, warning: warning}, report.CreatedWithout, warning},
		"no effect":                  {observation{exists: true, effect: bad}, report.Ignored, "idle timeout is 60, want 90, and no Event says why."},
		"nothing, and an Event":      {observation{warning: warning}, report.Refuses, warning},
		"nothing":                    {observation{}, report.Ignored, "No load balancer was created, and no Event says why."},
		"nothing, and no interface":  {observation{unsupported: "x"}, report.NotApplicable, "The manager has no load balancers: x"},
		"members missing, an Event":  {observation{exists: true, effect: good, broken: bad, warning: warning}, report.CreatedWithout, warning},
		"members missing everywhere": {observation{exists: true, effect: good, broken: bad}, report.Ignored, "idle timeout is 60, want 90, and no Event says why."},
	} {
		t.Run(name, func(t *testing.T) {
			verdict, summary := decide(c.seen)
			if verdict != c.verdict || summary != c.summary {
				t.Errorf("%s, %q, want %s, %q", verdict, summary, c.verdict, c.summary)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	r := report.Report{
		Columns: []report.Column{
			{Name: "honest", Provider: "a"}, {Name: "lies", Provider: "b"}, {Name: "modest", Provider: "c"},
			{Name: "leaks", Provider: "d"}, {Name: "breaks", Provider: "e"}, {Name: "down", Error: "no simulator"},
			{Name: "old", Provider: "f"}, {Name: "new", Provider: "f"},
		},
		Capabilities: []report.Capability{{ID: "annotation.tags", Cells: map[string]report.Cell{
			"honest": {Verdict: report.WorksDifferently, Declared: report.Works},
			"lies":   {Verdict: report.Ignored, Declared: report.Works, Summary: "tag team is not set"},
			"modest": {Verdict: report.Works, Declared: report.Refuses},
			"leaks":  {Verdict: report.Works, Leaked: []string{"address web"}},
			"breaks": {Verdict: report.Failed, Declared: report.Works, Summary: "no node"},
			// Of two kinds of load balancers of one cloud, one has the capability.
			"old": {Verdict: report.Refuses, Declared: report.Works},
			"new": {Verdict: report.Works, Declared: report.Works},
		}}},
		Operations: []report.Operation{{ID: "create-all", Costs: map[string]report.Cost{"leaks": {Left: []string{"pool x"}}}}},
	}
	clearKinds(r)
	want := []string{
		`lies annotation.tags: declared "works", observed "ignored in silence"`,
		`modest annotation.tags: declared "refused, nothing is created", observed "works"`,
		"leaks annotation.tags: left in the cloud: address web",
		"leaks create-all: left after an interruption: pool x",
		"down: no simulator",
		"breaks annotation.tags: failed: no node",
	}
	if diff := cmp.Diff(want, Failures(r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
