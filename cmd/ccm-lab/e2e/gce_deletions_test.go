package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

const (
	// throttledServices are deleted while the cloud throttles, for throttledTime at most.
	throttledServices = 20
	throttledTime     = 2 * time.Minute
	// slowTime is the timeout for these Services without faults: the other manager syncs one after the other, each for
	// seconds, and retries after up to five minutes.
	slowTime = 10 * time.Minute
)

// TestThrottledDeletionsBesideGCEManager deletes Services while half of all changes are throttled, then without faults,
// with the manager of cloud-provider-gcp and with this one on equal clouds: neither leaves anything in the cloud. The
// log has the figures of both.
func TestThrottledDeletionsBesideGCEManager(t *testing.T) {
	t.Parallel()
	binary := os.Getenv(gceManager)
	if binary == "" {
		t.Skip("$" + gceManager + " is not set: hack/sim-clients-gce.sh runs this test with that manager")
	}
	for _, name := range []string{"cloud-provider-gcp", "ccm"} {
		t.Run(name, func(t *testing.T) {
			c := newGCECluster(t, binary, lab.SimulatorOptions{}, "--configure-cloud-routes=false",
				"--controllers=*,-node-ipam-controller")
			if name != "ccm" {
				c.live.Options = c.theirs
			}
			c.start()
			c.must(c.session.JoinN(t.Context(), 3))
			c.deleteThrottled()
		})
	}
}

// deleteThrottled creates Services, and deletes them while the cloud throttles.
func (c *gceCluster) deleteThrottled() {
	c.t.Helper()
	ctx, client := c.t.Context(), c.plane.Client
	cloud := c.world.(world.Inventory)
	initial := cloud.Inventory()
	for i := range throttledServices {
		c.must(lab.CreateService(ctx, client, service(fmt.Sprintf("web-%d", i), 80, 443)))
	}
	c.untilNone(slowTime, "Services have no address", func(svc v1.Service) bool {
		return len(svc.Status.LoadBalancer.Ingress) == 0
	})
	before, started := c.lastCall(), time.Now()
	c.world.Front().SetFaults(sim.Fault{Kind: sim.FaultThrottle, Mutating: true, Rate: 0.5})
	for i := range throttledServices {
		c.must(client.CoreV1().Services(namespace).Delete(ctx, fmt.Sprintf("web-%d", i), metav1.DeleteOptions{}))
	}
	left := c.waitForNone(throttledTime, isLoadBalancer)
	throttled := time.Since(started)
	c.callFigures(fmt.Sprintf("%d of %d Services are deleted in %.0f s of throttling", throttledServices-left,
		throttledServices, throttled.Seconds()), before)
	c.world.Front().SetFaults()
	c.untilNone(slowTime, "Services are left", isLoadBalancer)
	c.callFigures(fmt.Sprintf("all Services are deleted after %.0f s", time.Since(started).Seconds()), before)
	orphans, err := lab.Orphans(ctx, cloud.Inventory, initial, lab.OrphanTimeout)
	c.must(err)
	if len(orphans) > 0 {
		c.t.Errorf("left in the cloud: %v", orphans)
	}
}

// untilNone waits until no Service counts; at the timeout it ends the test.
func (c *gceCluster) untilNone(timeout time.Duration, what string, counts func(v1.Service) bool) {
	c.t.Helper()
	if n := c.waitForNone(timeout, counts); n > 0 {
		c.t.Fatalf("after %s, %d %s", timeout, n, what)
	}
}

// waitForNone waits until no Service counts, and returns how many do at the timeout.
func (c *gceCluster) waitForNone(timeout time.Duration, counts func(v1.Service) bool) (n int) {
	c.t.Helper()
	err := wait.PollUntilContextTimeout(c.t.Context(), poll, timeout, true, func(ctx context.Context) (_ bool, err error) {
		n, err = c.remaining(ctx, counts)
		return n == 0, err
	})
	if err != nil && !wait.Interrupted(err) {
		c.t.Fatal(err)
	}
	return n
}

// remaining counts Services.
func (c *gceCluster) remaining(ctx context.Context, counts func(v1.Service) bool) (int, error) {
	list, err := c.plane.Client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	return len(slices.DeleteFunc(list.Items, func(svc v1.Service) bool {
		return !isLoadBalancer(svc) || !counts(svc)
	})), nil
}

func isLoadBalancer(svc v1.Service) bool { return svc.Spec.Type == v1.ServiceTypeLoadBalancer }
