package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

func nodeScenarios() []Scenario {
	return []Scenario{
		{
			Name: "node initialization", Needs: needsInstances,
			Doc: "A joining node gets its own provider ID and loses the uninitialized taint.",
			Steps: func(ctx context.Context, r *Session) error {
				if err := r.JoinN(ctx, 3); err != nil {
					return err
				}
				return r.Converge(ctx, r.distinctProviderIDs)
			},
		},
		{
			Name: "node addresses", Needs: needsInstances,
			Doc: "A node lists internal addresses before external ones, without duplicates, keeps its host name, " +
				"and keeps the order over a restart.",
			Steps: nodeAddresses,
		},
		{
			Name: "node labels", Needs: needsInstances,
			Doc: "A node is labelled with the type, zone and region of its machine.",
			Steps: func(ctx context.Context, r *Session) error {
				if err := r.JoinN(ctx, 2); err != nil {
					return err
				}
				return r.Converge(ctx, r.verifyLabels)
			},
		},
		{
			Name: "shutdown taint", Needs: needsInstances,
			Doc: "A machine that is powered off keeps its node, which has the shutdown taint until it is ready again.",
			Steps: func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.JoinN(ctx, 2) },
					func() error { return r.Converge(ctx) },
					func() error { return r.World.Stop("node-1") },
					func() error { return r.Silence(ctx, "node-1") },
					func() error { return r.Converge(ctx, r.tainted("node-1", true), r.tainted("node-2", false)) },
					func() error { return r.Cluster.SetReady(ctx, "node-1", true) },
					func() error { return r.Converge(ctx, r.tainted("node-1", false)) },
				)
			},
		},
		{
			Name: "vanished instance", Needs: needsInstances,
			Doc: "The node of a machine that was terminated is deleted once it stops reporting; no other node is.",
			Steps: func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.JoinN(ctx, 3) },
					func() error { return r.Converge(ctx) },
					func() error { return r.Terminate(ctx, "node-2", true) },
					func() error { return r.Converge(ctx) },
				)
			},
		},
		{
			Name: "silent node", Needs: needsInstances,
			Doc: "The node of a running machine that stops reporting is neither deleted nor tainted.",
			Steps: func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.JoinN(ctx, 2) },
					func() error { return r.Converge(ctx) },
					func() error { return r.Silence(ctx, "node-1") },
					func() error { return r.Converge(ctx, r.tainted("node-1", false)) },
				)
			},
		},
		{
			Name: "foreign node", Needs: needsInstances,
			Doc:   "A node with another cloud's provider ID is never deleted, tainted, routed to or made a member.",
			Steps: foreignNode,
		},
		{
			Name: "unknown node", Needs: needsInstances,
			Doc: "A node without a provider ID and without a machine in this cloud is not changed while it reports.",
			Steps: func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.JoinN(ctx, 1) },
					func() error { return r.AddForeignNode(ctx, "unheard-of", "") },
					func() error { return r.Converge(ctx) },
				)
			},
		},
		{
			Name: "failing cloud", Needs: needsInstances, OwnFaults: true,
			Doc: "While every call to the cloud fails, no node is deleted or tainted, however long nodes have been silent.",
			Steps: func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.JoinN(ctx, 2) },
					func() error { return r.Converge(ctx) },
					func() error {
						r.World.Front().SetFaults(sim.Fault{Kind: sim.FaultError, Rate: 1})
						return errors.Join(r.Silence(ctx, "node-1"), r.Silence(ctx, "node-2"))
					},
					func() error { return r.Converge(ctx, r.tainted("node-1", false), r.tainted("node-2", false)) },
					func() error { r.World.Front().SetFaults(); return nil },
				)
			},
		},
	}
}

