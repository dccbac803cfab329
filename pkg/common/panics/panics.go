// Package panics turns panics of a provider into errors, so that a defect of one cloud does not end the work for the
// others. A goroutine that calls code of a provider calls it with Do: only its own goroutine can recover from a panic.
package panics

import (
	"fmt"
	"runtime/debug"
)

// Error is a panic.
type Error struct {
	// Value is the value of the panic.
	Value any
	// Stack is the stack of its goroutine.
	Stack string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Do calls a function. A panic of it is an *Error.
func Do(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &Error{Value: value, Stack: string(debug.Stack())}
		}
	}()
	return f()
}
