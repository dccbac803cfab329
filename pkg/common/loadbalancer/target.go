package loadbalancer

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/tracing"
)

// target is the desired state of one Service's load balancer. A nil want means that nothing should exist.
type target struct {
	key       Key
	service   *v1.Service
	reference Reference
	in        intent.Service
	want      *any
	// history replaces the known one, if it is set.
	history history
	// nodes may receive traffic. They and the shared state are the inputs of want.
	nodes  []*v1.Node
	shared any
}

// emptyTarget is the target of a Service that needs no load balancer.
func (c *Controller) emptyTarget(key Key, service *v1.Service) target {
	return target{key: key, reference: c.cloud.Reference(service)}
}

func (c *Controller) key(clusterName string, service *v1.Service) Key {
	key := Key{ClusterName: clusterName, Namespace: service.Namespace, Name: service.Name, UID: service.UID}
	if r := c.runtime.Load(); r != nil {
		key.ClusterUID = r.ClusterUID
	}
	return key
}

// handles reports whether this manager reconciles the Service's load balancer.
func (c *Controller) handles(service *v1.Service) bool {
	return c.filter == nil || c.filter.Handles(service)
}

// enter waits for the lock of the load balancer and bounds the duration of the call.
func (c *Controller) enter(ctx context.Context, key Key) (context.Context, func(), error) {
	unlock, err := c.locks.Lock(ctx, lockName(key))
	if err != nil {
		return ctx, nil, fmt.Errorf("waiting for another change of load balancer %s to finish: %w", c.cloud.Name(key), err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	return ctx, func() { cancel(); unlock() }, nil
}

// target parses the Service, warns about settings without effect, and computes the desired state.
func (c *Controller) target(ctx context.Context, key Key, service *v1.Service,
	nodes []*v1.Node) (target, error) {
	in, warnings, err := c.read(service)
	c.recordWarnings(service, warnings)
	t := target{key: key, service: service, reference: c.cloud.Reference(service), in: in}
	c.rememberFirst(ctx, service)
	if err != nil {
		return t, err
	}
	return c.desired(ctx, t, nodes)
}

// read parses the Service. The error has the problems of portable annotations, and those of the cloud's own.
func (c *Controller) read(service *v1.Service) (intent.Service, []intent.Warning, error) {
	in, warnings, err := intent.Read(service, c.options.Vocabulary)
	if err != nil {
		err = intent.Join(intent.Subject(service), err, c.cloud.Validate(in))
	}
	return in, warnings, err
}

// desired adds the desired state to a target.
func (c *Controller) desired(ctx context.Context, t target, nodes []*v1.Node) (_ target,
	err error) {
	ctx, span := tracing.Start(ctx, "desired")
	defer func() { tracing.End(span, err) }()
	if t, err = c.withNodes(ctx, t, nodes); err != nil {
		return t, err
	}
	want, err := c.cloud.Desired(t.key, t.in, t.nodes, t.shared)
	if err != nil {
		return t, err
	}
	t.want = &want
	return t, nil
}

// withNodes adds to a target those of the nodes that may receive traffic, and the state that Services share.
func (c *Controller) withNodes(ctx context.Context, t target, nodes []*v1.Node) (target, error) {
	var err error
	if t.nodes, err = c.withAddresses(ctx, c.eligibleNodes(nodes)); err != nil {
		return t, err
	}
	if t.shared, err = c.cloud.SharedState(ctx, t.nodes); err != nil {
		return t, fmt.Errorf("reading the state that load balancers share: %w", err)
	}
	return t, nil
}

// historyOf returns the history that the plan of a target depends on.
func (c *Controller) historyOf(t target) (history, bool) {
	if t.history.UID != "" {
		return t.history, true
	}
	return c.knownHistory(t.service)
}
