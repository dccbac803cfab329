package plan

import "context"

// stopKey is the context key of the context that WithStop sets.
type stopKey struct{}

// WithStop returns a context in which Apply ends early, in the way in which it ends after an error, once stop ends:
// changes in flight finish, waits end, and no further change starts. A context that ends would instead abort the
// requests in flight, whose outcome then is unknown.
func WithStop(ctx, stop context.Context) context.Context {
	return context.WithValue(ctx, stopKey{}, stop)
}

// stopContext returns the context that ends when Apply is to end early; one that never ends without WithStop.
func stopContext(ctx context.Context) context.Context {
	if stop, ok := ctx.Value(stopKey{}).(context.Context); ok {
		return stop
	}
	return context.Background()
}
