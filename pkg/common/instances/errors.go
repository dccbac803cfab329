package instances

import (
	"fmt"
	"strings"
)

// ForeignIDError says that a provider ID belongs to another cloud, or to a part of this cloud that
// is not in scope. The node is someone else's: nothing may be concluded about its instance.
type ForeignIDError struct {
	// ProviderID is the ID as it stands in spec.providerID.
	ProviderID string
	// Scheme is the scheme of our own provider IDs.
	Scheme string
	// Reason says what makes it foreign where the scheme alone does not: "region is eu, ours is us".
	Reason string
}

// Error implements error.
func (e *ForeignIDError) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("provider ID %q is not ours: %s", e.ProviderID, e.Reason)
	}
	return fmt.Sprintf("provider ID %q is not ours: ours begin with %s://", e.ProviderID, e.Scheme)
}

// MalformedIDError says that a provider ID has our scheme, or none, and none of the forms that we know.
type MalformedIDError struct {
	ProviderID string
	Scheme     string
	// Forms are the forms that would be accepted.
	Forms []string
}

// Error implements error.
func (e *MalformedIDError) Error() string {
	return fmt.Sprintf("provider ID %q is malformed: expected %s", e.ProviderID, strings.Join(e.Forms, " or "))
}
