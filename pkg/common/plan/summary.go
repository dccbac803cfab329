package plan

import (
	"fmt"
	"strings"
)

// MaxSummary is the length limit of Summary in bytes. An Event's message may have 1024.
const MaxSummary = 1000

// Summary formats the plan on one line, for Events and logs: what is created, updated with which fields, and
// deleted, as far as there is room. It works before and after an apply, and has at most MaxSummary bytes.
func Summary(p Plan) string {
	if p.Empty() {
		return "no changes"
	}
	if sorted, err := p.Sorted(); err == nil {
		p = sorted // Parts of a plan lack dependencies and keep their order.
	}
	var b strings.Builder
	written := 0
	for _, action := range []Action{Create, Update, Delete} {
		join := "; " + string(action) + " "
		for _, c := range p.Changes {
			if c.Action != action {
				continue
			}
			text := join + summarize(c)
			more := fmt.Sprintf("; and %d more", len(p.Changes)-written)
			if b.Len()+len(text)+len(more) > MaxSummary {
				return strings.TrimPrefix(b.String()+more, "; ")
			}
			b.WriteString(text)
			written++
			join = ", "
		}
	}
	return strings.TrimPrefix(b.String(), "; ")
}

// summarize names the change; an update also includes the fields and values, because nothing else
// distinguishes it from the next one. Long values and names are shortened.
func summarize(c Change) string {
	const maxName, maxValue = 300, 120
	text := clip(escape(c.Kind+" "+c.Name), maxName)
	if c.Action != Update || len(c.Fields) == 0 {
		return text
	}
	fields := make([]string, len(c.Fields))
	for i, f := range c.Fields {
		step := formatStep(f, func(s string) bool { return len(s) <= maxValue })
		fields[i] = escape(f.Name) + ": " + clip(step, maxValue)
	}
	return text + " (" + strings.Join(fields, ", ") + ")"
}
