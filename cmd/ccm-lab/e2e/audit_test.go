package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// TestAudit changes a load balancer by hand while the manager runs and nothing in Kubernetes changes.
func TestAudit(t *testing.T) {
	t.Parallel()
	c := newCluster(t, setup{noRoutes: true, flags: []string{"--load-balancer-audit-period=2s"}})
	c.must(
		c.session.JoinN(t.Context(), 2),
		c.session.Put(t.Context(), service("web", 80)),
	)
	c.start()
	c.converge()

	lb, err := c.session.Balancer(t.Context(), "web")
	c.must(err)
	fields, err := c.world.Drift(lb.Name)
	c.must(err)
	t.Logf("changed by hand: %v", fields)
	c.eventually("an Event reports the drift", func(ctx context.Context) error {
		said, err := c.live.Events(ctx, "Service", namespace, "web")
		if err != nil {
			return err
		}
		for _, event := range said {
			if strings.HasPrefix(event, "LoadBalancerDrift: ") {
				return nil
			}
		}
		return fmt.Errorf("no LoadBalancerDrift among %d Events", len(said))
	})
	c.converge()
	c.plan(t, exitOK, "--all", "--configure-cloud-routes=false")
}
