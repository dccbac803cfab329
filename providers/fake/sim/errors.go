package sim

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// refusalError is a response with a status of 400 and above. An operation that returns one has changed
// nothing.
type refusalError struct {
	status int
	body   api.Error
}

func (r *refusalError) Error() string { return r.body.Code + ": " + r.body.Message }

// refuse returns the response for one of the codes of package api.
func refuse(code, format string, args ...any) error {
	return &refusalError{status: statusOf(code), body: api.Error{Code: code, Message: fmt.Sprintf(format, args...)}}
}

func invalid(format string, args ...any) error { return refuse(api.CodeInvalid, format, args...) }

func notFound(kind, id string) error {
	return refuse(api.CodeNotFound, "%s %q does not exist", kind, id)
}

// statusOf returns the documented status of a code.
func statusOf(code string) int {
	switch code {
	case api.CodeNotFound:
		return http.StatusNotFound
	case api.CodeAlreadyExists, api.CodeBusy, api.CodeInUse:
		return http.StatusConflict
	case api.CodeThrottled:
		return http.StatusTooManyRequests
	case api.CodeUnauthorized:
		return http.StatusUnauthorized
	case api.CodeForbidden, api.CodeQuotaExceeded, api.CodePoolExhausted:
		return http.StatusForbidden
	case api.CodeInvalid:
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// refusalOf converts any error into a response. Errors other than refusals are failures of the cloud itself,
// such as a full disk under the state file.
func refusalOf(err error) *refusalError {
	var r *refusalError
	if errors.As(err, &r) {
		return r
	}
	return &refusalError{status: http.StatusInternalServerError,
		body: api.Error{Code: api.CodeInternal, Message: err.Error()}}
}
