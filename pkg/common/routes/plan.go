package routes

import (
	"context"
	"fmt"
	"net/netip"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/inventory"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Planner plans the changes of the framework's route controller. It makes no mutating call.
type Planner interface {
	// PlanRoutes compares the routes for the nodes' pod CIDRs with those that exist within clusterCIDRs, the
	// manager's --cluster-cidr.
	PlanRoutes(
		ctx context.Context, clusterName string, nodes []*v1.Node, clusterCIDRs []netip.Prefix,
	) (plan.Plan, error)
}

var _ Planner = (*Routes)(nil)

// kindRoute is the kind of routes in plans.
const kindRoute = inventory.KindRoute

// FieldNode is the field of a planned route with its node.
const FieldNode = "node"

// PlanRoutes implements Planner. Applying the plan makes the calls that the framework would make.
func (r *Routes) PlanRoutes(
	ctx context.Context, clusterName string, nodes []*v1.Node, clusterCIDRs []netip.Prefix,
) (plan.Plan, error) {
	index := IndexNodes(nodes)
	owned, foreign, err := r.list(ctx, clusterName, index)
	if err != nil {
		return plan.Plan{}, err
	}
	p := plan.Plan{Subject: "routes of cluster " + clusterName}
	want, warnings := desiredRoutes(index, routedNodes(owned), clusterCIDRs)
	p.Warnings = warnings
	create, remove := diff(index, want, owned, clusterCIDRs)
	foreignByDestination := byDestination(foreign)
	deletions := map[string][]plan.Ref{}
	for _, route := range remove {
		c := r.newDeletion(clusterName, route, len(deletions[route.Destination]) > 0)
		deletions[route.Destination] = append(deletions[route.Destination], c.Ref)
		p.Changes = append(p.Changes, c)
	}
	for _, w := range create {
		if other, ok := foreignByDestination[w.destination]; ok && other.NodeName != w.node.Name {
			p.Warnings = append(p.Warnings, fmt.Sprintf("node %s: %v", w.node.Name, other.foreignError()))
			continue
		}
		p.Changes = append(p.Changes, r.newCreation(clusterName, w, deletions[w.destination]))
	}
	return p, nil
}

// desiredRoute is one pod CIDR of one node.
type desiredRoute struct {
	destination string
	node        *v1.Node
}

// desiredRoutes returns the routes of the nodes that may exist, and warnings about the others.
func desiredRoutes(
	index *NodeIndex, routed map[string]string, clusterCIDRs []netip.Prefix,
) (want []desiredRoute, warnings []string) {
	for _, err := range index.invalid {
		warnings = append(warnings, err.Error())
	}
	for _, c := range index.cidrs {
		destination := c.prefix.String()
		if err := index.checkCIDR(c.node.Name, destination, clusterCIDRs, routed); err != nil {
			warnings = append(warnings, fmt.Sprintf("node %s gets no route: %v", c.node.Name, err))
			continue
		}
		want = append(want, desiredRoute{destination, c.node})
	}
	return want, warnings
}

// diff is pure. It keeps routes with a target to a node with this pod CIDR, and routes outside of the cluster
// CIDRs.
func diff(
	index *NodeIndex, want []desiredRoute, have []Route, clusterCIDRs []netip.Prefix,
) (create []desiredRoute, remove []Route) {
	type key struct{ destination, node string }
	kept := map[key]bool{}
	for _, route := range have {
		switch {
		case index.hasCIDR(route.NodeName, route.Destination) && !route.Blackhole:
			kept[key{route.Destination, route.NodeName}] = !route.Incomplete
		case isWithin(route.Destination, clusterCIDRs):
			remove = append(remove, route)
		}
	}
	for _, w := range want {
		if !kept[key{w.destination, w.node.Name}] {
			create = append(create, w)
		}
	}
	return create, remove
}

// isWithin reports whether the destination starts or ends in one of the cluster CIDRs: the framework manages such
// routes. A default route, which contains all of them, does not match.
func isWithin(destination string, clusterCIDRs []netip.Prefix) bool {
	p, err := netip.ParsePrefix(destination)
	if err != nil {
		return false
	}
	for _, cidr := range clusterCIDRs {
		if cidr.Contains(p.Masked().Addr()) || cidr.Contains(lastAddress(p)) {
			return true
		}
	}
	return false
}

// lastAddress returns the last address of a network.
func lastAddress(p netip.Prefix) netip.Addr {
	bytes := p.Masked().Addr().AsSlice()
	for bit := p.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 1 << (7 - bit%8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// newDeletion returns the change that deletes the route. Further routes with the same destination (in other
// tables) are identified by their name in the cloud.
func (r *Routes) newDeletion(clusterName string, route Route, duplicate bool) plan.Change {
	name := route.Destination
	if duplicate {
		name += " " + route.Name
	}
	reason := "no node has this pod CIDR"
	switch {
	case route.Blackhole:
		reason = "its instance is deleted"
	case route.NodeName != "":
		reason = "node " + route.NodeName + " does not have this pod CIDR"
	}
	return plan.Change{
		Ref:    plan.Ref{Kind: kindRoute, Name: name, Action: plan.Delete},
		ID:     route.Name,
		Fields: []plan.Field{{Name: FieldNode, Before: route.NodeName}, {Name: "instance", Before: route.InstanceID}},
		Reason: reason,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return r.do(ctx, operation{cluster: clusterName, route: route})
		},
	}
}

func (r *Routes) newCreation(clusterName string, w desiredRoute, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: kindRoute, Name: w.destination, Action: plan.Create},
		Fields: []plan.Field{{Name: FieldNode, After: w.node.Name}},
		After:  after,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			return r.CreateRoute(ctx, clusterName, string(w.node.UID), &cloudprovider.Route{
				TargetNode: types.NodeName(w.node.Name), DestinationCIDR: w.destination,
			})
		},
	}
}
