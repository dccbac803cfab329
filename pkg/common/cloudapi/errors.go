// Package cloudapi is what every call to a cloud goes through: the closed set of error classes,
// and an http.RoundTripper with metrics, rate limits and a request log.
package cloudapi

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Class sorts every error of every cloud into one closed set, so that shared code can decide
// without knowing the cloud. It is also the metric label.
type Class string

// The classes.
const (
	// NotFound: the cloud says, authoritatively, that the object does not exist.
	NotFound Class = "not-found"
	// AlreadyExists: an object of that name or key exists.
	AlreadyExists Class = "already-exists"
	// Conflict: the object is in a state in which this cannot be done now; the same call may succeed later.
	Conflict Class = "conflict"
	// Throttled: too many calls.
	Throttled Class = "throttled"
	// Denied: credentials are missing, wrong, or not allowed to do this.
	Denied Class = "denied"
	// Quota: a limit of the account is reached.
	Quota Class = "quota"
	// Invalid: the request is wrong and will stay wrong.
	Invalid Class = "invalid"
	// Unavailable: no answer, a timeout, or the cloud's own failure. Nothing is known about what was done.
	Unavailable Class = "unavailable"
	// Canceled: we stopped waiting ourselves.
	Canceled Class = "canceled"
	// Unknown: none of the above. Never read as "gone".
	Unknown Class = "unknown"
)

// Error is a cloud's error with its class.
type Error struct {
	Class Class
	// Operation is the cloud's name for the call: "CreateLoadBalancer".
	Operation string
	// RetryAfter is how long the cloud asked us to wait; zero for no word.
	RetryAfter time.Duration
	// Err is the cause, with the cloud's own message.
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

// Is says whether err carries one of these classes.
func Is(err error, classes ...Class) bool {
	c := ClassOf(err)
	for _, want := range classes {
		if c == want {
			return true
		}
	}
	return false
}

// CauseOf returns what the cloud said, without the operation and the class around it, and an error that
// has neither as it is. It is for texts that name the operation themselves.
func CauseOf(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}

// IgnoreNotFound returns nil for an error of class NotFound, and any other error as it is. It is for
// deleting: what is already gone is as good as deleted.
func IgnoreNotFound(err error) error {
	if Is(err, NotFound) {
		return nil
	}
	return err
}
