package plan

import (
	"fmt"
	"strings"
)

// MaxSummary is the length limit of Summary in bytes. An Event's message may have 1024.
const MaxSummary = 1000

// Summary is the plan on one line, for Events and logs: how much of what, and then which, as far
// as there is room. It has at most MaxSummary bytes.
func Summary(p Plan) string {
	if p.Empty() {
		return "no changes"
	}
	if sorted, err := p.Sorted(); err == nil {
		p = sorted // parts of a plan lack dependencies and keep their order
	}
	var b strings.Builder
	b.WriteString(countText(p.Count()) + ": ")
	for i, c := range p.Changes {
		text := summaryOf(c)
		if i > 0 {
			text = "; " + text
		}
		tail := fmt.Sprintf("; and %d more", len(p.Changes)-i)
		if b.Len()+len(text)+len(tail) > MaxSummary {
			if i == 0 {
				tail = c.Kind // even one name can be too long
			}
			b.WriteString(tail)
			break
		}
		b.WriteString(text)
	}
	return clip(b.String(), MaxSummary)
}

// countText says "2 created, 1 updated" without the tense: a summary serves before and after.
func countText(n map[Action]int) string {
	var parts []string
	for _, a := range []Action{Create, Update, Delete} {
		if n[a] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[a], a))
		}
	}
	return strings.Join(parts, ", ")
}

// summaryOf names the change; an update also says which fields, and how, because nothing else
// tells it apart from the next one. Long values are clipped.
func summaryOf(c Change) string {
	const maxValue = 60
	text := printable(c.Ref.String())
	if c.Action != Update || len(c.Fields) == 0 {
		return text
	}
	fields := make([]string, len(c.Fields))
	for i, f := range c.Fields {
		fields[i] = fmt.Sprintf("%s: %s → %s", printable(f.Name), clip(shown(f.Before), maxValue), clip(shown(f.After), maxValue))
	}
	return text + " (" + strings.Join(fields, ", ") + ")"
}
