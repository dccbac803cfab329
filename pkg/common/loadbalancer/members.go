package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/applied"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// unknownMembers replaces the digest of members in a record once the members differ from those that were last applied.
// No list of members has this digest.
var unknownMembers = applied.Digest("unknown members")

// updateMembers applies the changes of a target that only affect which nodes receive traffic. Members of a
// load balancer that Diff refuses to change follow the nodes, too.
func (c *Controller) updateMembers(ctx context.Context, t target, service *v1.Service,
	nodes []*v1.Node) error {
	key := t.key
	have, p, err := c.compareMembers(ctx, t)
	if err != nil {
		return c.followNodes(ctx, t, service, nodes, err)
	}
	if !membersOnly(p) {
		switch absent, err := c.isAbsent(key, have); {
		case err != nil:
			return err
		case absent && c.isBeingCreated(key, service):
			return nil
		case absent:
			return c.reportMissing(key)
		}
	}
	c.recordPlanWarnings(service, p)
	p = c.withRecord(t, have, p)
	members := p.Membership()
	waiting := countMembership(p) - countMembership(members) + countHeldMembers(p)
	if !membersOnly(p) {
		existing, err := c.cloud.DiffMembers(key, c.lastValidSettings(t, have), t.nodes, t.shared, have)
		if err != nil {
			return err
		}
		existing = c.bind(key, have, membersOfReplaced(members, p, existing))
		members.Changes = slices.Concat(members.Changes, existing.Changes)
		members = c.withUnknownMembers(key, have, members)
	}
	if err := c.apply(ctx, service, members); err != nil {
		return errors.Join(err, c.missingAfter(ctx, t, err))
	}
	c.deferMembers(ctx, t, members)
	return c.waitingError(key, waiting)
}

// membersOfReplaced returns the changes of members of existing objects that a plan deletes or replaces, without those
// that it makes now: what the plan needs first may be refused for as long as the Service is not edited.
func membersOfReplaced(now, p, existing plan.Plan) plan.Plan {
	changes := func(list []plan.Change, c plan.Change) bool {
		return slices.ContainsFunc(list, func(other plan.Change) bool { return other.Ref == c.Ref && other.Membership })
	}
	existing.Changes = slices.DeleteFunc(slices.Clone(existing.Changes), func(c plan.Change) bool {
		isReplaced := slices.ContainsFunc(p.Changes, func(other plan.Change) bool {
			return other.Action == plan.Delete && !other.Membership && isPoolOf(other, c)
		})
		return changes(now.Changes, c) || changes(p.Changes, c) && !isReplaced
	})
	return existing
}

// waitingError returns the error about changes of members that cannot be made yet; nil if there are none.
func (c *Controller) waitingError(key Key, waiting int) error {
	if waiting == 0 {
		return nil
	}
	return fmt.Errorf("load balancer %s: %d changes of its members wait for other changes, which are made when the "+
		"Service is synced next", c.cloud.Name(key), waiting)
}

// countHeldMembers returns the number of held changes of existing members, such as those of a load balancer
// that accepts no change before a held one.
func countHeldMembers(p plan.Plan) int {
	n := 0
	for _, h := range p.Held {
		if h.Membership && h.Action == plan.Update {
			n++
		}
	}
	return n
}

