package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// ClusterCIDR is the --cluster-cidr under which every driver runs the manager. Routes outside of
// it are none of the route controller's business.
const ClusterCIDR = "10.244.0.0/16"

// syncRoutes is one reconciliation of the route controller.
func (d *direct) syncRoutes(ctx context.Context, m *manager) error {
	routes, ok := m.cloud.Routes()
	if !ok {
		return nil
	}
	have, err := routes.ListRoutes(ctx, ClusterName)
	if err != nil {
		return fmt.Errorf("error listing routes: %w", err)
	}
	nodes, err := d.store.nodes(ctx)
	if err != nil {
		return err
	}
	surplus, missing := routeDiff(have, nodes)
	deleteErr := sideBySide(surplus, func(r *cloudprovider.Route) error {
		return routes.DeleteRoute(ctx, ClusterName, r)
	})
	created := make([]error, len(missing))
	createErr := sideBySide(indexes(missing), func(i int) error {
		created[i] = routes.CreateRoute(ctx, ClusterName, string(missing[i].node.UID), missing[i].route)
		return created[i]
	})
	if m.life.Err() != nil {
		return m.life.Err()
	}
	failed := map[string]bool{}
	for i, err := range created {
		failed[missing[i].node.Name] = failed[missing[i].node.Name] || err != nil
	}
	return errors.Join(deleteErr, createErr, d.reportNetwork(ctx, nodes, failed))
}

type missingRoute struct {
	node  *v1.Node
	route *cloudprovider.Route
}

// routeDiff compares the cloud's routes with the nodes' pod CIDRs, by the framework's rules.
func routeDiff(have []*cloudprovider.Route, nodes []*v1.Node) (surplus []*cloudprovider.Route, missing []missingRoute) {
	type key struct{ node, cidr string }
	want, present := map[key]bool{}, map[key]bool{}
	for _, node := range nodes {
		for _, cidr := range node.Spec.PodCIDRs {
			want[key{node.Name, cidr}] = true
		}
	}
	for _, r := range have {
		k := key{string(r.TargetNode), r.DestinationCIDR}
		// A blackhole counts as present: it is deleted now and created again by the next round.
		present[k] = true
		if inCluster(r.DestinationCIDR) && (r.Blackhole || !want[k]) {
			surplus = append(surplus, r)
		}
	}
	for _, node := range nodes {
		for _, cidr := range node.Spec.PodCIDRs {
			if !present[key{node.Name, cidr}] {
				missing = append(missing, missingRoute{node, &cloudprovider.Route{
					TargetNode: types.NodeName(node.Name), TargetNodeAddresses: node.Status.Addresses, DestinationCIDR: cidr,
				}})
			}
		}
	}
	return surplus, missing
}

// reportNetwork sets the NetworkUnavailable condition of every node with pod CIDRs.
func (d *direct) reportNetwork(ctx context.Context, nodes []*v1.Node, failed map[string]bool) error {
	var errs []error
	for _, node := range nodes {
		if len(node.Spec.PodCIDRs) == 0 {
			continue
		}
		current, err := d.store.node(ctx, node.Name)
		if err != nil || current == nil {
			errs = append(errs, err)
			continue
		}
		status, reason := v1.ConditionFalse, "RouteCreated"
		if failed[node.Name] {
			status, reason = v1.ConditionTrue, "NoRouteCreated"
		}
		if setCondition(current, v1.NodeNetworkUnavailable, status, reason) {
			errs = append(errs, d.store.updateNode(ctx, current))
		}
	}
	return errors.Join(errs...)
}

func inCluster(cidr string) bool {
	prefix, err := netip.ParsePrefix(cidr)
	return err == nil && netip.MustParsePrefix(ClusterCIDR).Overlaps(prefix)
}

func indexes[T any](items []T) []int {
	return slices.Collect(func(yield func(int) bool) {
		for i := range items {
			if !yield(i) {
				return
			}
		}
	})
}
