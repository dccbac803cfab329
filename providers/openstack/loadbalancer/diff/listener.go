package diff

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/kinds"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/members"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/steps"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// portConflict returns the listener that blocks a port of the Service on a shared load balancer, and its owner. The
// owner is "" if the port is free.
func (d *differ) portConflict(port model.Port) (l api.Listener, owner string) {
	l, ok := d.listenerOf(port)
	if !ok || d.ownsListener(l) || d.owner && len(names.Services(l.Tags)) == 0 {
		return l, ""
	}
	return l, cmp.Or(strings.Join(names.Services(l.Tags), ", "), "another client")
}

// checkPortConflicts returns a problem for each port that another Service has on a shared load balancer. Only a Service
// without any listener is refused: see skipConflictingPorts.
func (d *differ) checkPortConflicts() error {
	var problems intent.Problems
	if slices.ContainsFunc(d.have.Listeners, d.ownsListener) {
		return nil
	}
	for _, port := range d.want.Ports {
		if l, owner := d.portConflict(port); owner != "" {
			problems.Addf("spec.ports", fmt.Sprintf("%s %d", port.Transport, port.Number),
				"the listener %s of the shared load balancer %s has this port for %s: choose another port", l.Name,
				d.have.LoadBalancer.ID, owner)
		}
	}
	return problems.Err(d.plan.Subject)
}

// skipConflictingPorts omits the ports that another Service has on a shared load balancer: its listener keeps its
// pool, and the other ports of this Service still work.
func (d *differ) skipConflictingPorts() {
	if d.have.LoadBalancer == nil {
		return
	}
	d.want.Ports = slices.DeleteFunc(slices.Clone(d.want.Ports), func(port model.Port) bool {
		l, owner := d.portConflict(port)
		if owner != "" {
			d.warnf("the port %s %d is not served: the listener %s of the shared load balancer %s has it for %s; choose "+
				"another port", port.Transport, port.Number, l.Name, d.have.LoadBalancer.ID, owner)
		}
		return owner != ""
	})
}

// listenerTags returns the desired tags of a listener: the Service's, those of its annotations, and those of other
// clients.
func (d *differ) listenerTags(have []string, port model.Port) []string {
	if !d.want.Features.Tags() {
		return have
	}
	return tags.Merge(have, append([]string{names.ServiceTag(d.key.LoadBalancer())}, port.ListenerTags...),
		port.ListenerTags)
}

// existingListener returns the fields of a listener.
func existingListener(l api.Listener) kinds.Listener {
	return kinds.Listener{
		Key: listenerKey(l), Name: l.Name, Protocol: l.Protocol, Port: l.ProtocolPort, Pool: l.DefaultPoolID,
		ConnectionLimit: l.ConnLimit, Headers: l.InsertHeaders, Container: l.DefaultTlsContainerRef,
		AllowedCIDRs: l.AllowedCIDRs, Tags: l.Tags, ClientData: l.TimeoutClientData, MemberConnect: l.TimeoutMemberConnect,
		MemberData: l.TimeoutMemberData, InspectTimeout: l.TimeoutTCPInspect,
	}
}

// wantedListener returns the fields of the listener of a Port: what Octavia does not support is that of the existing
// one.
func (d *differ) wantedListener(have api.Listener, port model.Port, pool reference) kinds.Listener {
	want := existingListener(have)
	spec := port.Listener
	want.Key, want.Name, want.Protocol, want.Port = portKey(port), spec.Name, string(spec.Protocol), spec.ProtocolPort
	want.Pool, want.ConnectionLimit, want.Container = pool.Show(), *spec.ConnLimit, spec.DefaultTlsContainerRef
	want.Headers, want.Tags = insertHeaders(have, port), d.listenerTags(have.Tags, port)
	if d.want.Features.AllowedCIDRs() {
		want.AllowedCIDRs = d.allowedCIDRs(port)
		if lb := d.have.LoadBalancer; lb != nil {
			want.Families = model.VIPFamilies(*lb)
		}
	}
	if d.want.Features.Timeouts() {
		want.ClientData, want.MemberConnect = *spec.TimeoutClientData, *spec.TimeoutMemberConnect
		want.MemberData, want.InspectTimeout = *spec.TimeoutMemberData, *spec.TimeoutTCPInspect
	}
	return want
}

// comparedListeners returns the fields of a listener and those that are wanted, with why it gets another pool.
func (d *differ) comparedListeners(l api.Listener, port model.Port, pool reference) (have, want kinds.Listener) {
	have, want = existingListener(l), d.wantedListener(l, port, pool)
	current, ok := d.poolOf(l.DefaultPoolID)
	if !ok {
		return have, want
	}
	have.PoolProtocol, want.PoolProtocol = current.Protocol, string(port.Pool.Protocol)
	if d.changesSubnet(current, port) {
		have.MemberSubnets = plan.ShowSet(members.Subnets(current.Members))
		want.MemberSubnets = d.want.MemberSubnet.ID
	}
	return have, want
}

// listenerCreate creates a listener, once its pool exists and the previous user of the port is deleted.
func (d *differ) listenerCreate(port model.Port, pool reference, after []plan.Ref) plan.Change {
	want := d.wantedListener(api.Listener{}, port, pool)
	change := kinds.Listeners.Create(&want)
	spec := port.Listener
	spec.Tags = d.listenerTags(nil, port)
	change.Ref = d.ref(kindListener, spec.Name, plan.Create, "")
	change.After, change.Step = after, listenerCreation{d.loadBalancer(), pool, spec}
	return change
}

