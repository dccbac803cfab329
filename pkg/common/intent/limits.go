package intent

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of one Service. Kubernetes accepts 256 KiB of annotations, and tens of thousands of ports and source ranges.
// Each Service is read at every sync, so that one without limits could stop the manager for all others.
const (
	// maxEntries is the maximum number of ports, of source ranges, and of entries of an annotation. No cloud has load
	// balancers with as many listeners or rules.
	maxEntries = 5000
	// maxRules is the maximum number of source ranges of all ports together.
	maxRules = 50_000
	// maxMessages is the maximum number of problems or warnings in one text, or of one field.
	maxMessages = 20
	// maxListed is the maximum number of valid values that a message lists.
	maxListed = 10
	// maxAdvice is the maximum number of messages about unknown ports that name the nearest port, or list the ports.
	maxAdvice = 5
	// maxFix is the maximum length of a fix in bytes.
	maxFix = 4096
)

// checkEntries refuses a list with too many entries, before it is split.
func checkEntries(value string) error {
	if n := 1 + strings.Count(value, ",") + strings.Count(value, ";"); n > maxEntries {
		return fmt.Errorf("it has %d entries: write at most %d", n, maxEntries)
	}
	return nil
}

// Limit returns the first messages, and how many more there are.
func Limit(messages []string) []string {
	if len(messages) <= maxMessages {
		return messages
	}
	return append(slices.Clone(messages[:maxMessages]), more(len(messages)-maxMessages))
}

// more ends a list of messages or values that is cut.
func more(n int) string { return fmt.Sprintf("and %d more", n) }

// list joins the first values of a list for a message.
func list(values []string) string {
	if n := len(values) - maxListed; n > 0 {
		values = append(slices.Clone(values[:maxListed]), more(n))
	}
	return strings.Join(values, ", ")
}
