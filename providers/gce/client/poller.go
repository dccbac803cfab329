package client

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

const (
	// pollInterval is the time between two waits of the cloud that return before the operation has ended.
	pollInterval = time.Second
	// operationTimeout bounds the wait for an operation, which holds the locks of objects that load balancers share, and
	// a worker. Most operations take seconds.
	operationTimeout = 2 * time.Minute
	// retryAfter is the time until a change is planned again whose operation has not ended.
	retryAfter = time.Minute
)

// poller waits for operations with the cloud's own wait. A wait that fails proves nothing about the operation, so that
// it is repeated for a while.
type poller struct{ clock clock.Clock }

// Wait implements api.Operations.
func (p poller) Wait(ctx context.Context, o api.Operation, wait api.WaitFunc) (api.Operation, error) {
	for start := p.clock.Now(); ; {
		next, err := wait(ctx, o)
		switch {
		case err == nil && next.Status == api.StatusDone:
			return next, nil
		case err != nil && (ctx.Err() != nil || !cloudapi.Is(err, cloudapi.Unavailable, cloudapi.Throttled)):
			return o, err
		case p.clock.Since(start) >= operationTimeout:
			cause := api.ErrRunning
			if err != nil {
				cause = fmt.Errorf("%w: %w", api.ErrRunning, err)
			}
			return o, &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "operation " + o.Name,
				RetryAfter: retryAfter, Err: cause}
		}
		if err := clocks.Sleep(ctx, p.clock, pollInterval); err != nil {
			return o, err
		}
	}
}
