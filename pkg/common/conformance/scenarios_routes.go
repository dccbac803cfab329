package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
)

func routeScenarios() []Scenario {
	return []Scenario{
		{
			Name: "routes added", Needs: needsRoutes,
			Doc: "Every node's pod CIDR gets one route to its machine, on joining and once.",
			Steps: func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.JoinN(ctx, 2) },
					func() error { return r.Converge(ctx) },
					func() error { return r.Join(ctx, Machine{Name: "node-3"}) },
					func() error { return r.Converge(ctx) },
				)
			},
		},
		{
			Name: "routes removed", Needs: needsRoutes,
			Doc: "Deleting a node deletes its route.",
			Steps: func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.JoinN(ctx, 2) },
					func() error { return r.Converge(ctx) },
					func() error { return r.Terminate(ctx, "node-1", true) },
					func() error { return errors.Join(r.Cluster.DeleteNode(ctx, "node-1")) },
					func() error { return r.Converge(ctx) },
				)
			},
		},
		{
			Name: "blackhole", Needs: needsRoutes,
			Doc: "A route to a deleted machine is removed with its node, and the others stay.",
			Steps: func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.JoinN(ctx, 3) },
					func() error { return r.Converge(ctx) },
					func() error { return r.Terminate(ctx, "node-2", false) },
					func() error { return r.seesBlackhole() },
					func() error { return r.Silence(ctx, "node-2") },
					func() error { return r.Converge(ctx) },
				)
			},
		},
		{
			Name: "foreign routes", Needs: needsRoutes,
			Doc: "Foreign routes are never changed, inside the cluster's CIDR or outside of it.",
			Steps: func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.AddForeignRoute("192.168.77.0/24") },
					func() error { return r.AddForeignRoute("10.244.200.0/24") },
					func() error { return r.JoinN(ctx, 2) },
					func() error { return r.Converge(ctx) },
					func() error { return r.Restart(ctx, ManagerOptions{}) },
					func() error { return r.Converge(ctx) },
				)
			},
		},
		{
			Name: "foreign route to a pod CIDR", Needs: needsRoutes,
			Doc: "A foreign route to a node's pod CIDR stays, and the node gets no second one: an Event names the range. " +
				"Other nodes get their routes.",
			Steps: func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.AddForeignRoute("10.244.2.0/24") },
					func() error { return r.JoinN(ctx, 2) },
					func() error { return r.Converge(ctx, r.refusesRoute("node-2", "10.244.2.0/24")) },
					func() error { return r.Restart(ctx, ManagerOptions{}) },
					func() error { return r.Converge(ctx) },
				)
			},
		},
		{
			Name: "addresses of other nodes", Needs: needsRoutes,
			Doc:   "A kubelet that writes the addresses of other nodes into the status of its node changes no route.",
			Steps: addressesOfOthers,
		},
	}
}

func addressesOfOthers(ctx context.Context, r *Session) error {
	claim := func() error {
		var claimed []v1.NodeAddress
		for _, name := range []string{"node-3", "node-1", "node-2"} {
			node, err := r.node(ctx, name)
			if err != nil {
				return err
			}
			for _, address := range node.Status.Addresses {
				if !slices.Contains(claimed, address) { // The API server rejects duplicates.
					claimed = append(claimed, address)
				}
			}
		}
		return r.Cluster.SetAddresses(ctx, "node-3", claimed)
	}
	var unchanged Check
	return steps.Run(
		func() error { return r.JoinN(ctx, 3) },
		func() error { return r.Converge(ctx) },
		func() error { unchanged = r.Unchanged(); return claim() },
		func() error { return r.Converge(ctx, unchanged) },
		claim,
		func() error { return r.Restart(ctx, ManagerOptions{}) },
		func() error { return r.Converge(ctx, unchanged) },
	)
}

// refusesRoute checks that an Event of a node says that there is another route to its pod CIDR.
func (r *Session) refusesRoute(node, destination string) Check {
	return func(ctx context.Context) error {
		events, err := r.Cluster.Events(ctx, "Node", "", node)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(events, func(e string) bool {
			return strings.HasPrefix(e, "FailedToCreateRoute: ") && strings.Contains(e, destination)
		}) {
			return fmt.Errorf("node %s has no Event about the foreign route to %s: %q", node, destination, events)
		}
		return nil
	}
}

// seesBlackhole checks the scenario itself: a world without blackholes would make the test useless.
func (r *Session) seesBlackhole() error {
	for _, route := range r.World.Routes() {
		if route.Blackhole {
			return nil
		}
	}
	return fmt.Errorf("the world shows no blackhole after a machine vanished: %+v", r.World.Routes())
}