// listenerCreation creates a listener.
type listenerCreation struct {
	lb, pool reference
	spec     listeners.CreateOpts
}

// Do implements plan.Step.
func (s listenerCreation) Do(ctx context.Context, w Writer, ids *plan.Handles) (err error) {
	if s.spec.LoadbalancerID, s.spec.DefaultPoolID, err = steps.ResolveBoth(ids, s.lb, s.pool); err != nil {
		return err
	}
	return w.CreateListener(ctx, s.spec)
}

// listenerUpdate returns the change of a listener in place, if it differs: only differing fields are sent, so that it
// disturbs as little as possible.
func (d *differ) listenerUpdate(l api.Listener, port model.Port, pool reference, after []plan.Ref,
) (plan.Change, bool) {
	have, want := d.comparedListeners(l, port, pool)
	want.Name = have.Name // the name has the index of the port when the listener was created
	change, differ := kinds.Listeners.Update(&have, &want)
	if !differ {
		return plan.Change{}, false
	}
	var patch listeners.UpdateOpts
	kinds.Listeners.Set(&patch, &want, change.Fields)
	change.Ref, change.ID, change.After = d.ref(kindListener, l.Name, plan.Update, l.ID), l.ID, after
	step := listenerUpdate{lb: d.loadBalancer(), id: l.ID, patch: patch}
	if plan.Fields(change.Fields).Has(kinds.FieldDefaultPool) {
		step.pool = &pool
	}
	change.Step = step
	return change, true
}

// listenerUpdate changes settings of a listener.
type listenerUpdate struct {
	lb reference
	id string
	// pool is nil if the listener keeps its own.
	pool  *reference
	patch listeners.UpdateOpts
}

// Do implements plan.Step.
func (s listenerUpdate) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	if s.pool != nil {
		id, err := s.pool.Resolve(ids)
		if err != nil {
			return err
		}
		s.patch.DefaultPoolID = &id
	}
	lb, err := s.lb.Resolve(ids)
	if err != nil {
		return err
	}
	return w.UpdateListener(ctx, lb, s.id, s.patch)
}

// insertHeaders returns the headers that a listener should add: X-Forwarded-For if the Service requests it, and those
// of other clients.
func insertHeaders(have api.Listener, port model.Port) map[string]string {
	headers := map[string]string{}
	maps.Copy(headers, have.InsertHeaders)
	delete(headers, model.ForwardedFor)
	maps.Copy(headers, port.Listener.InsertHeaders)
	return headers
}

func (d *differ) listenerDelete(l api.Listener, reason string, after []plan.Ref) plan.Change {
	have := existingListener(l)
	change := kinds.Listeners.Delete(&have)
	change.Ref, change.ID = d.ref(kindListener, l.Name, plan.Delete, l.ID), l.ID
	change.Reason, change.After, change.Step = reason, after, partStep{d.loadBalancer(), listenerDeletion(l.ID)}
	return change
}

// listenerDeletion deletes a listener, by its ID.
type listenerDeletion string

// changeIn implements part.
func (s listenerDeletion) changeIn(ctx context.Context, w Writer, lb string) error {
	return w.DeleteListener(ctx, lb, string(s))
}

// listenerDisruptions returns the differences of a listener and its pool that disrupt, in place or by a replacement.
func (d *differ) listenerDisruptions(l api.Listener, port model.Port) []plan.Field {
	have, want := d.comparedListeners(l, port, reference{ID: l.DefaultPoolID})
	replaced, _ := kinds.Listeners.Replace(&have, &want)
	updated, _ := kinds.Listeners.Update(&have, &want)
	return filter(slices.Concat(replaced.Fields, updated.Fields), func(f plan.Field) bool { return f.Disrupts != "" })
}

// listenerReplacement deletes a listener that another one replaces.
func (d *differ) listenerReplacement(l api.Listener, port model.Port, after []plan.Ref) plan.Change {
	want, reason := string(port.Listener.Protocol), "another one replaces it"
	if l.Protocol != want {
		reason = "its protocol changes from " + l.Protocol + " to " + want
	}
	change := d.listenerDelete(l, reason, after)
	change.Fields = d.listenerDisruptions(l, port)
	change.Step = partStep{d.loadBalancer(), listenerExchange{l.ID, port.Listener.DefaultTlsContainerRef}}
	return change
}

// listenerExchange deletes a listener, unless the certificate of the one that replaces it cannot be read.
type listenerExchange struct{ id, container string }

// changeIn implements part.
func (s listenerExchange) changeIn(ctx context.Context, w Writer, lb string) error {
	if err := w.CheckContainer(ctx, s.container); err != nil {
		return err
	}
	return w.DeleteListener(ctx, lb, s.id)
}

// allowedCIDRs returns the ranges that a listener of the load balancer should allow.
func (d *differ) allowedCIDRs(port model.Port) []string {
	if d.have.LoadBalancer == nil {
		return port.Listener.AllowedCIDRs
	}
	return model.FilterFamilies(port.Listener.AllowedCIDRs, model.VIPFamilies(*d.have.LoadBalancer))
}
