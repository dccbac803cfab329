package core

import (
	"errors"
	"fmt"
	"net/http"
)

// RefusalError is an error response. An operation that returns one has changed nothing.
type RefusalError struct {
	Status        int
	Code, Message string
}

func (r *RefusalError) Error() string { return r.Code + ": " + r.Message }

// Refuse returns an error response with one of the error codes of the AWS API references.
func Refuse(code, format string, args ...any) error {
	return &RefusalError{Status: statusOf(code), Code: code, Message: fmt.Sprintf(format, args...)}
}

// statusOf returns the HTTP status of an error code, as the API references list it; 400 for other codes.
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

// RefusalOf returns the response for any error. Errors other than refusals are bugs of the simulator.
func RefusalOf(err error) *RefusalError {
	var r *RefusalError
	if errors.As(err, &r) {
		return r
	}
	return &RefusalError{Status: http.StatusInternalServerError, Code: "InternalError", Message: err.Error()}
}

// MissingParameter returns the error of EC2 for a required parameter that is absent.
func MissingParameter(name string) error {
	return Refuse("MissingParameter", "The request must contain the parameter %s", name)
}

// InvalidValue returns the error of EC2 for a value that it does not accept.
func InvalidValue(format string, args ...any) error {
	return Refuse("InvalidParameterValue", format, args...)
}

// Validation returns the error of Elastic Load Balancing for a request that its model does not allow.
func Validation(format string, args ...any) error {
	return Refuse("ValidationError", format, args...)
}
