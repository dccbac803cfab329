package routes

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/batch"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
)

// Options configure New. Only Provider is required.
type Options struct {
	// Provider is the provider's name, as metric label and in messages.
	Provider string
	// MaxBatch limits the routes of one Create or Delete of the Source; 0 means DefaultMaxBatch.
	MaxBatch int
	// CallTimeout bounds one bulk call; 0 means batch.DefaultTimeout.
	CallTimeout time.Duration
	// Window delays a bulk call to collect the routes of all nodes, which the framework creates at the same time.
	Window time.Duration
	// Clock is for Window; the real clock when nil.
	Clock clock.Clock
	// ReplacesBlackholes is set if the Source's Create replaces a blackhole, so that it need not be deleted
	// before.
	ReplacesBlackholes bool
	// RejectsForeign is set if the Source's Create rejects the destination of a foreign route itself, with a message that
	// names more than the list does.
	RejectsForeign bool
	// Nodes are the cluster's Nodes. Without them, which is for tests, a route belongs to the first node of its
	// instance, no pod CIDR is rejected, and an incomplete route is never completed.
	Nodes *nodes.LazyLister
}

// DefaultMaxBatch is the number of concurrent calls of the framework's route controller, so that all fit into
// one bulk call.
const DefaultMaxBatch = 200

// Routes implements cloudprovider.Routes over a Source. It is safe for concurrent use.
type Routes struct {
	options Options
	source  Source
	targets NodeTargets
	batches *batch.Batcher[operation, error]

	// mu guards the fields below, which hold from one list to the next.
	mu sync.Mutex
	// listed are the owned routes by name, so that a deletion has the target that was listed.
	listed map[string]Route
	// blackholes are the owned routes without a target, by destination.
	blackholes map[string]Route
	// foreign are the routes of others, by destination.
	foreign map[string]Route
	// created are the targets of routes created since the list, by destination.
	created map[string]string
	// routed are the nodes of the owned routes by destination, with those created since the list.
	routed map[string]string
	// clusterCIDRs are the ranges of all routes; none if they are not known.
	clusterCIDRs []netip.Prefix
}

// operation is the creation or deletion of a route. It is comparable because it is the key of a batch.
type operation struct {
	cluster string
	create  bool
	route   Route
}

var _ cloudprovider.Routes = (*Routes)(nil)

// LimitTo makes CreateRoute reject destinations outside of the cluster CIDRs. Existing routes stay: the framework does
// not delete them either.
func (r *Routes) LimitTo(clusterCIDRs []netip.Prefix) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clusterCIDRs = clusterCIDRs
}

// index returns an index of the cluster's Nodes, empty without Options.Nodes.
func (r *Routes) index() (*NodeIndex, error) {
	lister := r.options.Nodes.Lister()
	if lister == nil {
		return IndexNodes(nil), nil
	}
	all, err := lister.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	return IndexNodes(all), nil
}

// ListRoutes returns the owned routes. It omits foreign routes, because the framework deletes every listed
// route inside the cluster CIDRs that has no node.
func (r *Routes) ListRoutes(ctx context.Context, clusterName string) ([]*cloudprovider.Route, error) {
	index, err := r.index()
	if err != nil {
		return nil, err
	}
	owned, foreign, err := r.list(ctx, clusterName, index)
	if err != nil {
		return nil, err
	}
	r.setListed(owned, foreign)
	result := make([]*cloudprovider.Route, 0, len(owned))
	for _, route := range owned {
		if route.Incomplete && r.completes(index, route) {
			// The framework creates routes that are not listed, and thereby completes it.
			continue
		}
		result = append(result, &cloudprovider.Route{
			Name:            route.Name,
			TargetNode:      types.NodeName(route.NodeName),
			DestinationCIDR: route.Destination,
			Blackhole:       route.Blackhole,
		})
	}
	return result, nil
}

// list returns the owned routes with their nodes, and the foreign ones. The node of a route is the one with its
// destination as a pod CIDR, if the route leads to the instance of that node. A route to an instance that does not
// exist is a blackhole, even if the cloud does not report it as one. An instance that cannot be read and has no Node
// fails the list, because the framework deletes routes without a node.
func (r *Routes) list(
	ctx context.Context, clusterName string, index *NodeIndex,
) (owned, foreign []Route, err error) {
	all, err := r.source.List(ctx, clusterName)
	if err != nil {
		return nil, nil, err
	}
	var unnamed []string
	for _, route := range all {
		if !route.Owned {
			foreign = append(foreign, route)
			continue
		}
		if !route.Blackhole && route.NodeName == "" && route.InstanceID != "" {
			unnamed = append(unnamed, route.InstanceID)
		}
		owned = append(owned, route)
	}
	if len(unnamed) == 0 {
		return owned, foreign, nil
	}
	names, err := r.targets.NodeNames(ctx, unnamed)
	if err != nil {
		return nil, nil, fmt.Errorf("get the nodes of %d routes: %w", len(unnamed), err)
	}
	for i := range owned {
		route := &owned[i]
		if route.Blackhole || route.NodeName != "" || route.InstanceID == "" {
			continue
		}
		candidates, exists := names[route.InstanceID]
		route.NodeName, route.Blackhole = index.choose(candidates, route.Destination), !exists
	}
	return owned, foreign, nil
}

// completes reports whether CreateRoute would complete the route for its node.
func (r *Routes) completes(index *NodeIndex, route Route) bool {
	return index.hasCIDR(route.NodeName, route.Destination) && r.checkCIDR(index, route) == nil
}

// checkCIDR returns an error if the route must not be created.
func (r *Routes) checkCIDR(index *NodeIndex, route Route) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return index.checkCIDR(route.NodeName, route.Destination, r.clusterCIDRs, r.routed)
}

// routedNodes returns the nodes of routes by destination.
func routedNodes(owned []Route) map[string]string {
	routed := make(map[string]string, len(owned))
	for _, route := range owned {
		if route.NodeName != "" && !route.Blackhole {
			routed[route.Destination] = route.NodeName
		}
	}
	return routed
}

// setListed replaces the state of the last list.
func (r *Routes) setListed(owned, foreign []Route) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed, r.blackholes, r.created = map[string]Route{}, map[string]Route{}, map[string]string{}
	r.foreign, r.routed = byDestination(foreign), routedNodes(owned)
	for _, route := range owned {
		r.listed[route.Name] = route
		if route.Blackhole {
			r.blackholes[route.Destination] = route
		}
	}
}

// listedRoute returns the route as it was listed.
func (r *Routes) listedRoute(route *cloudprovider.Route) (Route, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if listed, ok := r.listed[route.Name]; ok && listed.Destination == route.DestinationCIDR {
		return listed, nil
	}
	destination, err := canonicalCIDR(route.DestinationCIDR)
	return Route{
		Name: route.Name, Destination: destination, NodeName: string(route.TargetNode),
		Blackhole: route.Blackhole, Owned: true,
	}, err
}

// byDestination indexes routes.
func byDestination(routes []Route) map[string]Route {
	index := make(map[string]Route, len(routes))
	for _, route := range routes {
		index[route.Destination] = route
	}
	return index
}
