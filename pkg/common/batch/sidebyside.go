package batch

import (
	"context"
	"errors"
	"sync"
)

// SideBySide runs do for 0 to n-1, at most atOnce of them at a time, and returns their errors in
// order once all have ended. It is for clouds that take one object a call. What bounds the time is
// the context that do uses: each runs, and those that come after its end are expected to fail at once.
func SideBySide(n, atOnce int, do func(at int) error) []error {
	errs := make([]error, n)
	slots := make(chan struct{}, max(atOnce, 1))
	var group sync.WaitGroup
	for at := range n {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			errs[at] = do(at)
		})
	}
	group.Wait()
	return errs
}

// Together runs the work side by side, at most atOnce of it at a time, and joins its errors. It is for reads
// that need nothing of each other.
func Together(ctx context.Context, atOnce int, work ...func(context.Context) error) error {
	return errors.Join(SideBySide(len(work), atOnce, func(at int) error { return work[at](ctx) })...)
}
