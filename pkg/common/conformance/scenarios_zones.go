package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/compare"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// zoneAttempts is the number of times that a disrupted zone is settled: the controllers retry after up to 17 minutes.
const zoneAttempts = 20

func zoneScenarios() []Scenario {
	return []Scenario{{
		Name: "disrupted zone", Needs: needsInstances, NeedsZones: true, SkipsTime: true,
		Doc: "While the cloud does not answer for one zone, nodes of the other zones join and leave, members of every " +
			"Service follow, and nodes of the zone keep their traffic and their routes, even if the manager restarts.",
		Steps: disruptedZone,
	}}
}

func disruptedZone(ctx context.Context, r *Session) error {
	zones, ok := r.World.(world.ZoneDisrupter)
	if !ok {
		return fmt.Errorf("%T has no zones that can be disrupted", r.World)
	}
	defer func(attempts int) { r.Attempts = attempts }(r.Attempts)
	r.Attempts = max(r.Attempts, zoneAttempts)
	bad, good := zones.Zones()[0], zones.Zones()[1]
	put := func(name string) func() error {
		return func() error {
			if !r.Capabilities.LoadBalancer {
				return nil
			}
			return r.Put(ctx, loadBalancerService(name, 80))
		}
	}
	return steps.Run(
		func() error {
			return r.Join(ctx, Machine{Name: "bad", Zone: bad}, Machine{Name: "good", Zone: good},
				Machine{Name: "leaves", Zone: good})
		},
		put("web"), put("shop"),
		func() error { return r.Converge(ctx) },
		func() error { zones.DisruptZones(bad); return r.Cluster.SetReady(ctx, "bad", false) },
		func() error { return r.Restart(ctx, ManagerOptions{}) },
		func() error {
			return r.Join(ctx, Machine{Name: "late-bad", Zone: bad}, Machine{Name: "late-good", Zone: good})
		},
		func() error { return r.Terminate(ctx, "leaves", true) },
		func() error {
			return r.Settled(ctx, r.servesWithout("leaves", "late-bad"), r.initialized("late-good", true),
				r.initialized("late-bad", false), r.tainted("bad", false))
		},
		func() error { zones.DisruptZones(); return r.Cluster.SetReady(ctx, "bad", true) },
		func() error { return r.Converge(ctx) },
	)
}

// servesWithout checks that only the node of the machine that left is deleted, and that all others have traffic and
// routes, except for one that the cloud has never read.
func (r *Session) servesWithout(left, unread string) Check {
	return func(ctx context.Context) error {
		var errs []error
		var members []string
		for name, m := range r.machines {
			node, err := r.Cluster.Node(ctx, name)
			switch {
			case err != nil:
				errs = append(errs, err)
			case (node == nil) != (name == left) || node != nil && node.UID != m.uid:
				errs = append(errs, fmt.Errorf("node %s exists: %t, or was replaced", name, node != nil))
			case name != left && name != unread:
				members = append(members, name)
			}
		}
		slices.Sort(members)
		for key := range r.services {
			lb, err := r.balancer(ctx, key)
			errs = append(errs, err)
			for _, l := range lb.Listeners {
				if !slices.Equal(compare.Sorted(l.Members), members) {
					errs = append(errs, fmt.Errorf("service %s: members are %v, want %v", key, l.Members, members))
				}
			}
		}
		return errors.Join(append(errs, r.routesTo(members))...)
	}
}

// routesTo checks that machines have their routes.
func (r *Session) routesTo(names []string) error {
	var errs []error
	for _, name := range names {
		for _, cidr := range r.machines[name].cidrs {
			want := Route{Destination: cidr, NodeName: name, Owned: true}
			if r.Capabilities.Routes && !slices.Contains(r.World.Routes(), want) {
				errs = append(errs, fmt.Errorf("there is no route to node %s at %s", name, cidr))
			}
		}
	}
	return errors.Join(errs...)
}

// initialized checks whether a node has lost the uninitialized taint.
func (r *Session) initialized(name string, want bool) Check {
	return func(ctx context.Context) error {
		node, err := r.node(ctx, name)
		if err == nil && hasTaint(node, cloudproviderapi.TaintExternalCloudProvider) == want {
			err = fmt.Errorf("node %s is initialized: %t, want %t", name, !want, want)
		}
		return err
	}
}
