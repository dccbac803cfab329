// Package panics turns panics of a provider into errors, so that a defect of one cloud does not end the work for the
// others. A goroutine that calls code of a provider calls it with Do: only its own goroutine can recover from a panic.
package panics

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
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
		switch value := recover().(type) {
		case nil:
		case *Error: // of a Group, with the stack of its goroutine
			err = value
		default:
			err = &Error{Value: value, Stack: string(debug.Stack())}
		}
	}()
	return f()
}

// Value calls a function with a result. A panic of it is an *Error.
func Value[T any](f func() (T, error)) (value T, err error) {
	err = Do(func() (err error) {
		value, err = f()
		return err
	})
	return value, err
}

// Group runs functions of a provider at the same time, as errgroup.Group does. A panic of one of them is a panic of
// Wait: whoever called the provider recovers from it there.
type Group struct {
	group    errgroup.Group
	panicked atomic.Pointer[Error]
	cancel   context.CancelFunc
}

// WithContext returns a group, and a context that ends with the first error, or when Wait returns.
func WithContext(ctx context.Context) (*Group, context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	return &Group{cancel: cancel}, ctx
}

// SetLimit bounds the number of functions that run at the same time. It is called before Go.
func (g *Group) SetLimit(n int) { g.group.SetLimit(n) }

// Go calls a function in a goroutine, once the limit allows it.
func (g *Group) Go(f func() error) {
	g.group.Go(func() error {
		err := Do(f)
		if panicked := (*Error)(nil); errors.As(err, &panicked) {
			g.panicked.CompareAndSwap(nil, panicked)
		}
		if err != nil && g.cancel != nil {
			g.cancel()
		}
		return err
	})
}

// Wait waits for all functions, and returns the first error.
func (g *Group) Wait() error {
	err := g.group.Wait()
	if g.cancel != nil {
		g.cancel()
	}
	if panicked := g.panicked.Load(); panicked != nil {
		panic(panicked)
	}
	return err
}
