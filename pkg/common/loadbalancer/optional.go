package loadbalancer

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
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
// than to say how it is set. It is called instead of Observe wherever a load balancer is only deleted,
// and is as fresh about what exists.
type Inventory[O any] interface {
	Inventory(ctx context.Context, key Key, fresh Freshness) (O, error)
}

// Validator is implemented by a Cloud that has annotations of its own, so that one Event names what
// is wrong with them together with what is wrong with the rest of the Service.
type Validator interface {
	// Validate names the problems of the cloud's own annotations. It is called with what could be
	// read of a Service that has other problems; Desired is not called then. It makes no call.
	Validate(in intent.Service) error
}

// invalid adds what the cloud finds wrong with a Service to what is known to be.
func (c *Controller[S, D, O]) invalid(in intent.Service, err error) error {
	if cloud, ok := any(c.cloud).(Validator); ok {
		return intent.Join("Service "+in.Namespace+"/"+in.Name, err, cloud.Validate(in))
	}
	return err
}

// Annotator is implemented by a Cloud that writes something on the Service for people and tools.
type Annotator[O any] interface {
	// Annotations are what the Service shall say once its load balancer is as asked. It makes no call.
	Annotations(in intent.Service, have O) map[string]string
}

// Failer is implemented by a Cloud that has a state in which a load balancer never gets an address,
// however long one waits.
type Failer[O any] interface {
	// Failure says of a load balancer in such a state what is wrong and what to do, as the end of a
	// sentence that begins with its name: "could not be set up (no free address): delete …". It is ""
	// in all other states, those that the cloud leaves by itself among them. It makes no call.
	Failure(have O) string
}

// unaddressed is the error about a load balancer that is as asked, but has no address. While the cloud
// works on it, the Service is looked at again soon; one that has failed waits for a person, and the
// framework's growing pauses are right for that.
func (c *Controller[S, D, O]) unaddressed(key Key, have O) error {
	if cloud, ok := any(c.cloud).(Failer[O]); ok {
		if failure := cloud.Failure(have); failure != "" {
			return fmt.Errorf("load balancer %s %s", c.cloud.Name(key), failure)
		}
	}
	return c.retryLater(fmt.Errorf("load balancer %s has no address yet: the cloud is still working on it", c.cloud.Name(key)))
}

// annotate writes what the Service does not say yet. A failure is logged only: the load balancer is
// as asked, and the next sync or audit tries again.
func (c *Controller[S, D, O]) annotate(ctx context.Context, service *v1.Service, in intent.Service, have O) {
	cloud, ok := any(c.cloud).(Annotator[O])
	r := c.runtime.Load()
	if !ok || r == nil || r.Annotate == nil {
		return
	}
	missing := map[string]string{}
	for key, value := range cloud.Annotations(in, have) {
		if old, set := service.Annotations[key]; !set || old != value {
			missing[key] = value
		}
	}
	if len(missing) == 0 {
		return
	}
	if err := r.Annotate(ctx, service, missing); err != nil {
		klog.FromContext(ctx).Error(err, "Cannot annotate the Service", "service", klog.KObj(service), "annotations", missing)
	}
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
func (c *Controller[S, D, O]) inventory(ctx context.Context, key Key, fresh Freshness) (O, error) {
	if short, ok := any(c.cloud).(Inventory[O]); ok {
		have, err := short.Inventory(ctx, key, fresh)
		return have, c.readError(key, err)
	}
	return c.observe(ctx, key, fresh)
}
