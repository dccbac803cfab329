package loadbalancer

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// updateMembers applies the changes of a target that only concern which nodes receive traffic.
func (c *Controller[S, D, O]) updateMembers(ctx context.Context, t target[D], service *v1.Service,
	nodes []*v1.Node) error {
	key := t.key
	have, todo, err := c.memberChanges(ctx, t)
	if err != nil {
		return err
	}
	if countMembership(todo) < len(todo.Changes) {
		switch absent, err := c.absent(key, have); {
		case err != nil:
			return err
		case absent && c.created.pass(service, nodes):
			return nil
		case absent:
			return c.reportMissing(key)
		}
	}
	c.recordPlanWarnings(service, todo)
	todo = c.withRecord(t, have, todo)
	members := todo.Membership()
	if err := c.apply(ctx, service, members); err != nil {
		return errors.Join(err, c.missingAfter(ctx, t, err))
	}
	c.deferMembers(ctx, t, members)
	waiting := countMembership(todo) - countMembership(members) + countMembership(plan.Plan{Changes: heldChanges(todo)})
	if waiting > 0 {
		return fmt.Errorf("load balancer %s: %d changes of its members wait for other changes, which are made when the "+
			"Service is synced next", c.cloud.Name(key), waiting)
	}
	return nil
}

// followNodes updates the members of a load balancer whose Service has become invalid: it keeps what the Service last
// asked for while it was valid, and nodes still join and leave it. Cause is why the Service is invalid; it is returned
// where members cannot be updated: for other errors, and for a Service that was not valid since this process started.
func (c *Controller[S, D, O]) followNodes(ctx context.Context, key Key, service *v1.Service, nodes []*v1.Node,
	cause error) error {
	last, ok := c.valid.Load(key.UID)
	valid, isService := last.(*v1.Service)
	if !ok || !isService || !cloudapi.Is(cause, cloudapi.Invalid) {
		return cause
	}
	in, _, err := intent.Read(valid, c.options.Vocabulary)
	if err != nil {
		return errors.Join(cause, err)
	}
	want, err := c.desired(ctx, key, in, nodes)
	if err != nil {
		return errors.Join(cause, err)
	}
	t := target[D]{key: key, reference: c.cloud.Reference(valid), in: in, want: want}
	if err := c.updateMembers(ctx, t, service, nodes); err != nil {
		return errors.Join(cause, err)
	}
	return nil
}
