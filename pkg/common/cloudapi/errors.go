// Package cloudapi holds what all calls to clouds share: a closed set of error classes, and an
// http.RoundTripper with metrics, rate limits and a request log.
package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Class classifies the errors of all clouds, so that shared code can handle them without knowing the cloud.
// It is also the value of a metric label.
type Class string

// The classes.
const (
	// NotFound: the object does not exist, according to an authoritative response of the cloud.
	NotFound Class = "not-found"
	// AlreadyExists: an object of that name or key exists.
	AlreadyExists Class = "already-exists"
	// Conflict: the state of the object does not allow the call now; the same call may succeed later.
	Conflict Class = "conflict"
	// Throttled: too many calls.
	Throttled Class = "throttled"
	// Denied: credentials are missing, wrong, or lack the permission.
	Denied Class = "denied"
	// Quota: a limit of the account is reached.
	Quota Class = "quota"
	// Invalid: the request is wrong; a retry fails too.
	Invalid Class = "invalid"
	// Unavailable: no response, a timeout, or a failure of the cloud. The outcome of the call is unknown.
	Unavailable Class = "unavailable"
	// Canceled: the caller canceled the context.
	Canceled Class = "canceled"
	// Unknown: none of the above. It never counts as NotFound.
	Unknown Class = "unknown"
)

// Error is an error of a cloud with its class.
type Error struct {
	Class Class
	// Operation is the cloud's name of the call, such as CreateLoadBalancer.
	Operation string
	// RetryAfter is the wait that the cloud requested; zero if it requested none.
	RetryAfter time.Duration
	// Err is the cause, with the message of the cloud.
	Err error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s (%s)", e.Operation, e.Err, e.Class) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ClassOf returns the class of the first classified error in the chain. Context errors without a
// class are Canceled or Unavailable (deadline); anything else is Unknown. A nil error has no class ("").
func ClassOf(err error) Class {
	if err == nil {
		return ""
	}
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Class
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return Unavailable
	default:
		return Unknown
	}
}

// Is reports whether err has one of these classes.
func Is(err error, classes ...Class) bool {
	return slices.Contains(classes, ClassOf(err))
}

// CauseOf returns the cause of an *Error, without its operation and class, and any other error unchanged. It
// is for messages that name the operation themselves.
func CauseOf(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// IgnoreNotFound returns nil for an error of class NotFound, and any other error unchanged. It makes deletions
// idempotent.
func IgnoreNotFound(err error) error {
	if Is(err, NotFound) {
		return nil
	}
	return err
}

// OneLine returns the message of an error on one line, for tables and lists. Joined errors have a line each.
func OneLine(err error) string { return strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n", "; ") }
