package diff

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"k8s.io/utils/ptr"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/members"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
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

// listenerCreate creates a listener, once its pool exists and the previous user of the port is deleted.
func (d *differ) listenerCreate(port model.Port, pool poolRef, after []plan.Ref) plan.Change {
	spec := port.Listener
	spec.Tags = d.listenerTags(nil, port)
	return plan.Change{
		Ref:    d.ref(kindListener, spec.Name, plan.Create, ""),
		Fields: d.listenerFields(api.Listener{}, port, pool),
		Key:    portKey(port),
		After:  after,
		Do: func(ctx context.Context, ids *plan.Handles) (err error) {
			if spec.LoadbalancerID, err = d.loadBalancerID(ids); err != nil {
				return err
			}
			if spec.DefaultPoolID, err = pool.resolve(ids); err != nil {
				return err
			}
			return d.write.CreateListener(ctx, spec)
		},
	}
}

// listenerUpdate returns the change of a listener in place, if it differs.
func (d *differ) listenerUpdate(have api.Listener, port model.Port, pool poolRef, after []plan.Ref,
) (plan.Change, bool) {
	f := d.listenerFields(have, port, pool)
	if len(f) == 0 {
		return plan.Change{}, false
	}
	patch := d.listenerPatch(have, port, f)
	change := plan.Change{
		Ref:    d.ref(kindListener, have.Name, plan.Update, have.ID),
		ID:     have.ID,
		Fields: append(f, d.poolDifferences(have, port)...), Key: listenerKey(have),
		After: after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			if f.Has("default_pool_id") {
				id, err := pool.resolve(ids)
				if err != nil {
					return err
				}
				patch.DefaultPoolID = &id
			}
			lb, err := d.loadBalancerID(ids)
			if err != nil {
				return err
			}
			return d.write.UpdateListener(ctx, lb, have.ID, patch)
		},
	}
	d.declareListener(&change, have, port)
	return markTags(change), true
}

