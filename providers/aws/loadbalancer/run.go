package loadbalancer

import (
	"context"
	"time"

	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
)

// Fingerprints only make the next start cheaper, so minutes don't matter; and where nodes come and go,
// or a manager looks at its Services for the first time, one call for 20 load balancers does for all
// that changed meanwhile. So they wait until no Service asked for anything new for fingerprintCalm,
// but no longer than fingerprintPeriod, which also is when a failed one is tried again.
const (
	fingerprintCalm   = 30 * time.Second
	fingerprintPeriod = 5 * time.Minute
)

// Run keeps the fingerprints of network load balancers up to date until ctx ends. A manager that
// may change nothing must not run it.
func (c *Cloud) Run(ctx context.Context) {
	clock := c.options.Clock
	for last := clock.Now(); clocks.Sleep(ctx, clock, fingerprintCalm) == nil; {
		asked, connected := c.lastAsked()
		now := clock.Now()
		settled := asked.After(last) && now.Sub(asked) >= fingerprintCalm
		switch {
		case !connected:
			last = now
			continue
		case !settled && now.Sub(last) < fingerprintPeriod:
			continue
		}
		last = now
		if err := c.Fingerprint(ctx); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Info("Writing fingerprints of load balancers failed; it is tried again", "after", fingerprintPeriod, "err", err)
		}
	}
}

// lastAsked is when a Service last asked for something new; false while nobody asked for anything.
func (c *Cloud) lastAsked() (time.Time, bool) {
	made, connected := c.made.Peek()
	if !connected {
		return time.Time{}, false
	}
	return made.network.LastAsked(), true
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
