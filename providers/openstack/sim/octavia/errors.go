package octavia

import (
	"net/http"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// errMissing returns the error of Octavia for an object that does not exist.
func errMissing(kind, id string) error {
	return core.Refuse(http.StatusNotFound, "", "%s %s not found.", kind, id)
}

// errUnknown returns the error of Octavia for a reference to an object that does not exist.
func errUnknown(kind, id string) error {
	return core.Refuse(http.StatusBadRequest, "", "%s %s not found.", kind, id)
}

// errImmutable returns the error for a change of a child of a load balancer that cannot be changed now.
func errImmutable(kind, id string) error {
	return core.Refuse(http.StatusConflict, "", "%s %s is immutable and cannot be updated.", kind, id)
}

// errState returns the error for a change of a load balancer that cannot be changed now.
func errState(b *balancer) error {
	return core.Refuse(http.StatusConflict, "", "Invalid state %s of loadbalancer resource %s", b.Provisioning, b.ID)
}

func invalid(format string, args ...any) error {
	return core.Refuse(http.StatusBadRequest, "", "Validation failure: "+format, args...)
}

// badField returns the error of Octavia for an invalid value of a field.
func badField(field string, value any, reason string) error {
	return core.Refuse(http.StatusBadRequest, "", "Invalid input for field/attribute %s. Value: '%v'. %s", field, value,
		reason)
}