func nodeAddresses(ctx context.Context, r *Session) error {
	var first []v1.NodeAddress
	same := func(ctx context.Context) error {
		node, err := r.node(ctx, "node-1")
		if err != nil {
			return err
		}
		if !slices.Equal(first, node.Status.Addresses) {
			return fmt.Errorf("the addresses of node node-1 went from %v to %v", first, node.Status.Addresses)
		}
		return nil
	}
	return steps.Run(
		func() error { return r.JoinN(ctx, 1) },
		func() error { return r.Converge(ctx, r.orderedAddresses("node-1")) },
		func() error {
			node, err := r.Cluster.Node(ctx, "node-1")
			if err == nil && node != nil {
				first = slices.Clone(node.Status.Addresses)
			}
			return err
		},
		func() error { return r.Converge(ctx, same) },
		func() error { return r.Restart(ctx, ManagerOptions{}) },
		func() error { return r.Converge(ctx, same) },
	)
}

func foreignNode(ctx context.Context, r *Session) error {
	return steps.Run(
		func() error { return r.JoinN(ctx, 2) },
		func() error { return r.AddForeignNode(ctx, "node-foreign", "elsewhere:///zone/i-0123456789") },
		func() error {
			if !r.Capabilities.LoadBalancer {
				return nil
			}
			return r.Put(ctx, loadBalancerService("web", 80))
		},
		func() error { return r.Converge(ctx) },
		func() error { return r.Silence(ctx, "node-foreign") },
		func() error { return r.Converge(ctx) },
	)
}

func (r *Session) distinctProviderIDs(ctx context.Context) error {
	owner := map[string]string{}
	for name := range r.machines {
		node, err := r.node(ctx, name)
		if err != nil {
			return err
		}
		if first, duplicate := owner[node.Spec.ProviderID]; duplicate {
			return fmt.Errorf("nodes %s and %s share provider ID %s", name, first, node.Spec.ProviderID)
		}
		owner[node.Spec.ProviderID] = name
	}
	return nil
}

func (r *Session) orderedAddresses(name string) Check {
	return func(ctx context.Context) error {
		node, err := r.node(ctx, name)
		if err != nil {
			return err
		}
		addresses := node.Status.Addresses
		seen := map[v1.NodeAddress]bool{}
		external := false
		for _, a := range addresses {
			if seen[a] {
				return fmt.Errorf("node %s lists %s %s twice", name, a.Type, a.Address)
			}
			seen[a] = true
			external = external || a.Type == v1.NodeExternalIP
			if a.Type == v1.NodeInternalIP && external {
				return fmt.Errorf("node %s lists an internal address after an external one: %v", name, addresses)
			}
		}
		first := []v1.NodeAddressType{v1.NodeInternalIP}
		if _, ok := r.World.(world.HostNameFirst); ok {
			first = []v1.NodeAddressType{v1.NodeHostName, v1.NodeInternalIP}
		}
		for i, kind := range first {
			if len(addresses) <= i || addresses[i].Type != kind {
				return fmt.Errorf("the addresses of node %s do not start with %v: %v", name, first, addresses)
			}
		}
		if !slices.ContainsFunc(addresses, func(a v1.NodeAddress) bool { return a.Type == v1.NodeHostName }) {
			return fmt.Errorf("node %s lost its host name: %v", name, addresses)
		}
		return nil
	}
}

func (r *Session) verifyLabels(ctx context.Context) error {
	var errs []error
	for name := range r.machines {
		node, err := r.node(ctx, name)
		if err != nil {
			return err
		}
		m, err := r.World.Machine(name)
		if err != nil {
			return err
		}
		for label, want := range map[string]string{
			v1.LabelInstanceTypeStable: m.Type, v1.LabelInstanceType: m.Type,
			v1.LabelTopologyZone: m.Zone, v1.LabelFailureDomainBetaZone: m.Zone,
			v1.LabelTopologyRegion: m.Region, v1.LabelFailureDomainBetaRegion: m.Region,
		} {
			if have := node.Labels[label]; have != want || want == "" {
				errs = append(errs, fmt.Errorf("node %s: label %s is %q, the machine says %q", name, label, have, want))
			}
		}
	}
	return errors.Join(errs...)
}
