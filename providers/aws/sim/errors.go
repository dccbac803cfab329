package sim

import (
	"errors"
	"fmt"
	"net/http"
)

// refusalError is an answer with an error. An operation that returns one has changed nothing.
type refusalError struct {
	status        int
	code, message string
}

func (r *refusalError) Error() string { return r.code + ": " + r.message }

// refuse builds an answer with one of the error codes of the AWS API references.
func refuse(code, format string, args ...any) error {
	return &refusalError{status: statusOf(code), code: code, message: fmt.Sprintf(format, args...)}
}

// refuseClassic builds the classic API's answer to a configuration that cannot be. The other API
// answers the same code with another status.
func refuseClassic(format string, args ...any) error {
	return &refusalError{status: http.StatusConflict, code: "InvalidConfigurationRequest", message: fmt.Sprintf(format, args...)}
}

// statusOf is the HTTP status that goes with a code; what is not listed in the API references' tables is 400.
func statusOf(code string) int {
	switch code {
	case "AuthFailure":
		return http.StatusUnauthorized
	case "UnauthorizedOperation", "AccessDenied", "InvalidClientTokenId", "MissingAuthenticationToken",
		"SignatureDoesNotMatch", "ExpiredToken":
		return http.StatusForbidden
	case "DryRunOperation":
		return http.StatusPreconditionFailed
	case "PriorRequestNotComplete":
		return http.StatusTooManyRequests
	case "RequestLimitExceeded", "Unavailable":
		return http.StatusServiceUnavailable
	case "InternalError", "InternalFailure":
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

// refusalOf turns any error into an answer. What is not a refusal is a fault of the simulator itself.
func refusalOf(err error) *refusalError {
	var r *refusalError
	if errors.As(err, &r) {
		return r
	}
	return &refusalError{status: http.StatusInternalServerError, code: "InternalError", message: err.Error()}
}

// The errors that several operations of EC2 share.

func missingParameter(name string) error {
	return refuse("MissingParameter", "The request must contain the parameter %s", name)
}

func invalidValue(format string, args ...any) error {
	return refuse("InvalidParameterValue", format, args...)
}

// validation is how Elastic Load Balancing words what its model does not allow.
func validation(format string, args ...any) error {
	return refuse("ValidationError", format, args...)
}
