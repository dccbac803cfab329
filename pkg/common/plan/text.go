package plan

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// TextOptions configure RenderText.
type TextOptions struct {
	// Color uses ANSI colours: for terminals only.
	Color bool
	// Width shortens long values so that lines fit, and a changed list to its added and removed entries; 0 means
	// that everything is shown.
	Width int
	// Verbose disables shortening, and also lists plans without changes.
	Verbose bool
	// Failed is the number of plans that could not be made. Without it, the text would read as if nothing had to change.
	Failed int
}

// RenderText writes the plans for users: a heading for each subject, a line for each change with its fields
// below, and one summary line at the end. Plans that cannot be ordered are an error.
//
//	Service default/web
//	  + listener a1b2/80-TCP
//	      port:         80
//	      sourceRanges: 10.0.0.0/8
//	      after create pool a1b2/80-TCP
//	  ! load-balancer.unified-ccm.io/…: warning
//
//	Plan: 1 to create, 0 to update, 0 to delete in 1 Service.
func RenderText(w io.Writer, o TextOptions, plans ...Plan) error {
	t := textWriter{options: o}
	for _, p := range plans {
		sorted, err := p.Sorted()
		if err != nil {
			return err
		}
		t.plan(sorted)
	}
	t.line(0, bold, formatTotals(plans, o.Failed))
	_, err := w.Write(t.buffer.Bytes())
	return err
}

// style is an ANSI escape sequence.
type style string

const (
	plain  style = ""
	bold   style = "\x1b[1m"
	dim    style = "\x1b[2m"
	red    style = "\x1b[31m"
	green  style = "\x1b[32m"
	yellow style = "\x1b[33m"
	purple style = "\x1b[35m"
	reset        = "\x1b[0m"
)

// actionStyle returns the sign and the colour of an action. The sign is enough to understand it.
func actionStyle(a Action) (sign string, s style) {
	switch a {
	case Create:
		return "+", green
	case Delete:
		return "-", red
	default:
		return "~", yellow
	}
}

// textWriter collects the text, so that the output is never partial.
type textWriter struct {
	options TextOptions
	buffer  bytes.Buffer
}

func (t *textWriter) plan(p Plan) {
	if p.Empty() && len(p.Warnings) == 0 && !t.options.Verbose {
		return
	}
	t.line(0, bold, escape(p.Subject))
	for _, c := range p.Changes {
		t.change(c, "")
	}
	if p.Empty() {
		t.line(2, dim, "no changes")
	}
	if len(p.Held) > 0 {
		t.line(2, purple, "held until an approval of "+escape(p.HeldID)+":")
	}
	for _, h := range p.Held {
		h.Change.Reason = h.Reason
		t.change(h.Change, " (held)")
	}
	for _, warning := range p.Warnings {
		t.line(2, purple, "! "+escape(warning))
	}
	t.buffer.WriteByte('\n')
}

func (t *textWriter) change(c Change, suffix string) {
	sign, colour := actionStyle(c.Action)
	t.line(2, colour, sign+" "+escape(c.Kind)+" "+escape(c.Name)+suffix)
	if c.Reason != "" {
		t.line(6, dim, "because "+escape(c.Reason))
	}
	widest := 0
	for _, f := range c.Fields {
		widest = max(widest, utf8.RuneCountInString(escape(f.Name)))
	}
	for _, f := range c.Fields {
		name := escape(f.Name) + ":"
		pad := strings.Repeat(" ", widest+1-utf8.RuneCountInString(name))
		t.line(6, plain, t.formatField(name+pad+" ", c.Action, f))
	}
	if c.Disrupts != DisruptsNothing {
		t.line(6, yellow, "disrupts "+string(c.Disrupts))
	}
	if len(c.Because) > 0 {
		t.line(6, dim, "because of the edit of "+escape(strings.Join(c.Because, ", ")))
	}
	if len(c.After) > 0 {
		t.line(6, dim, "after "+formatRefs(c.After))
	}
}

// formatField formats the value of a created or deleted object, or the change of an updated one.
func (t *textWriter) formatField(head string, a Action, f Field) string {
	const indent = 6
	room := t.options.Width - indent - utf8.RuneCountInString(head)
	room = max(room, 10) // A few letters of a value are useless; the terminal wraps the line instead.
	fits := func(s string) bool {
		return t.options.Width <= 0 || t.options.Verbose || utf8.RuneCountInString(s) <= room
	}
	var value string
	switch a {
	case Create:
		value = formatValue(f.After)
	case Delete:
		value = formatValue(f.Before)
	default:
		value = formatStep(f, fits)
	}
	if !fits(value) {
		value = string([]rune(value)[:room-1]) + "…"
	}
	return head + value
}

// formatRefs names the changes that a change depends on. These are mostly creations, so they need no verb.
func formatRefs(after []Ref) string {
	names := make([]string, len(after))
	for i, r := range after {
		names[i] = escape(r.Kind + " " + r.Name)
		if r.Action != Create {
			names[i] = escape(r.String())
		}
	}
	return strings.Join(names, ", ")
}

func (t *textWriter) line(indent int, s style, text string) {
	t.buffer.WriteString(strings.Repeat(" ", indent))
	if t.options.Color && s != plain {
		text = string(s) + text + reset
	}
	t.buffer.WriteString(text)
	t.buffer.WriteByte('\n')
}

// formatTotals returns the summary line. failed is the number of plans that could not be made.
func formatTotals(plans []Plan, failed int) string {
	n, held := map[Action]int{}, 0
	all, changed := tally{}, tally{}
	for _, p := range plans {
		all.count(p)
		if p.Empty() && len(p.Held) == 0 {
			continue
		}
		changed.count(p)
		held += len(p.Held)
		for a, k := range p.Count() {
			n[a] += k
		}
	}
	if changed.total() == 0 {
		switch {
		case failed == 0:
			return "No changes: " + all.unchanged()
		case all.total() == 0:
			return "Failed: no plan could be made."
		default:
			return fmt.Sprintf("Failed: %s could not be made; the cloud matches %s.", plural(failed, "plan"), all)
		}
	}
	text := fmt.Sprintf("Plan: %d to create, %d to update, %d to delete", n[Create], n[Update], n[Delete])
	if held > 0 {
		text += fmt.Sprintf(", %d held", held)
	}
	text += " in " + changed.String() + "."
	if failed > 0 {
		text += " " + plural(failed, "further plan") + " could not be made."
	}
	return text
}

// tally counts subjects: Services by number, anything else by name.
type tally struct {
	services int
	others   []string
}

func (t *tally) count(p Plan) {
	if strings.HasPrefix(p.Subject, "Service ") {
		t.services++
		return
	}
	t.others = append(t.others, escape(p.Subject))
}

func (t *tally) total() int { return t.services + len(t.others) }

func (t tally) String() string {
	parts := t.others
	if t.services > 0 {
		parts = append([]string{plural(t.services, "Service")}, parts...)
	}
	return strings.Join(parts, ", ")
}

// unchanged returns the end of the summary line for plans without changes.
func (t tally) unchanged() string {
	if t.total() == 0 {
		return "there is nothing to compare."
	}
	return "the cloud matches " + t.String() + "."
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
