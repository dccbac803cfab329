package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
)

// realServices reports whether the cloud consists of real services, which have fixed latencies.
func (r *runner) realServices() bool { return r.ServicesAt != "" }

// stopReporting makes some nodes stop reporting while their machines run. The controllers then look up their
// instances repeatedly.
func (r *runner) stopReporting(ctx context.Context) error {
	return errors.Join(r.waitUntilQuiet(ctx, quietPeriod), each(ctx, min(lab.SilentNodes, r.Nodes),
		func(ctx context.Context, i int) error {
			return lab.SetReady(ctx, r.cluster.Plane.Client, lab.DemoMachine(i).Name, false)
		}))
}

// resumeReporting makes these nodes report again.
func (r *runner) resumeReporting(ctx context.Context) error {
	if _, ok := r.budgets[lab.PhaseSilent]; !ok || r.realServices() {
		return nil
	}
	return each(ctx, min(lab.SilentNodes, r.Nodes), func(ctx context.Context, i int) error {
		return lab.SetReady(ctx, r.cluster.Plane.Client, lab.DemoMachine(i).Name, true)
	})
}

// slowDown increases the provisioning time of new load balancers, and removes the Services of the previous
// phase.
func (r *runner) slowDown(ctx context.Context) error {
	err := r.deleteExtra(ctx)
	setProvisionTimes(r.cluster.Cloud, lab.SlowSettle, lab.QuickSettle)
	return errors.Join(err, r.waitUntilQuiet(ctx, quietPeriod))
}

// create creates Services concurrently, in addition to the existing ones.
func (r *runner) create(n int) func(context.Context) (time.Duration, error) {
	return func(ctx context.Context) (time.Duration, error) {
		started, before := time.Now(), r.watch.services()
		err := each(ctx, n, func(ctx context.Context, i int) error {
			return lab.CreateService(ctx, r.cluster.Plane.Client, r.service(r.Services+i))
		})
		r.extraServices = n
		if err == nil {
			err = r.waitFor(ctx, r.servicesAddressed(before+n))
		}
		took := time.Since(started)
		// Calls that follow belong to the Services too.
		return took, errors.Join(err, r.waitUntilQuiet(ctx, quietPeriod))
	}
}

// deleteExtra deletes the Services that create has created.
func (r *runner) deleteExtra(ctx context.Context) error {
	remaining := r.watch.services() - r.extraServices
	err := each(ctx, r.extraServices, func(ctx context.Context, i int) error {
		services := r.cluster.Plane.Client.CoreV1().Services(lab.DemoNamespace)
		return services.Delete(ctx, r.service(r.Services+i).Name, metav1.DeleteOptions{})
	})
	r.extraServices = 0
	if err != nil {
		return err
	}
	return r.waitFor(ctx, r.servicesLeft(remaining))
}

// createFew creates some Services before the first ones, and sets the duration of a change of members.
func (r *runner) createFew(ctx context.Context) error {
	if err := r.restart(ctx); err != nil {
		return err
	}
	setProvisionTimes(r.cluster.Cloud, lab.QuickSettle, lab.MemberSettle)
	_, err := r.create(lab.FewServices)(ctx)
	return err
}

// addNodeToFew is addNode, and waits until all changes have settled, which is not part of its time.
func (r *runner) addNodeToFew(ctx context.Context) (time.Duration, error) {
	started := time.Now()
	_, err := r.addNode(ctx)
	took := r.lastCall(started)
	return took, errors.Join(err, r.waitUntilQuiet(ctx, quietPeriod))
}

// prepareServices deletes the Services and restarts the manager.
func (r *runner) prepareServices(ctx context.Context) error {
	if r.extraServices > 0 {
		setProvisionTimes(r.cluster.Cloud, lab.QuickSettle, lab.QuickSettle)
		if err := r.deleteExtra(ctx); err != nil {
			return err
		}
	}
	return r.restart(ctx)
}

func (r *runner) restart(ctx context.Context) error {
	if err := r.resumeReporting(ctx); err != nil {
		return err
	}
	r.cluster.StopManager(ctx)
	if err := r.cluster.StartManager(ctx); err != nil {
		return err
	}
	return r.waitUntilQuiet(ctx, quietPeriod)
}

// prepareNode makes changes of members take as long as they do when a node joins.
func (r *runner) prepareNode(ctx context.Context) error {
	err := r.deleteExtra(ctx)
	if _, ok := r.budgets[lab.PhaseCreateSlow]; ok {
		setProvisionTimes(r.cluster.Cloud, lab.QuickSettle, lab.MemberSettle)
	}
	return errors.Join(err, r.waitUntilQuiet(ctx, quietPeriod))
}

// stopQuick stops the manager, and resets the provisioning time of load balancers.
func (r *runner) stopQuick(ctx context.Context) error {
	if _, ok := r.budgets[lab.PhaseCreateSlow]; ok {
		setProvisionTimes(r.cluster.Cloud, lab.QuickSettle, lab.QuickSettle)
	}
	return r.stop(ctx)
}

// routedMachine returns a machine that joins for its route. The machines of the deleted nodes still run.
func routedMachine(i int) string { return fmt.Sprintf("node-routed-%d", i) }

// restartForRoutes starts a manager with the route controller on a cluster of nodes without routes, and waits until it
// has read them.
func (r *runner) restartForRoutes(ctx context.Context) error {
	r.cluster.StopManager(ctx)
	if err := r.cluster.StartManager(ctx); err != nil {
		return err
	}
	err := each(ctx, lab.RoutedNodes, func(ctx context.Context, i int) error {
		m := lab.DemoMachine(i)
		m.Name = routedMachine(i)
		return lab.JoinNode(ctx, r.cluster.Plane.Client, r.cluster.Cloud.World, m)
	})
	if err == nil {
		err = r.waitFor(ctx, r.nodesInitialized(lab.RoutedNodes))
	}
	r.cluster.StopManager(ctx)
	return err
}

// makeRoutes starts the manager, which then creates all missing routes.
func (r *runner) makeRoutes(ctx context.Context) (time.Duration, error) {
	if err := r.cluster.StartManager(ctx, "--configure-cloud-routes=true", "--cluster-cidr="+lab.PodRange); err != nil {
		return 0, err
	}
	err := r.waitFor(ctx, r.routesCreated(lab.RoutedNodes))
	return 0, errors.Join(err, r.waitUntilQuiet(ctx, quietPeriod))
}
