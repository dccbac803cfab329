package loadbalancer

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// Chooser is implemented by a Cloud on which other controllers make load balancers too.
type Chooser interface {
	// Elsewhere says that the Service's load balancer is made by another controller. Ensure and
	// Update then return cloudprovider.ImplementedElsewhere and change nothing. What is left from
	// a time when the Service was ours is still reported by GetLoadBalancer and removed by
	// EnsureDeleted, since nobody else would. It makes no call.
	Elsewhere(service *v1.Service) bool
}

// Hinter is implemented by a Cloud that reads differently for different Services, such as one that
// has several kinds of load balancers.
type Hinter interface {
	// Hint is what Observe and Inventory find in the key. It makes no call, and decides about the
	// depth of a read only.
	Hint(service *v1.Service) string
}

// NodeSurroundings is implemented by a Cloud whose surroundings depend on the nodes that may
// receive traffic. It is called instead of Surroundings wherever there are nodes.
type NodeSurroundings[S any] interface {
	SurroundingsOf(ctx context.Context, nodes []*v1.Node) (S, error)
}

// Inventory is implemented by a Cloud that needs fewer calls to say what exists of a load balancer
// than to say how it is set. It is called instead of an authoritative Observe before a deletion,
// and is as authoritative about what exists.
type Inventory[O any] interface {
	Inventory(ctx context.Context, key Key) (O, error)
}

// elsewhere says whether another controller makes the Service's load balancer.
func (c *Controller[S, D, O]) elsewhere(service *v1.Service) bool {
	chooser, ok := any(c.cloud).(Chooser)
	return ok && chooser.Elsewhere(service)
}

// surroundings reads what Services share.
func (c *Controller[S, D, O]) surroundings(ctx context.Context, nodes []*v1.Node) (S, error) {
	if of, ok := any(c.cloud).(NodeSurroundings[S]); ok {
		return of.SurroundingsOf(ctx, nodes)
	}
	return c.cloud.Surroundings(ctx)
}

// inventory reads what exists.
func (c *Controller[S, D, O]) inventory(ctx context.Context, key Key) (O, error) {
	if short, ok := any(c.cloud).(Inventory[O]); ok {
		have, err := short.Inventory(ctx, key)
		return have, c.readError(key, err)
	}
	return c.observe(ctx, key, Authoritative)
}
