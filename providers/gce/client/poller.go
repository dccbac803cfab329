package client

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/gce/api"
)

// pollInterval is the time between two waits of the cloud that return before the operation has ended.
const pollInterval = time.Second

// poller waits for operations with the cloud's own wait. A wait that fails proves nothing about the operation, so that
// it is repeated.
type poller struct{ clock clock.Clock }

// Wait implements api.Operations.
func (p poller) Wait(ctx context.Context, o api.Operation, wait api.WaitFunc) (api.Operation, error) {
	for {
		next, err := wait(ctx, o)
		switch {
		case err == nil && next.Status == api.StatusDone:
			return next, nil
		case err != nil && (ctx.Err() != nil || !cloudapi.Is(err, cloudapi.Unavailable, cloudapi.Throttled)):
			return o, err
		}
		if err := clocks.Sleep(ctx, p.clock, pollInterval); err != nil {
			return o, err
		}
	}
}
