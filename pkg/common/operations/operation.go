// Package operations waits for the long-running operations of a cloud: a mutation returns an operation, which the
// cloud executes later, and whose error comes with its end instead of with the response.
//
//   - Callers that wait for one operation share its polls; the polls of a process share one rate.
//   - Equal requests share one operation while it runs. A caller that was canceled joins it again.
//   - The end of a wait never ends an operation, and the end of a caller never ends the request that starts one.
//   - A request with a lost reply is repeated with the same request ID, so that the cloud executes it once.
//   - After a restart, operations are found by the objects that they change.
package operations

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
)

// Operation is a long-running operation, as the last response of the cloud described it.
type Operation struct {
	// ID identifies it for Source.Poll: a name with its scope, or the URL to poll. Only an operation that is Done may
	// have none.
	ID string
	// Name is the cloud's name of the call that started it, such as forwardingRules.insert.
	Name string
	// Target identifies the object that it changes.
	Target string
	// RequestID is the ID of the request that started it; empty if the cloud has none.
	RequestID string
	// Done is set once it has ended.
	Done bool
	// Err is the reason why an operation that is Done has failed, with a class of cloudapi; nil if it succeeded.
	Err error
	// RetryAfter is the time that the cloud requested until the next poll; zero if it requested none.
	RetryAfter time.Duration
}

// Source reads the operations of a cloud. It is safe for concurrent use.
type Source interface {
	// Poll returns the present state of an operation. If the API has a verb that blocks until an operation ends, Poll
	// uses it; ctx has the deadline of Options.PollTimeout. An error is that of the call, and never that of the
	// operation. NotFound means that the cloud does not have the operation anymore.
	Poll(ctx context.Context, op Operation) (Operation, error)
	// Running returns the operations that have not ended on an object, whoever started them.
	Running(ctx context.Context, target string) ([]Operation, error)
}

// BusyError is the error of a call that the cloud refused because another operation runs on its object.
type BusyError struct {
	// Operations are those that the response names. If it names none, Source.Running reads them.
	Operations []Operation
	// Err is the cause, with its class.
	Err error
}

// Error implements error.
func (e *BusyError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *BusyError) Unwrap() error { return e.Err }

// failure returns the error of an operation that has ended, always with a class.
func (o Operation) failure() error {
	var classified *cloudapi.Error
	if o.Err == nil || errors.As(o.Err, &classified) {
		return o.Err
	}
	return &cloudapi.Error{Class: cloudapi.ClassOf(o.Err), Operation: o.Name, Err: o.Err}
}

// result returns the value of the metric label of that name.
func (o Operation) result() string {
	if o.Err == nil {
		return "succeeded"
	}
	return string(cloudapi.ClassOf(o.Err))
}

// with returns the operation with what a response may omit.
func (o Operation) with(previous Operation) Operation {
	o.ID = cmp.Or(o.ID, previous.ID)
	o.Name = cmp.Or(o.Name, previous.Name)
	o.Target = cmp.Or(o.Target, previous.Target)
	o.RequestID = cmp.Or(o.RequestID, previous.RequestID)
	return o
}
