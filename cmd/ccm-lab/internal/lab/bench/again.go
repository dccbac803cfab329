package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/lab"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// Calls are calls to the cloud.
type Calls struct {
	Reads     int `json:"reads"`
	Mutations int `json:"mutations"`
}

// Interruption is the result of a manager that was killed while it created Services.
type Interruption struct {
	// Mutations is the number of mutations before the kill, of those that all Services need.
	Mutations int `json:"mutations"`
	// Left names the objects in the cloud that are left after another manager has created and deleted the Services.
	Left []string `json:"left,omitempty"`
}

// again restarts the manager and counts the calls until every Service is ensured and calls have stopped: the cost of
// what exists already.
func (r *runner) again(ctx context.Context) (*Calls, error) {
	if err := errors.Join(r.untilQuiet(ctx, quietPeriod), r.stop(ctx)); err != nil {
		return nil, err
	}
	log := r.cluster.Cloud.World.Front().Log()
	log.Reset()
	r.watch.resetEnsured()
	if err := r.cluster.StartManager(ctx); err != nil {
		return nil, err
	}
	services := r.watch.services()
	err := r.until(ctx, goal{
		what:     "the " + ensuredReason + " Events of " + count(services, "Service"),
		missing:  func() int { return max(0, services-r.watch.ensured()) },
		examples: r.watch.unensured,
	})
	if err == nil {
		err = r.untilQuiet(ctx, quietPeriod)
	}
	mutations := log.MutationCount()
	return &Calls{Reads: log.Len() - mutations, Mutations: mutations}, err
}

// interrupt kills the manager after half of the mutations that the Services need, starts another one, waits until it
// has created them, deletes them, and returns the objects in the cloud that did not exist before.
func (r *runner) interrupt(ctx context.Context, mutations int) (*Interruption, error) {
	ctx, cancel := context.WithTimeout(ctx, phaseTimeout)
	defer cancel()
	listing, ok := r.cluster.Cloud.World.(world.Inventory)
	if !ok {
		return nil, errors.New("the cloud does not list its objects")
	}
	before, log := listing.Inventory(), r.cluster.Cloud.World.Front().Log()
	log.Reset()
	err := each(ctx, r.Services, func(ctx context.Context, i int) error {
		return lab.CreateService(ctx, r.cluster.Plane.Client, r.service(i))
	})
	if err == nil {
		err = r.until(ctx, goal{
			what:    "half of the mutations",
			missing: func() int { return max(0, mutations/2-log.MutationCount()) },
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
	if err := r.until(ctx, r.servicesAddressed(r.Services)); err != nil {
		return nil, err
	}
	err = each(ctx, r.Services, func(ctx context.Context, i int) error {
		services := r.cluster.Plane.Client.CoreV1().Services(lab.DemoNamespace)
		return services.Delete(ctx, r.service(i).Name, metav1.DeleteOptions{})
	})
	if err == nil {
		err = r.until(ctx, r.servicesLeft(0))
	}
	out.Left, err = left(ctx, listing, before, err)
	return out, err
}

// leftTimeout is the timeout for objects to disappear after the deletion of their Services.
const leftTimeout = 30 * time.Second

// left waits until the cloud has no objects but those of before, and names the others at the timeout.
func left(ctx context.Context, cloud world.Inventory, before []world.Object, err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	deadline := time.NewTimer(leftTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		var names []string
		for _, o := range world.Missing(cloud.Inventory(), before) {
			names = append(names, fmt.Sprintf("%s %s", o.Kind, cmp.Or(o.Name, o.ID)))
		}
		if len(names) == 0 {
			return nil, nil
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return names, nil
		case <-ctx.Done():
			return names, ctx.Err()
		}
	}
}
