package routes

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/batch"
)

// Options configure New. Only Provider is required.
type Options struct {
	// Provider is the provider's name, as metric label and in messages.
	Provider string
	// MaxBatch is the most routes that one Create or Delete of the Source is given; 0 means
	// DefaultMaxBatch.
	MaxBatch int
	// CallTimeout bounds one bulk call; 0 means batch.DefaultTimeout.
	CallTimeout time.Duration
}

// DefaultMaxBatch is how many calls the framework's route controller makes side by side at most,
// so that a full crowd fits one bulk call.
const DefaultMaxBatch = 200

// NodeNamer finds the nodes behind instances. Targets that implement it let ListRoutes name the
// node of a route whose Source does not know it.
type NodeNamer interface {
	// NodeNames returns the node name of each instance. One that does not exist is absent, and
	// an error means that nothing is known about any.
	NodeNames(ctx context.Context, instanceIDs []string) (map[string]string, error)
}

// Routes implements cloudprovider.Routes over a Source. It is safe for concurrent use.
type Routes struct {
	source  Source
	targets NodeTargets
	batches *batch.Batcher[operation, error]

	mu sync.Mutex
	// blackholes are our routes that had lost their target in the last list, by destination.
	blackholes map[string]Route
	// created are the targets of routes created since the last list, by destination.
	created map[string]string
}

var _ cloudprovider.Routes = (*Routes)(nil)

// operation is one route to be created or deleted; its parts make batches possible.
type operation struct {
	cluster string
	create  bool
	route   Route
}

// New returns Routes over source. It makes no call.
func New(o Options, source Source, targets NodeTargets) *Routes {
	if o.MaxBatch <= 0 {
		o.MaxBatch = DefaultMaxBatch
	}
	r := &Routes{source: source, targets: targets, blackholes: map[string]Route{}, created: map[string]string{}}
	r.batches = batch.New(batch.Options{MaxSize: o.MaxBatch, Timeout: o.CallTimeout}, r.apply)
	return r
}

// ListRoutes returns the routes that are ours. Routes of others are not listed, because the
// framework deletes every listed route inside the cluster's range that it has no node for.
func (r *Routes) ListRoutes(ctx context.Context, clusterName string) ([]*cloudprovider.Route, error) {
	owned, err := r.list(ctx, clusterName)
	if err != nil {
		return nil, err
	}
	r.remember(owned)
	result := make([]*cloudprovider.Route, 0, len(owned))
	for _, route := range owned {
		result = append(result, &cloudprovider.Route{
			Name:            route.Name,
			TargetNode:      types.NodeName(route.NodeName),
			DestinationCIDR: route.Destination,
			Blackhole:       route.Blackhole,
		})
	}
	return result, nil
}

// list reads our routes and names their nodes. A route whose instance does not exist is a
// blackhole, whatever the cloud calls it; one whose instance cannot be read makes the list fail,
// because a route without a node is a route that the framework deletes.
func (r *Routes) list(ctx context.Context, clusterName string) ([]Route, error) {
	all, err := r.source.List(ctx, clusterName)
	if err != nil {
		return nil, err
	}
	var owned []Route
	var unnamed []string
	for _, route := range all {
		if !route.Owned {
			continue
		}
		if !route.Blackhole && route.NodeName == "" && route.InstanceID != "" {
			unnamed = append(unnamed, route.InstanceID)
		}
		owned = append(owned, route)
	}
	namer, ok := r.targets.(NodeNamer)
	if len(unnamed) == 0 || !ok {
		return owned, nil
	}
	names, err := namer.NodeNames(ctx, unnamed)
	if err != nil {
		return nil, fmt.Errorf("naming the nodes behind %d routes: %w", len(unnamed), err)
	}
	for i := range owned {
		route := &owned[i]
		if route.Blackhole || route.NodeName != "" || route.InstanceID == "" {
			continue
		}
		name, exists := names[route.InstanceID]
		route.NodeName, route.Blackhole = name, !exists
	}
	return owned, nil
}

func (r *Routes) remember(owned []Route) {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.blackholes)
	clear(r.created)
	for _, route := range owned {
		if route.Blackhole {
			r.blackholes[route.Destination] = route
		}
	}
}

// CreateRoute makes the route to the instance behind its target node. A route that exists with
// that target is no error. A route to the same destination that has lost its target is replaced;
// one that has a target is left to the framework, which knows whether its node still has the range.
func (r *Routes) CreateRoute(ctx context.Context, clusterName, nameHint string, route *cloudprovider.Route) error {
	destination, err := canonical(route.DestinationCIDR)
	if err != nil {
		return err
	}
	node := string(route.TargetNode)
	id, err := r.targets.InstanceIDForNode(ctx, node)
	if err != nil {
		return fmt.Errorf("route %s: finding the instance of node %s: %w", destination, node, err)
	}
	return r.do(ctx, operation{clusterName, true, Route{
		Name: nameHint, Destination: destination, InstanceID: id, NodeName: node, Owned: true,
	}})
}

// DeleteRoute removes the route. One that is already gone is no error.
func (r *Routes) DeleteRoute(ctx context.Context, clusterName string, route *cloudprovider.Route) error {
	destination, err := canonical(route.DestinationCIDR)
	if err != nil {
		return err
	}
	return r.do(ctx, operation{clusterName, false, Route{
		Name: route.Name, Destination: destination, NodeName: string(route.TargetNode), Blackhole: route.Blackhole, Owned: true,
	}})
}

func (r *Routes) do(ctx context.Context, op operation) error {
	result, _, err := r.batches.Do(ctx, op)
	if err != nil {
		return err
	}
	return result
}

// canonical returns the CIDR in the form in which routes are compared.
func canonical(cidr string) (string, error) {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return "", fmt.Errorf("route destination %q is no CIDR: %w", cidr, err)
	}
	return p.Masked().String(), nil
}
