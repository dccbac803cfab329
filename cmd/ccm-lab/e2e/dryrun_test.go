package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
)

// TestDryRun: a manager with --dry-run on a cluster where everything is still to be done says what
// it would do, and does none of it, neither in the cloud nor in the cluster.
func TestDryRun(t *testing.T) {
	t.Parallel()
	c := newCluster(t, setup{noRoutes: true, flags: []string{"--leader-elect=true"}})
	names := []string{"web", "api"}
	c.must(c.session.JoinN(t.Context(), 2))
	for _, name := range names {
		c.must(c.session.Put(t.Context(), service(name, 443)))
	}
	objects := c.world.Objects()
	c.must(c.live.Start(t.Context(), conformance.ManagerOptions{DryRun: true}))
	for _, name := range names {
		c.eventually("the plan of Service "+name, func(ctx context.Context) error {
			said, err := c.live.Events(ctx, "Service", namespace, name)
			if !slices.ContainsFunc(said, func(event string) bool {
				return strings.HasPrefix(event, "DryRunPlan: ") && strings.Contains(event, "load balancer")
			}) {
				err = errors.Join(err, fmt.Errorf("no Event DryRunPlan about a load balancer: %q", said))
			}
			return err
		})
	}
	c.unchangedFor(calm, func(ctx context.Context) error {
		errs := []error{c.untouchedNodes(ctx, "node-1", "node-2"), c.untouchedServices(ctx, names...)}
		if mutations := c.world.Front().Log().Mutations(); len(mutations) > 0 {
			errs = append(errs, fmt.Errorf("mutating calls: %s", tally(mutations)))
		}
		if now := c.world.Objects(); !maps.Equal(objects, now) {
			errs = append(errs, fmt.Errorf("the cloud has changed from %v to %v", objects, now))
		}
		return errors.Join(errs...)
	})
	leases, err := c.leases(t.Context())
	if want := []string{leaseName + "-dry-run"}; err != nil || !slices.Equal(leases, want) {
		t.Errorf("leases are %q (%v), want %q: a dry run must not keep the real manager from working", leases, err, want)
	}
	// The real manager does what the dry run has said.
	c.must(c.live.Restart(t.Context(), conformance.ManagerOptions{}))
	c.converge()
}

func (c *cluster) untouchedNodes(ctx context.Context, names ...string) error {
	var errs []error
	for _, name := range names {
		node, err := c.live.Node(ctx, name)
		if err != nil || node == nil {
			return fmt.Errorf("node %s is deleted: %w", name, errors.Join(err))
		}
		tainted := slices.ContainsFunc(node.Spec.Taints, func(t v1.Taint) bool { return t.Key == cloudproviderapi.TaintExternalCloudProvider })
		if !tainted || node.Spec.ProviderID != "" || node.Labels[v1.LabelTopologyZone] != "" {
			errs = append(errs, fmt.Errorf("node %s was changed: taints %v, provider ID %q, labels %v", name, node.Spec.Taints, node.Spec.ProviderID, node.Labels))
		}
	}
	return errors.Join(errs...)
}

func (c *cluster) untouchedServices(ctx context.Context, names ...string) error {
	var errs []error
	for _, name := range names {
		svc, err := c.live.Service(ctx, namespace, name)
		if err != nil || svc == nil {
			return fmt.Errorf("service %s is deleted: %w", name, errors.Join(err))
		}
		if len(svc.Finalizers) > 0 || len(svc.Status.LoadBalancer.Ingress) > 0 {
			errs = append(errs, fmt.Errorf("service %s was changed: finalizers %v, status %v", name, svc.Finalizers, svc.Status.LoadBalancer))
		}
	}
	return errors.Join(errs...)
}
