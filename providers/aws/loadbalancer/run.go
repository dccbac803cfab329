package loadbalancer

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
)

// fingerprintPeriod is how often fingerprints are brought up to date. They only make the next start
// cheaper, so that minutes don't matter; and after nodes have come and gone for a while, one call
// for 20 load balancers does for all of it.
const fingerprintPeriod = 5 * time.Minute

// firstFingerprint is when they are first brought up to date: soon, because a manager that is replaced
// or fails right after its start would read everything once more.
const firstFingerprint = 30 * time.Second

// Run keeps the fingerprints of network load balancers up to date until ctx ends. A manager that
// may change nothing must not run it.
func (c *Cloud) Run(ctx context.Context) {
	for wait := firstFingerprint; clocks.Sleep(ctx, c.options.Clock, wait) == nil; wait = fingerprintPeriod {
		if err := c.Fingerprint(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Info("Writing fingerprints of load balancers failed; it is tried again", "after", fingerprintPeriod, "err", err)
		}
	}
}

// Fingerprint brings the fingerprints of network load balancers up to date once. It does nothing
// before the first load balancer was looked at.
func (c *Cloud) Fingerprint(ctx context.Context) error {
	made, connected := c.made.Peek()
	if !connected {
		return nil
	}
	return made.network.Fingerprint(ctx)
}