// followNodes updates the members of existing objects of a load balancer with an invalid Service, or with a change that
// the cloud refuses, which is the cause: nodes still join and leave it. It returns the cause if it is of another class,
// or if no load balancer exists; joined with the error, if members cannot be updated. A Service that never had an
// address has no load balancer, so nothing is read.
func (c *Controller) followNodes(ctx context.Context, t target, service *v1.Service, nodes []*v1.Node,
	cause error) error {
	wasValid := c.states.of(t.key.UID).valid != nil
	isRefused := cloudapi.Is(cause, cloudapi.Invalid, cloudapi.Denied, cloudapi.Quota, cloudapi.Conflict)
	if !isRefused || !wasValid && len(service.Status.LoadBalancer.Ingress) == 0 {
		return cause
	}
	t, err := c.withNodes(ctx, t, nodes)
	if err != nil {
		return errors.Join(cause, err)
	}
	t.want = nil
	have, err := c.cloud.Observe(ctx, Request[any]{Key: t.key, Reference: t.reference})
	if err != nil {
		return errors.Join(cause, err)
	}
	if absent, err := c.isAbsent(t.key, have); absent || err != nil {
		return errors.Join(cause, err)
	}
	p, err := c.cloud.DiffMembers(t.key, c.lastValidSettings(t, have), t.nodes, t.shared, have)
	if err != nil {
		return errors.Join(cause, err)
	}
	p.Subject = t.key.Subject()
	p = c.bind(t.key, have, p)
	if err := c.apply(ctx, service, c.withUnknownMembers(t.key, have, p)); err != nil {
		return errors.Join(cause, err)
	}
	if err := c.waitingError(t.key, countHeldMembers(p)); err != nil {
		return errors.Join(cause, err)
	}
	return nil
}

// followNodesAndFail is followNodes for callers that return the cause in any case.
func (c *Controller) followNodesAndFail(ctx context.Context, t target, service *v1.Service,
	nodes []*v1.Node, cause error) error {
	if err := c.followNodes(ctx, t, service, nodes, cause); err != nil {
		return err
	}
	return cause
}

// lastValidSettings returns the settings that select the nodes of an invalid Service: those of its last valid form, if
// this process has seen it or if its history has it. Otherwise it omits the annotations that the applied record shows
// to be new.
func (c *Controller) lastValidSettings(t target, have any) intent.Service {
	if valid := c.states.of(t.key.UID).valid; valid != nil {
		return *valid
	}
	if h, known := c.historyOf(t); known && h.Inputs != nil {
		if service, err := h.Inputs.Apply(t.service, c.options.Vocabulary); err == nil {
			if in, _, err := c.read(service); err == nil {
				return in
			}
		}
	}
	in := t.in
	if c.records == nil {
		return in
	}
	if record, _ := c.records.StoredRecord(t.key, have); record.Has(intent.FieldPorts) {
		in.Annotations = maps.Clone(in.Annotations)
		maps.DeleteFunc(in.Annotations, func(key, _ string) bool { return !record.Has(key) })
	}
	return in
}

// withUnknownMembers adds, to changes of members, the update of a stored record that no longer proves any
// members.
func (c *Controller) withUnknownMembers(key Key, have any, p plan.Plan) plan.Plan {
	if c.records == nil || p.Empty() {
		return p
	}
	record, writable := c.records.StoredRecord(key, have)
	if !writable || record.Members == "" || record.Members == unknownMembers {
		return p
	}
	record.Members = unknownMembers
	changes := c.records.StoreRecords([]RecordUpdate[any]{{Key: key, Have: have, Record: record}})
	for i := range changes {
		changes[i].Membership = true
	}
	p.Changes = append(changes, p.Changes...)
	return p
}

// reportMissing returns the error about a load balancer that was deleted, and stores it for GetLoadBalancer:
// the framework calls it next, and would drop the error if the load balancer did not exist.
func (c *Controller) reportMissing(key Key) error {
	c.states.update(key.UID, func(s *serviceState) { s.missing = true })
	return c.missingError(key)
}

// missingAfter returns an error if the load balancer does not exist, after a change that failed because an object was
// not found.
func (c *Controller) missingAfter(ctx context.Context, t target, cause error) error {
	if !cloudapi.Is(cause, cloudapi.NotFound) {
		return nil
	}
	have, err := c.observe(ctx, t, Authoritative)
	if err != nil {
		return err
	}
	if absent, err := c.isAbsent(t.key, have); err != nil || !absent {
		return err
	}
	return c.reportMissing(t.key)
}
