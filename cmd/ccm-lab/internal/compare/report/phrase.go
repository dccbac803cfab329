package report

import (
	"regexp"
	"strings"
)

// The parts of the message of an Event around the reason for it: the reason of the Event, what Kubernetes' controllers
// put before an error, the field and its value that the message is about, and the cloud that it names.
var (
	controllerText = regexp.MustCompile(`^(\(combined from similar events\): )?(Could not create route [^:]*: )?`)
	eventReason    = regexp.MustCompile(`^[A-Z][A-Za-z]+: `)
	fieldAndText   = regexp.MustCompile(`^[\w./\[\]-]+( \([^)]*\))?( is "[^"]*"…?)?: `)
	namedCloud     = regexp.MustCompile(`^(load balancers of )?the cloud \w+ `)
)

// unexplained ends the summary of what was ignored, which the verdict says too.
const unexplained = ", and no Event says why."

// A check that failed: its name, what was observed and what was expected.
var failedCheck = regexp.MustCompile(`^(.+?) is (.+), want (.+)$`)

// phraseOfChecks returns the phrase of failed checks: "address families: IPv4, not IPv6; no listeners".
func phraseOfChecks(text string) string {
	checks := strings.Split(text, "; ")
	for i, check := range checks {
		switch parts := failedCheck.FindStringSubmatch(check); {
		case parts == nil:
		case parts[2] == "not set":
			checks[i] = "no " + parts[1]
		default:
			checks[i] = parts[1] + ": " + parts[2] + ", not " + parts[3]
		}
	}
	return strings.Join(checks, "; ")
}

// Phrase returns the summary for the cell of a table. Of the message of a Warning Event it is the reason alone, without
// the field that it is about and without the fix: "classic load balancers forward TCP only".
func (c Cell) Phrase() string {
	text := strings.TrimSuffix(c.Summary, unexplained)
	reason := eventReason.FindString(text)
	if reason == "" || c.Verdict == Works {
		return phraseOfChecks(text)
	}
	text = controllerText.ReplaceAllString(strings.TrimPrefix(text, reason), "")
	text = fieldAndText.ReplaceAllString(text, "")
	for _, end := range []string{": ", "; ", ", so "} {
		text, _, _ = strings.Cut(text, end)
	}
	if _, but, ok := strings.Cut(text, ", but "); ok {
		text = but
	}
	return strings.TrimSuffix(namedCloud.ReplaceAllString(text, ""), " (invalid)")
}
