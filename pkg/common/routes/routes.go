package routes

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/batch"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/nodes"
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
	// ReplacesBlackholes says that the Source's Create turns a route that has lost its target into
	// the one asked for, so that it need not be deleted before.
	ReplacesBlackholes bool
	// Nodes are the cluster's Nodes. Sources whose routes may be incomplete need them: without them an
	// incomplete route is listed like any other, and is never completed.
	Nodes *nodes.LazyLister
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
	nodes   *nodes.LazyLister
	// replaces is Options.ReplacesBlackholes.
	replaces bool

	// What follows is remembered from one list to the next, within one pass of the framework.
	mu sync.Mutex
	// listed are our routes by name, so that a deletion names the target that was seen.
	listed map[string]Route
	// blackholes are those of them that have lost their target, by destination.
	blackholes map[string]Route
	// created are the targets of the routes created since, by destination.
	created map[string]string
}

var _ cloudprovider.Routes = (*Routes)(nil)

// New returns Routes over source. It makes no call.
func New(o Options, source Source, targets NodeTargets) *Routes {
	if o.MaxBatch <= 0 {
		o.MaxBatch = DefaultMaxBatch
	}
	r := &Routes{source: source, targets: targets, nodes: o.Nodes, replaces: o.ReplacesBlackholes}
	r.remember(nil)
	r.batches = batch.New(batch.Options{
		Provider: o.Provider, Operation: "routes", MaxSize: o.MaxBatch, Timeout: o.CallTimeout,
	}, r.apply)
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
		if route.Incomplete && r.wanted(route) {
			// The framework makes what it doesn't see, and thereby completes it.
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
	r.listed, r.blackholes, r.created = map[string]Route{}, map[string]Route{}, map[string]string{}
	for _, route := range owned {
		r.listed[route.Name] = route
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
	op := operation{cluster: clusterName, create: true, route: Route{
		Name: nameHint, Destination: destination, InstanceID: id, NodeName: node, Owned: true,
	}}
	if err := r.do(ctx, op); err != nil {
		err = fmt.Errorf("route %s to node %s: %w", destination, node, err)
		if cloudapi.Is(err, cloudapi.AlreadyExists, cloudapi.Conflict) {
			return conflictError{err}
		}
		return err
	}
	return nil
}

// conflictError makes the framework try again within the same pass, as it does for conflicts of
// the Kubernetes API: the route in the way is being deleted beside us.
type conflictError struct{ error }

var _ apierrors.APIStatus = conflictError{}

// Status implements apierrors.APIStatus.
func (e conflictError) Status() metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonConflict, Message: e.Error()}
}

// Unwrap returns the cloud's error.
func (e conflictError) Unwrap() error { return e.error }

// DeleteRoute removes the route. One that is already gone is no error, and neither is one whose
// destination has been given to another node meanwhile: that route stays.
func (r *Routes) DeleteRoute(ctx context.Context, clusterName string, route *cloudprovider.Route) error {
	full, err := r.seen(route)
	if err != nil {
		return err
	}
	if err := r.do(ctx, operation{cluster: clusterName, route: full}); err != nil {
		return fmt.Errorf("route %s (%s): %w", full.Destination, full.Name, err)
	}
	return nil
}

// seen returns the route as it was listed.
func (r *Routes) seen(route *cloudprovider.Route) (Route, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if full, ok := r.listed[route.Name]; ok && full.Destination == route.DestinationCIDR {
		return full, nil
	}
	destination, err := canonical(route.DestinationCIDR)
	return Route{
		Name: route.Name, Destination: destination, NodeName: string(route.TargetNode), Blackhole: route.Blackhole, Owned: true,
	}, err
}

func (r *Routes) do(ctx context.Context, op operation) error {
	result, _, err := r.batches.Do(ctx, op)
	if err != nil {
		return err
	}
	return result
}

// canonical returns the CIDR in the form in which destinations are compared.
func canonical(cidr string) (string, error) {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return "", fmt.Errorf("route destination %q is no CIDR: %w", cidr, err)
	}
	return p.Masked().String(), nil
}
