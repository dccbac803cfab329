package core

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// RefusalError is an error response. An operation that returns one has changed nothing.
type RefusalError struct {
	Status int
	// Reason is the short text by which clients tell errors apart, such as notFound.
	Reason, Message string
	// Domain is "global", or "usageLimits" for rates.
	Domain string
	// MayBeLate is set if the cloud also reports the error in the operation instead of the response.
	MayBeLate bool
}

func (r *RefusalError) Error() string { return r.Message }

// refuse returns an error response.
func refuse(status int, reason, format string, args ...any) *RefusalError {
	return &RefusalError{Status: status, Reason: reason, Message: fmt.Sprintf(format, args...), Domain: "global"}
}

// late marks an error that may come in the operation.
func late(r *RefusalError) error {
	r.MayBeLate = true
	return r
}

// RefusalOf returns the response for any error. Errors other than refusals are bugs of the simulator.
func RefusalOf(err error) *RefusalError {
	var r *RefusalError
	if errors.As(err, &r) {
		return r
	}
	return refuse(http.StatusInternalServerError, "internalError", "%s", err.Error())
}

// Document is the body of an error response.
func (r *RefusalError) Document() any {
	one := map[string]any{"domain": r.Domain, "message": r.Message, "reason": r.Reason}
	if r.Status == http.StatusUnauthorized {
		one["location"], one["locationType"] = "Authorization", "header"
	}
	return map[string]any{"error": map[string]any{"code": r.Status, "message": r.Message, "errors": []any{one}}}
}

// operationCode returns the code of the error in an operation: RESOURCE_IN_USE_BY_ANOTHER_RESOURCE.
func (r *RefusalError) operationCode() string {
	return cmp.Or(operationCodes[r.Reason], strings.ToUpper(SnakeCase(r.Reason)))
}

// operationCodes are those codes that differ from the reason.
var operationCodes = map[string]string{"notFound": "RESOURCE_NOT_FOUND", "alreadyExists": "RESOURCE_ALREADY_EXISTS"}

// ErrNotFound returns the error for a resource that does not exist.
func ErrNotFound(r Ref) error {
	return refuse(http.StatusNotFound, "notFound", "The resource '%s' was not found", r)
}

// ErrNoMethod returns the error for a path or method that the API does not have.
func ErrNoMethod(method, path string) error {
	return refuse(http.StatusNotFound, "notFound", "The requested URL %s was not found for the method %s.", path, method)
}

// ErrExists returns the error for a name that is taken.
func ErrExists(r Ref) error {
	return late(refuse(http.StatusConflict, "alreadyExists", "The resource '%s' already exists", r))
}

// ErrInUse returns the error for the deletion of a resource to which another one refers.
func ErrInUse(r, by Ref) error {
	return late(refuse(http.StatusBadRequest, "resourceInUseByAnotherResource",
		"The %s resource '%s' is already being used by '%s'", strings.ToLower(SnakeCase(singular(r.Collection))), r, by))
}

// ErrNotReady returns the error for a resource with an operation in progress.
func ErrNotReady(r Ref) error {
	return refuse(http.StatusBadRequest, "resourceNotReady", "The resource '%s' is not ready", r)
}

// ErrQuota returns the error for a creation that exceeds a quota.
func ErrQuota(metric string, limit int, where string) error {
	return late(refuse(http.StatusForbidden, "quotaExceeded", "Quota '%s' exceeded.  Limit: %d.0 %s.", metric, limit,
		where))
}

// ErrFingerprint returns the error for a change of an older version of a resource.
func ErrFingerprint() error {
	return refuse(http.StatusPreconditionFailed, "conditionNotMet", "Invalid fingerprint.")
}

// Invalid returns the error for a value that a field cannot have.
func Invalid(field, value, format string, args ...any) error {
	return refuse(http.StatusBadRequest, "invalid", "Invalid value for field '%s': '%s'. %s", field, value,
		fmt.Sprintf(format, args...))
}

// InvalidLate is Invalid for a rule that may be checked in the operation.
func InvalidLate(field, value, format string, args ...any) error {
	return late(RefusalOf(Invalid(field, value, format, args...)))
}

// BadRequest returns an error with its own reason.
func BadRequest(reason, format string, args ...any) error {
	return late(refuse(http.StatusBadRequest, reason, format, args...))
}

// Required returns the error for a field that is not set.
func Required(field string) error {
	return refuse(http.StatusBadRequest, "required", "Required field '%s' not specified", field)
}

// badPayload returns the error for a body or a query that cannot be read.
func badPayload(format string, args ...any) error {
	return refuse(http.StatusBadRequest, "badRequest", "Invalid JSON payload received. "+format, args...)
}

// ErrForbidden returns the error for a permission that the caller does not have.
func ErrForbidden(permission, resource string) error {
	return refuse(http.StatusForbidden, "forbidden", "Required '%s' permission for '%s'", permission, resource)
}

// ErrUnauthorized returns the error for a request without a valid token.
func ErrUnauthorized() error {
	return refuse(http.StatusUnauthorized, "authError", "Invalid Credentials")
}

// ErrUnavailable returns the error for resources that cannot be read or changed now.
func ErrUnavailable(what string) error {
	return refuse(http.StatusServiceUnavailable, "backendError", "%s is temporarily unavailable. Try again later.", what)
}

// ErrRate returns the error for a call over the rate quota: 403 with the reason rateLimitExceeded, as the page "Compute
// Engine rate quotas" documents.
func ErrRate() *RefusalError {
	r := refuse(http.StatusForbidden, "rateLimitExceeded", "Quota exceeded for quota metric 'Queries' and limit "+
		"'Queries per minute' of service 'compute.googleapis.com'.")
	r.Domain = "usageLimits"
	return r
}

// ErrInternal returns an internal error.
func ErrInternal() *RefusalError {
	return refuse(http.StatusInternalServerError, "internalError", "Internal error. Please try again.")
}

var upperCase = regexp.MustCompile("[A-Z]")

// SnakeCase returns a name in camel case with underscores: target_pool.
func SnakeCase(name string) string {
	return strings.ToLower(upperCase.ReplaceAllString(name, "_$0"))
}

// singular returns the name of one resource of a collection.
func singular(collection string) string {
	if base, ok := strings.CutSuffix(collection, "sses"); ok {
		return base + "ss" // addresses
	}
	return strings.TrimSuffix(collection, "s")
}
