package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/compare"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
)

// Verify checks that cluster and world are in the expected state: every node of a running machine initialised
// and none wrongly deleted, exactly one load balancer for each Service with the right listeners and members,
// exactly one route for each pod CIDR, and no other objects.
func (r *Session) Verify(ctx context.Context) error {
	errs := []error{r.verifyNodes(ctx), r.verifyForeignNodes(ctx)}
	if r.Capabilities.LoadBalancer {
		errs = append(errs, r.verifyBalancers(ctx))
	}
	if r.Capabilities.Routes {
		errs = append(errs, r.verifyRoutes())
	}
	return errors.Join(errs...)
}

func (r *Session) verifyNodes(ctx context.Context) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(r.machines)) {
		m := r.machines[name]
		node, err := r.Cluster.Node(ctx, name)
		switch {
		case err != nil:
			errs = append(errs, err)
		case m.terminated && m.silent:
			if node != nil {
				errs = append(errs, fmt.Errorf("node %s still exists, although its machine is deleted", name))
			}
		case node == nil:
			errs = append(errs, fmt.Errorf("node %s was deleted, although its machine exists", name))
		case node.UID != m.uid:
			errs = append(errs, fmt.Errorf("node %s was replaced", name))
		case hasTaint(node, cloudproviderapi.TaintExternalCloudProvider):
			errs = append(errs, fmt.Errorf("node %s still has the uninitialized taint", name))
		case node.Spec.ProviderID == "":
			errs = append(errs, fmt.Errorf("node %s has no provider ID", name))
		}
	}
	return errors.Join(errs...)
}

// verifyForeignNodes checks that nodes without a machine of this world are unchanged.
func (r *Session) verifyForeignNodes(ctx context.Context) error {
	var errs []error
	for name, registered := range r.foreignNodes {
		node, err := r.Cluster.Node(ctx, name)
		switch {
		case err != nil:
			errs = append(errs, err)
		case node == nil || node.UID != registered.UID:
			errs = append(errs, fmt.Errorf("node %s was deleted, and it is not this cloud's", name))
		case node.Spec.ProviderID != registered.Spec.ProviderID:
			errs = append(errs, fmt.Errorf("node %s was given provider ID %q, and it is not this cloud's", name,
				node.Spec.ProviderID))
		case !reflect.DeepEqual(cloudTaints(node), cloudTaints(registered)):
			errs = append(errs, fmt.Errorf("the taints of node %s were changed to %v, and it is not this cloud's", name,
				cloudTaints(node)))
		}
	}
	return errors.Join(errs...)
}

// cloudTaints are the taints that a cloud controller manager sets or removes; others belong to controllers
// that may run with the driver.
func cloudTaints(node *v1.Node) []string {
	var out []string
	for _, key := range []string{cloudproviderapi.TaintExternalCloudProvider, cloudproviderapi.TaintNodeShutdown} {
		if hasTaint(node, key) {
			out = append(out, key)
		}
	}
	return out
}

func (r *Session) verifyBalancers(ctx context.Context) error {
	members, err := r.Members(ctx)
	if err != nil {
		return err
	}
	var errs []error
	wanted := 0
	for _, key := range slices.SortedFunc(maps.Keys(r.services), compareKeys) {
		if !loadbalancer.WantsLoadBalancer(r.services[key]) {
			continue
		}
		wanted++
		lb, err := r.balancer(ctx, key)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		svc, err := r.service(ctx, key)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, steps.Wrap("service "+key.String(), compare.Balancer(svc, members, lb, r.World)))
	}
	if have := r.World.LoadBalancers(); len(have) != wanted {
		errs = append(errs, fmt.Errorf("the world has %d load balancers, want %d: %s", len(have), wanted,
			compare.Describe(have)))
	}
	return errors.Join(errs...)
}

// Members returns the names of the nodes that must receive traffic.
func (r *Session) Members(ctx context.Context) ([]string, error) {
	var list []*v1.Node
	for name := range r.machines {
		node, err := r.Cluster.Node(ctx, name)
		if err != nil {
			return nil, err
		}
		if node != nil {
			list = append(list, node)
		}
	}
	var out []string
	for _, node := range nodes.TrafficNodes(list) {
		out = append(out, node.Name)
	}
	slices.Sort(out)
	return out, nil
}

func (r *Session) verifyRoutes() error {
	var errs []error
	have := map[string][]Route{}
	for _, route := range r.World.Routes() {
		have[route.Destination] = append(have[route.Destination], route)
	}
	for name, m := range r.machines {
		if m.terminated {
			continue
		}
		for _, cidr := range m.cidrs {
			if slices.Contains(r.foreign, cidr) {
				continue // the route of its node would share its traffic
			}
			routes := have[cidr]
			delete(have, cidr)
			want := Route{Destination: cidr, NodeName: name, Owned: true}
			if len(routes) != 1 || routes[0] != want {
				errs = append(errs, fmt.Errorf("routes to %s are %+v, want %+v", cidr, routes, want))
			}
		}
	}
	for _, destination := range r.foreign {
		routes := have[destination]
		delete(have, destination)
		if len(routes) != 1 || routes[0].Owned {
			errs = append(errs, fmt.Errorf("foreign route to %s was changed: %+v", destination, routes))
		}
	}
	for destination, routes := range have {
		if !r.mayOutliveMachine(destination) {
			errs = append(errs, fmt.Errorf("routes to %s should not exist: %+v", destination, routes))
		}
	}
	return errors.Join(errs...)
}

// mayOutliveMachine reports whether a route belongs to a deleted machine with a node that still reports: the
// framework deletes and creates such routes until the node is deleted too.
func (r *Session) mayOutliveMachine(destination string) bool {
	for _, m := range r.machines {
		if m.terminated && !m.silent && slices.Contains(m.cidrs, destination) {
			return true
		}
	}
	return false
}

// endState is the part of the final state that must not depend on interruptions. It omits addresses and IDs,
// which the cloud chooses.
type endState struct {
	LoadBalancers []LoadBalancer
	Routes        []Route
	Objects       map[string]int
}

func (r *Session) endState() endState {
	state := endState{LoadBalancers: r.World.LoadBalancers(), Routes: r.World.Routes(),
		Objects: compare.NonZero(r.World.Objects())}
	for i := range state.LoadBalancers {
		lb := &state.LoadBalancers[i]
		lb.Addresses = make([]string, len(lb.Addresses))
	}
	return state
}

// Converge settles, verifies the world and checks.
func (r *Session) Converge(ctx context.Context, checks ...Check) error {
	return r.Settled(ctx, append([]Check{r.Verify}, checks...)...)
}

// Clear deletes everything that the scenario created, and verifies that the world is in its initial state.
func (r *Session) Clear(ctx context.Context) error {
	if r.dryRun {
		if err := r.Restart(ctx, ManagerOptions{}); err != nil {
			return err
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(r.services), compareKeys) {
		if err := r.Delete(ctx, key.Name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.machines)) {
		if err := r.clearMachine(ctx, name); err != nil {
			return err
		}
	}
	for name := range r.foreignNodes {
		delete(r.foreignNodes, name)
		if err := r.Cluster.DeleteNode(ctx, name); err != nil {
			return err
		}
	}
	return r.Converge(ctx, func(context.Context) error { return compare.Counts(r.baseline, r.World.Objects()) })
}

func (r *Session) clearMachine(ctx context.Context, name string) error {
	m := r.machines[name]
	if !m.terminated {
		return r.Terminate(ctx, name, true)
	}
	return r.Silence(ctx, name)
}
