package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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

// TestOrphansAlertAndRunbook follows the runbook of the alert about orphans. The finalizer of a Service was removed by
// hand: the gauge counts what it left, ccm audit lists and deletes it, and the gauge is zero again.
func TestOrphansAlertAndRunbook(t *testing.T) {
	t.Parallel()
	serve, scrape := metricsPort(t)
	c := newCluster(t, setup{noRoutes: true, flags: append(serve, "--load-balancer-audit-period=2s")})
	old := service("old", 80)
	c.must(c.session.JoinN(t.Context(), 1), c.session.Put(t.Context(), service("web", 80)), c.session.Put(t.Context(), old))
	c.start()
	c.converge()
	c.live.Stop(t.Context())
	services := c.plane.Client.CoreV1().Services(namespace)
	_, err := services.Patch(t.Context(), old.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`),
		metav1.PatchOptions{})
	c.must(err, services.Delete(t.Context(), old.Name, metav1.DeleteOptions{}))
	c.start()

	const objects = "ccm_inventory_objects"
	counts := func(orphans float64) func(context.Context) error {
		return func(ctx context.Context) error {
			text, err := scrape(ctx)
			if err != nil {
				return err
			}
			for _, kind := range []string{`kind="load balancer"`, `kind="address"`} {
				if got := sum(text, objects, kind, `state="orphaned"`); got != orphans {
					return fmt.Errorf("%v orphans of %s, want %v", got, kind, orphans)
				}
				if got := sum(text, objects, kind, `state="owned"`); got != 1 {
					return fmt.Errorf("%v of %s belong to a Service, want 1", got, kind)
				}
			}
			return nil
		}
	}
	c.eventually("the gauge to count the orphans", counts(1))
	listed := c.audit(t, exitChanges)
	for _, line := range []string{"Orphaned:", "there is no Service default/old", "In sync:"} {
		if !strings.Contains(listed, line) {
			t.Errorf("ccm audit does not print %q:\n%s", line, listed)
		}
	}
	if deleted := c.audit(t, exitOK, "--delete-orphans", "--yes", "--min-age=0"); !strings.Contains(deleted, "deleted load balancer") {
		t.Errorf("ccm audit --delete-orphans prints\n%s", deleted)
	}
	c.eventually("the gauge to be zero", counts(0))
	c.audit(t, exitOK)
}

// audit runs ccm audit and requires an exit code.
func (c *cluster) audit(t *testing.T, want int, args ...string) string {
	t.Helper()
	args = append([]string{"--configure-cloud-routes=false"}, args...)
	stdout, stderr, code := ccm(t, append([]string{"audit"}, c.where(args...)...)...)
	if code != want {
		t.Fatalf("ccm audit %s: exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", strings.Join(args, " "), code, want, stdout, stderr)
	}
	return stdout
}
