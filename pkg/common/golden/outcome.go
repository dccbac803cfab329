package golden

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Outcome is the result of reconciling one Service.
type Outcome struct {
	// Facts describe the resulting objects, one a line.
	Facts []string
	// Events lists the Events of the Service as "type message".
	Events []string
	// Refused is the error if the Service was refused; nil otherwise.
	Refused error
}

// DiffFrom returns the difference from the previous outcome, one a line: a refusal, warnings, or facts that were
// removed (-) and added (+). It is empty if both are equal.
func (o Outcome) DiffFrom(before Outcome) string {
	var out strings.Builder
	if o.Refused != nil {
		fmt.Fprintf(&out, "  refused: %v\n", o.Refused)
	}
	for _, event := range o.Events {
		if strings.HasPrefix(event, v1.EventTypeWarning) && !slices.Contains(before.Events, event) {
			fmt.Fprintf(&out, "  event: %s\n", event)
		}
	}
	if o.Refused != nil {
		return out.String()
	}
	for _, fact := range before.Facts {
		if !slices.Contains(o.Facts, fact) {
			fmt.Fprintf(&out, "  - %s\n", fact)
		}
	}
	for _, fact := range o.Facts {
		if !slices.Contains(before.Facts, fact) {
			fmt.Fprintf(&out, "  + %s\n", fact)
		}
	}
	return out.String()
}
