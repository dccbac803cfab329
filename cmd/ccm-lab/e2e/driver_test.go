package e2e

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance"
)

// driver is a live cluster in which the manager may be stopped while the cluster changes: Settle starts it again.
type driver struct {
	*lab.Live
	dryRun bool
}

var _ conformance.Cluster = (*driver)(nil)

// Restart implements conformance.Cluster.
func (d *driver) Restart(ctx context.Context, o conformance.ManagerOptions) error {
	d.dryRun = o.DryRun
	return d.Live.Restart(ctx, o)
}

// Settle implements conformance.Cluster.
func (d *driver) Settle(ctx context.Context) error {
	if d.Manager() == nil {
		if err := d.Start(ctx, conformance.ManagerOptions{}); err != nil {
			return err
		}
	}
	return d.Live.Settle(ctx)
}

// DeleteService implements conformance.Cluster. It deletes the Service that it has read and no later one: the API server
// removes an object that had no finalizer when the deletion read it, even if one is added the moment after
// (registry.Store.Delete). A manager that adds its finalizer in that moment sees the deletion in its watch and cleans
// up; if it is killed before that, no component knows about the load balancer. No manager can prevent that, so that no
// test may provoke it.
func (d *driver) DeleteService(ctx context.Context, namespace, name string) error {
	services := d.Client.CoreV1().Services(namespace)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		svc, err := services.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return services.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &svc.UID, ResourceVersion: &svc.ResourceVersion}})
	})
	return ignoreNotFound(err)
}
