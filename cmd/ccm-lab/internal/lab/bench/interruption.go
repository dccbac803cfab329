package bench

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// measureRestart restarts the manager and counts the calls until every Service is ensured and calls have stopped: the
// cost of existing objects.
func (r *runner) measureRestart(ctx context.Context) (*Calls, error) {
	if err := errors.Join(r.waitUntilQuiet(ctx, quietPeriod), r.stop(ctx)); err != nil {
		return nil, err
	}
	log := r.cluster.Cloud.World.Front().Log()
	log.Reset()
	r.watch.resetEnsured()
	if err := r.cluster.StartManager(ctx); err != nil {
		return nil, err
	}
	err := r.waitFor(ctx, r.servicesEnsured(ctx, r.watch.services()))
	if err == nil {
		err = r.waitUntilQuiet(ctx, quietPeriod)
	}
	mutations := log.MutationCount()
	return &Calls{Reads: log.Len() - mutations, Mutations: mutations}, err
}

// interrupt kills the manager after half of the mutations that the Services need, starts another one, waits until it
// has created them, deletes them, and returns the objects in the cloud that did not exist before.
func (r *runner) interrupt(ctx context.Context, mutations int) (*Interruption, error) {
	ctx, cancel := context.WithTimeout(ctx, r.PhaseTimeout)
	defer cancel()
	listing, ok := r.cluster.Cloud.World.(world.Inventory)
	if !ok {
		return nil, errors.New("the cloud does not list its objects")
	}
	if err := r.joinOne(ctx); err != nil {
		return nil, err
	}
	before, log := listing.Inventory(), r.cluster.Cloud.World.Front().Log()
	log.Reset()
	err := each(ctx, r.Services, func(ctx context.Context, i int) error {
		return lab.CreateService(ctx, r.cluster.Plane.Client, r.service(i))
	})
	if err == nil {
		err = r.waitFor(ctx, goal{
			description: "half of the mutations",
			missing:     func() int { return max(0, mutations/2-log.MutationCount()) },
		})
	}
	if err != nil {
		return nil, err
	}
	r.cluster.Manager().Kill()
	out := &Interruption{Mutations: log.MutationCount()}
	if err := r.cluster.StartManager(ctx); err != nil {
		return nil, err
	}
	if err := r.waitFor(ctx, r.servicesAddressed(r.Services)); err != nil {
		return nil, err
	}
	err = each(ctx, r.Services, func(ctx context.Context, i int) error {
		services := r.cluster.Plane.Client.CoreV1().Services(lab.DemoNamespace)
		return services.Delete(ctx, r.service(i).Name, metav1.DeleteOptions{})
	})
	if err == nil {
		err = r.waitFor(ctx, r.servicesLeft(0))
	}
	if err != nil {
		return out, err
	}
	out.Left, err = lab.Orphans(ctx, listing.Inventory, before, lab.OrphanTimeout)
	return out, err
}

// joinOne adds a node, after the phases before have deleted all: some managers create no load balancer without one.
func (r *runner) joinOne(ctx context.Context) error {
	r.extraNodes++
	if err := r.joinNode(ctx, r.cluster.Cloud, lab.DemoMachine(r.Nodes+r.extraNodes), true); err != nil {
		return err
	}
	return r.waitFor(ctx, r.nodesInitialized(1))
}
