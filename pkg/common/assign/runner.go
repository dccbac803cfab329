package assign

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

const (
	// minRetry and maxRetry bound the pause after a failed attempt; each is twice as long as the one before. An instance
	// that was just created may appear within a second.
	minRetry = 500 * time.Millisecond
	maxRetry = 5 * time.Minute
)

// runner calls a function for each key that is added, and again after a failure. Each call has its own goroutine: one
// that waits for a cloud holds up no other. The calls for one key are made one after the other.
type runner struct {
	queue workqueue.TypedRateLimitingInterface[string]
	// sync works on a key. It returns when to call it again, 0 for never.
	sync func(ctx context.Context, key string) (again time.Duration, err error)
}

func newRunner(name string, sync func(context.Context, string) (time.Duration, error)) *runner {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[string](minRetry, maxRetry)
	return &runner{
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter,
			workqueue.TypedRateLimitingQueueConfig[string]{Name: name}),
		sync: sync,
	}
}

// add queues a key at once, and forgets its failures.
func (r *runner) add(key string) {
	r.queue.Forget(key)
	r.queue.Add(key)
}

// run works until ctx ends.
func (r *runner) run(ctx context.Context) {
	context.AfterFunc(ctx, r.queue.ShutDown)
	for {
		key, shutdown := r.queue.Get()
		if shutdown {
			return
		}
		go r.call(ctx, key)
	}
}

func (r *runner) call(ctx context.Context, key string) {
	defer r.queue.Done(key)
	again, err := r.sync(ctx, key)
	switch {
	case err != nil:
		klog.FromContext(ctx).V(1).Info("Trying again", "object", key, "reason", err.Error())
		r.queue.AddRateLimited(key)
	case again > 0:
		r.queue.Forget(key)
		r.queue.AddAfter(key, again)
	default:
		r.queue.Forget(key)
	}
}
