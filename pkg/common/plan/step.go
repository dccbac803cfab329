package plan

import (
	"context"
	"slices"
)

// Step is the mutation of a change as data. W is the type that makes the calls of the cloud for one Service.
type Step[W any] interface {
	// Do makes the mutation: one cloud call if the cloud's API allows it. A creation stores the new object's ID under
	// its handle.
	Do(ctx context.Context, writer W, ids *Handles) error
}

// WaitingStep is a Step whose object is not ready for dependants when Do returns.
type WaitingStep[W any] interface {
	Step[W]
	// Ready returns once the object has reached the state that its dependants need. It polls with ctx and makes no
	// mutation.
	Ready(ctx context.Context, writer W, ids *Handles) error
}

// Bind returns the plan with the functions that make its steps with a writer. Steps of other writers, and changes that
// have their functions, stay as they are.
func Bind[W any](p Plan, writer W) Plan {
	p.Changes = slices.Clone(p.Changes)
	for i, c := range p.Changes {
		if c.Do == nil {
			p.Changes[i] = bind(c, writer)
		}
	}
	return p
}

func bind[W any](c Change, writer W) Change {
	step, ok := c.Step.(Step[W])
	if !ok {
		return c
	}
	c.Do = func(ctx context.Context, ids *Handles) error { return step.Do(ctx, writer, ids) }
	if waiting, ok := step.(WaitingStep[W]); ok {
		c.Ready = func(ctx context.Context, ids *Handles) error { return waiting.Ready(ctx, writer, ids) }
	}
	return c
}
