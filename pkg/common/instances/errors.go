package instances

import (
	"fmt"
	"strings"
)

// ForeignIDError is returned for a provider ID of another cloud, or of a part of this cloud that is out of
// scope. It says nothing about the existence of the instance.
type ForeignIDError struct {
	// ProviderID is the value of spec.providerID.
	ProviderID string
	// Scheme is the scheme of our own provider IDs.
	Scheme string
	// Reason is set if the scheme is ours and another field is not: "region is eu, ours is us".
	Reason string
}

// Error implements error.
func (e *ForeignIDError) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("provider ID %q is not ours: %s", e.ProviderID, e.Reason)
	}
	return fmt.Sprintf("provider ID %q is not ours: ours start with %s://", e.ProviderID, e.Scheme)
}

// MalformedIDError is returned for a provider ID with our scheme, or none, that matches no known form.
type MalformedIDError struct {
	ProviderID string
	Scheme     string
	// Forms are the accepted forms.
	Forms []string
}

// Error implements error.
func (e *MalformedIDError) Error() string {
	return fmt.Sprintf("provider ID %q is malformed: expected %s", e.ProviderID, strings.Join(e.Forms, " or "))
}
