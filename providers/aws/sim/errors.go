package sim

import (
	"errors"
	"fmt"
	"net/http"
)

// refusalError is an error response. An operation that returns one has changed nothing.
type refusalError struct {
	status        int
	code, message string
}

func (r *refusalError) Error() string { return r.code + ": " + r.message }

// refuse builds an answer with one of the error codes of the AWS API references.
func refuse(code, format string, args ...any) error {
	return &refusalError{status: statusOf(code), code: code, message: fmt.Sprintf(format, args...)}
}

// refuseClassic builds the classic API's response to an invalid configuration. The other API
// sends the same code with another status.
func refuseClassic(format string, args ...any) error {
	return &refusalError{status: http.StatusConflict, code: "InvalidConfigurationRequest",
		message: fmt.Sprintf(format, args...)}
}

// statusOf returns the HTTP status that of a code; a code that is not listed in the API references' tables is 400.
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

// refusalOf returns the response for any error. Other errors than refusals are bugs of the simulator.
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

// validation is the error of Elastic Load Balancing for a request that its model does not allow.
func validation(format string, args ...any) error {
	return refuse("ValidationError", format, args...)
}
