package compare

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
)

// placeholders are the patterns of values that the API server, a cloud or a clock chooses, each with the text that
// replaces such a value. They apply in this order, so that longer patterns come before those that match a part of them.
var placeholders = []struct {
	pattern *regexp.Regexp
	stable  string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UUID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?`), "TIME"},
	{regexp.MustCompile(`([0-9a-f]{2}:){5}[0-9a-f]{2}`), "MAC"},
	// Records of what was applied, and checksums of members.
	{regexp.MustCompile(`(applied=|targets=)(\d+\.)?[\w-]{11}\b(\.\.[\w-]+)?`), "${1}RECORD"},
	// The name of a load balancer, and its number in a DNS name.
	{regexp.MustCompile(`\b(a)[0-9a-f]{31}(-\d{9,10}\b)?`), "${1}UID"},
	{regexp.MustCompile(`\bAIPA[0-9A-F]{16}\b`), "AIPA-ID"},
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "ID"},
	{regexp.MustCompile(`\b([a-z]+)-[0-9a-f]{17}\b`), "$1-ID"},
	{regexp.MustCompile(`\b[0-9a-f]{16}\b`), "ID"},
	{regexp.MustCompile(`(-)([0-9a-f]{8}|[0-9a-f]{10})\b`), "${1}HASH"},
	// The range of node ports is 30000 to 32767.
	{regexp.MustCompile(`\b3[0-2]\d{3}\b`), "NODEPORT"},
}

// stable replaces random values in a text by placeholders.
func stable(text string) string {
	for _, r := range placeholders {
		text = r.pattern.ReplaceAllString(text, r.stable)
	}
	return text
}

// stableFields omits fields with a counter of changes or a checksum, and replaces random values in the others.
func stableFields(fields map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range fields {
		switch {
		case strings.HasPrefix(name, "revision"), strings.Contains(name, "unified-ccm.io/applied"),
			strings.Contains(name, "unified-ccm.io/targets"):
		default:
			out[name] = stable(value)
		}
	}
	return out
}

// stableObjects returns objects without random values, in an order that does not depend on them.
func stableObjects(list []report.Object) []report.Object {
	var out []report.Object
	for _, o := range list {
		out = append(out, report.Object{Kind: o.Kind, Name: stable(o.Name), ID: stable(o.ID), Fields: stableFields(o.Fields)})
	}
	slices.SortFunc(out, func(a, b report.Object) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID),
			slices.Compare(flatten(a.Fields), flatten(b.Fields)))
	})
	return out
}

// flatten returns the names and values of fields, sorted by name.
func flatten(fields map[string]string) []string {
	out := make([]string, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		out = append(out, name, fields[name])
	}
	return out
}

// stableEvents returns Events without their times, repetitions and random values. It sorts them, because Events of the
// same second have no order.
func stableEvents(list []report.Event) []report.Event {
	var out []report.Event
	for _, e := range list {
		e.Seconds, e.Message = 0, stable(e.Message)
		if !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b report.Event) int {
		return cmp.Or(cmp.Compare(a.Object, b.Object), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return out
}

// stableChecks returns checks without random values.
func stableChecks(list []report.Check) []report.Check {
	out := make([]report.Check, 0, len(list))
	for _, c := range list {
		c.Want, c.Got = stable(c.Want), stable(c.Got)
		out = append(out, c)
	}
	return out
}

// stableEvidence returns the evidence that another run repeats.
func stableEvidence(e report.Evidence) *report.Evidence {
	return &report.Evidence{
		Manifest: e.Manifest, Plan: stable(e.Plan), Checks: stableChecks(e.Checks),
		Events: stableEvents(e.Events), Before: stableObjects(e.Before), After: stableObjects(e.After),
	}
}
