package report

import (
	"regexp"
	"strings"
)

// The parts of the message of an Event around the reason for it: the reason of the Event, the field and its value that
// the message is about, and the cloud that it names.
var (
	eventReason  = regexp.MustCompile(`^[A-Z][A-Za-z]+: `)
	fieldAndText = regexp.MustCompile(`^[\w./\[\]-]+( \([^)]*\))?( is "[^"]*"…?)?: `)
	namedCloud   = regexp.MustCompile(`^(load balancers of )?the cloud \w+ `)
)

// unexplained ends the summary of what was ignored, which the verdict says too.
const unexplained = ", and no Event says why."

// Phrase returns the summary for the cell of a table. Of the message of a Warning Event it is the reason alone, without
// the field that it is about and without the fix: "classic load balancers forward TCP only".
func (c Cell) Phrase() string {
	text := strings.TrimSuffix(c.Summary, unexplained)
	reason := eventReason.FindString(text)
	if reason == "" || c.Verdict == Works {
		return text
	}
	text = fieldAndText.ReplaceAllString(strings.TrimPrefix(text, reason), "")
	for _, end := range []string{": ", "; ", ", so "} {
		text, _, _ = strings.Cut(text, end)
	}
	if _, but, ok := strings.Cut(text, ", but "); ok {
		text = but
	}
	return strings.TrimSuffix(namedCloud.ReplaceAllString(text, ""), " (invalid)")
}
