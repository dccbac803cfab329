package provider

import "context"

// withoutConditions is the context key of WithoutConditions.
type withoutConditions struct{}

// WithoutConditions returns a context in which Runtime.SetCondition does nothing: the conditions of the Service are
// those of its load balancer in another cloud.
func WithoutConditions(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutConditions{}, true)
}

// SetsConditions reports whether conditions are set in a context.
func SetsConditions(ctx context.Context) bool { return ctx.Value(withoutConditions{}) == nil }
