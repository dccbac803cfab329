package api

import (
	"context"
	"errors"
)

// Operation is a change that Compute Engine makes in the background.
type Operation struct {
	Name     string `json:"name"`
	Status   string `json:"status"`
	Zone     string `json:"zone,omitempty"`
	Region   string `json:"region,omitempty"`
	SelfLink string `json:"selfLink,omitempty"`
	// HTTPStatus is the status of a change that failed.
	HTTPStatus  int             `json:"httpErrorStatusCode,omitempty"`
	HTTPMessage string          `json:"httpErrorMessage,omitempty"`
	Error       *OperationError `json:"error,omitempty"`
}

// OperationError has the errors of a change that failed.
type OperationError struct {
	Errors []OperationProblem `json:"errors"`
}

// OperationProblem is one error of a change.
type OperationProblem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// StatusDone is the status of an operation that has ended.
const StatusDone = "DONE"

// ErrRunning is the cause of an error about an operation that takes too long to be waited for. What becomes of the
// change is unknown.
var ErrRunning = errors.New("the operation has not ended")

// Operations wait for changes.
type Operations interface {
	// Wait returns the operation when it has ended, well or not. The end of the context ends the wait, never the
	// operation. Wait reads the operation once, with the cloud's own wait.
	Wait(ctx context.Context, operation Operation, wait WaitFunc) (Operation, error)
}

// WaitFunc makes one call that returns when an operation has ended, or earlier.
type WaitFunc func(ctx context.Context, operation Operation) (Operation, error)
