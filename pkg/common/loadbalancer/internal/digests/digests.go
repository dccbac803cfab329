// Package digests has the form in which the history of a Service stores differences and their causes. The status of a
// Service is limited, and an API server has it for as long as the Service exists: the form never changes.
package digests

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// length is the length of a digest in bytes: they are compared for one Service only.
const length = 6

// Of returns the digests of the place and of the wanted value of a difference.
func Of(d plan.Difference) (place, wanted string) {
	return applied.ShortDigest("place", d.Kind+"\n"+d.Object+"\n"+d.Field, length),
		applied.ShortDigest("wanted", d.Wanted, length)
}

// Cause is the stored form of a plan.Cause.
type Cause struct {
	// Place and Wanted are digests of what the difference is of, and of the wanted value, which is empty once it is
	// started.
	Place   string   `json:"place"`
	Wanted  string   `json:"wanted,omitempty"`
	Fields  []string `json:"fields,omitempty"`
	Started bool     `json:"started,omitempty"`
}

// NewCause returns the stored form of a cause.
func NewCause(c plan.Cause) Cause {
	place, wanted := Of(c.Difference)
	if c.Started {
		wanted = ""
	}
	return Cause{Place: place, Wanted: wanted, Fields: c.Fields, Started: c.Started}
}

// Covers reports whether it is the cause of a difference with these digests. What was started may be finished, or
// undone, with whatever is wanted now: texts of wanted values change while a change is applied, such as that of an
// address that is allocated by then, and its place is disrupted in any case.
func (c Cause) Covers(place, wanted string) bool {
	return c.Place == place && (c.Started || c.Wanted == wanted)
}