// listenerPatch returns the options of an update: only differing fields, so that it disturbs as little as
// possible.
func (d *differ) listenerPatch(have api.Listener, port model.Port, f plan.Fields) listeners.UpdateOpts {
	want := port.Listener
	var patch listeners.UpdateOpts
	if f.Has("connection_limit") {
		patch.ConnLimit = want.ConnLimit
	}
	if f.Has("allowed_cidrs") {
		patch.AllowedCIDRs = ptr.To(d.allowedCIDRs(port))
	}
	if f.Has("insert_headers") {
		patch.InsertHeaders = ptr.To(insertHeaders(have, port))
	}
	if f.Has("default_tls_container_ref") {
		patch.DefaultTlsContainerRef = &want.DefaultTlsContainerRef
	}
	for name, t := range map[string]struct {
		field **int
		value *int
	}{
		"timeout_client_data":    {&patch.TimeoutClientData, want.TimeoutClientData},
		"timeout_member_connect": {&patch.TimeoutMemberConnect, want.TimeoutMemberConnect},
		"timeout_member_data":    {&patch.TimeoutMemberData, want.TimeoutMemberData},
		"timeout_tcp_inspect":    {&patch.TimeoutTCPInspect, want.TimeoutTCPInspect},
	} {
		if f.Has(name) {
			*t.field = t.value
		}
	}
	if f.Has("tags") {
		patch.Tags = ptr.To(d.listenerTags(have.Tags, port))
	}
	return patch
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

func (d *differ) listenerDelete(have api.Listener, reason string, after []plan.Ref) plan.Change {
	change := plan.Change{
		Ref:    d.ref(kindListener, have.Name, plan.Delete, have.ID),
		ID:     have.ID,
		Key:    listenerKey(have),
		Reason: reason,
		After:  after,
		Do: d.inLoadBalancer(func(ctx context.Context, lb string) error {
			return d.write.DeleteListener(ctx, lb, have.ID)
		}),
	}
	deletesListener.Declare(&change)
	return change
}

// isSameListener reports whether a listener and its pool change in nothing that disrupts.
func (d *differ) isSameListener(have api.Listener, port model.Port) bool {
	return have.Protocol == string(port.Listener.Protocol) && len(d.poolDifferences(have, port)) == 0 &&
		len(d.lostRanges(have, port)) == 0
}

// listenerReplacement deletes a listener that another one replaces.
func (d *differ) listenerReplacement(have api.Listener, port model.Port, after []plan.Ref) plan.Change {
	var fields plan.Fields
	want, reason := string(port.Listener.Protocol), "another one replaces it"
	if fields.Diff("protocol", have.Protocol, want) {
		reason = "its protocol changes from " + have.Protocol + " to " + want
	}
	change := d.listenerDelete(have, reason, after)
	if d.lostRanges(have, port) != nil {
		fields.Diff("allowed_cidrs", plan.ShowSet(have.AllowedCIDRs), plan.ShowSet(d.allowedCIDRs(port)))
	}
	change.Fields = append(fields, d.poolDifferences(have, port)...)
	replacesListener.Declare(&change)
	d.declareListener(&change, have, port)
	return change
}

// declareListener declares what the change of a listener disrupts, in place or by a replacement.
func (d *differ) declareListener(change *plan.Change, have api.Listener, port model.Port) {
	if len(d.poolDifferences(have, port)) > 0 {
		replacesPool.Declare(change)
	}
	lost := d.lostRanges(have, port)
	if len(lost) == 0 {
		return
	}
	closesListener.Declare(change)
	for i, f := range change.Fields {
		if f.Name == "allowed_cidrs" {
			change.Fields[i].Removed = lost
		}
	}
}

// allowedCIDRs returns the ranges that a listener of the load balancer should allow.
func (d *differ) allowedCIDRs(port model.Port) []string {
	if d.have.LoadBalancer == nil {
		return port.Listener.AllowedCIDRs
	}
	return model.FilterFamilies(port.Listener.AllowedCIDRs, model.VIPFamilies(*d.have.LoadBalancer))
}

// lostRanges returns the ranges that a listener allows and should not.
func (d *differ) lostRanges(have api.Listener, port model.Port) []string {
	if !d.want.Features.AllowedCIDRs() {
		return nil
	}
	return model.LostRanges(have.AllowedCIDRs, d.allowedCIDRs(port), model.VIPFamilies(*d.have.LoadBalancer))
}

// poolDifferences returns why a listener gets another pool: fields that no pool can change in place.
func (d *differ) poolDifferences(have api.Listener, port model.Port) []plan.Field {
	var f plan.Fields
	pool, ok := d.poolOf(have.DefaultPoolID)
	if !ok {
		return nil
	}
	f.Diff(fieldPoolProtocol, pool.Protocol, string(port.Pool.Protocol))
	if d.changesSubnet(pool, port) {
		f.Diff(fieldMemberSubnet, plan.ShowSet(members.Subnets(pool.Members)), d.want.MemberSubnet.ID)
	}
	return f
}

// listenerFields returns the differing settings of two listeners, by their names in the API. Names are not
// compared: they contain the index of the port when the listener was created.
func (d *differ) listenerFields(have api.Listener, port model.Port, pool poolRef) plan.Fields {
	var f plan.Fields
	want := port.Listener
	f.Diff("protocol", have.Protocol, string(want.Protocol))
	f.Diff("protocol_port", plan.ShowInt(have.ProtocolPort), plan.ShowInt(want.ProtocolPort))
	f.Diff("default_pool_id", have.DefaultPoolID, pool.show())
	f.Diff("connection_limit", fmt.Sprint(have.ConnLimit), fmt.Sprint(*want.ConnLimit))
	f.Diff("insert_headers", plan.ShowMap(have.InsertHeaders), plan.ShowMap(insertHeaders(have, port)))
	f.Diff("default_tls_container_ref", have.DefaultTlsContainerRef, want.DefaultTlsContainerRef)
	if d.want.Features.AllowedCIDRs() {
		f.Diff("allowed_cidrs", plan.ShowSet(have.AllowedCIDRs), plan.ShowSet(d.allowedCIDRs(port)))
	}
	if d.want.Features.Timeouts() {
		f.Diff("timeout_client_data", fmt.Sprint(have.TimeoutClientData), fmt.Sprint(*want.TimeoutClientData))
		f.Diff("timeout_member_connect", fmt.Sprint(have.TimeoutMemberConnect), fmt.Sprint(*want.TimeoutMemberConnect))
		f.Diff("timeout_member_data", fmt.Sprint(have.TimeoutMemberData), fmt.Sprint(*want.TimeoutMemberData))
		f.Diff("timeout_tcp_inspect", fmt.Sprint(have.TimeoutTCPInspect), fmt.Sprint(*want.TimeoutTCPInspect))
	}
	tags.Diff(&f, have.Tags, d.listenerTags(have.Tags, port))
	return f
}
