package neutron

import (
	"net/http"

	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
)

// notFound returns the error of Neutron for an object that does not exist or is not visible to the caller.
func notFound(kind, id string) error {
	return core.Refuse(http.StatusNotFound, kind+"NotFound", "%s %s could not be found.", kind, id)
}

// errMissing returns the function that returns notFound for objects of a kind.
func errMissing(kind string) func(id string) error {
	return func(id string) error { return notFound(kind, id) }
}

func conflict(kind, format string, args ...any) error {
	return core.Refuse(http.StatusConflict, kind, format, args...)
}

func badRequest(kind, format string, args ...any) error {
	return core.Refuse(http.StatusBadRequest, kind, format, args...)
}
