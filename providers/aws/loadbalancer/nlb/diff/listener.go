package diff

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
)

// diffPorts plans target groups and listeners. Creations wait for base. It returns the changes of listeners.
func (d *differ) diffPorts(base []plan.Ref) []plan.Ref {
	deletions := d.listenersDelete()
	changed := plan.Refs(deletions)
	moved := map[string][]plan.Ref{} // the changes by which listeners leave a target group, by its ARN
	for _, want := range d.want.Listeners {
		have, exists := d.listenerOn(want.Port)
		var group reference
		var ready []plan.Ref
		if want.KeepGroup && exists {
			group = d.keptGroup(have, want)
		} else {
			group, ready = d.targetGroup(want, base)
		}
		name := fmt.Sprintf("%s/%d", d.name(), want.Port)
		after := slices.Concat(base, ready)
		if exists && mustReplace(have, want) {
			after = append(after, refOf(deletions, observe.ListenerName(d.name(), have)))
			exists = false
		}
		if !exists {
			changed = append(changed, d.listenerCreate(name, group, want, after)...)
			continue
		}
		updates := d.listenerUpdate(name, have, want, group, after)
		changed = append(changed, updates...)
		if len(updates) > 0 {
			for _, f := range have.Forwards {
				if f.Group != group.arn && !want.KeepGroup {
					moved[f.Group] = append(moved[f.Group], updates...)
				}
			}
		}
	}
	marked := d.markSurplus()
	for i := range deletions {
		deletions[i].After = append(deletions[i].After, marked...)
	}
	d.add(deletions...)
	d.surplusGroups(deletions, moved, marked)
	return changed
}

func refOf(changes []plan.Change, name string) plan.Ref {
	for _, c := range changes {
		if c.Name == name {
			return c.Ref
		}
	}
	return plan.Ref{}
}

// listenersDelete plans the deletion of listeners that are not desired, or that block the port of desired
// ones.
func (d *differ) listenersDelete() []plan.Change {
	var changes []plan.Change
	for _, have := range d.have.Listeners {
		i := slices.IndexFunc(d.want.Listeners, func(w model.DesiredListener) bool { return w.Port == have.Port })
		if i >= 0 && !mustReplace(have, d.want.Listeners[i]) || slices.Contains(d.keptPorts, have.Port) {
			continue
		}
		balancer := d.have.Balancer.ARN
		change := plan.Change{
			Ref:    plan.Ref{Kind: kindListener, Name: observe.ListenerName(d.name(), have), Action: plan.Delete},
			Key:    listenerKey(have.Port),
			Fields: []plan.Field{{Name: fieldProtocol, Before: have.Protocol}},
			Do: func(ctx context.Context, _ *plan.Handles) error {
				return d.Write.DeleteListener(ctx, balancer, have.ARN)
			},
		}
		if i >= 0 {
			change.Fields[0].After = d.want.Listeners[i].Protocol
			changesProtocol.Declare(&change)
		} else {
			deletesListener.Declare(&change)
		}
		changes = append(changes, change)
	}
	return changes
}

// listenerCreate plans the creation of a listener with its parts.
func (d *differ) listenerCreate(name string, group reference, want model.DesiredListener, after []plan.Ref) []plan.Ref {
	var f plan.Fields
	f.Diff(fieldProtocol, "", want.Protocol)
	f.Diff("port", "", plan.ShowInt(want.Port))
	f.Diff(fieldTargetGroup, "", group.name)
	f.Diff("certificates", "", plan.ShowSet(want.Certificates))
	f.Diff(fieldPolicy, "", want.Policy)
	ref := reference{kind: kindListener, name: name}
	creation := plan.Change{
		Ref: plan.Ref{Kind: kindListener, Name: name, Action: plan.Create}, Fields: f, After: after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			return d.withBalancer(group, func(ctx context.Context, balancer, target string) error {
				arn, err := d.Write.CreateListener(ctx, balancer, target, want, d.want.Tags)
				if err == nil {
					ids.Set(ref.handle(), arn)
				}
				return err
			})(ctx, ids)
		},
	}
	d.add(creation)
	created := []plan.Ref{creation.Ref}
	initial := model.Listener{CertificatesRead: true, Attributes: model.NewListenerAttributes()}
	return append(created, d.listenerParts(ref, initial, want, created)...)
}

// listenerParts plans the parts with their own calls: additional certificates and attributes.
func (d *differ) listenerParts(ref reference, have model.Listener, want model.DesiredListener,
	after []plan.Ref) []plan.Ref {
	changes := d.certificateChanges(ref, have, want, after)
	if change, ok := d.listenerAttributes(ref, have, want, after); ok {
		changes = append(changes, change)
	}
	d.add(changes...)
	return plan.Refs(changes)
}

// listenerUpdate returns the changes of a listener in place, if it differs. A listener that moves to another
// target group forwards to both first, to the new one with weight 0: only then does AWS probe its targets.
// Afterwards the old one stays, with weight 0, while its connections drain.
func (d *differ) listenerUpdate(name string, have model.Listener, want model.DesiredListener, group reference,
	after []plan.Ref) []plan.Ref {
	ref := reference{kind: kindListener, name: name, arn: have.ARN}
	var f plan.Fields
	f.Diff(fieldProtocol, have.Protocol, want.Protocol)
	if want.Policy != "" { // if unset, any policy is accepted
		f.Diff(fieldPolicy, have.Policy, want.Policy)
	}
	if len(want.Certificates) > 0 {
		f.Diff("certificate", firstOf(have.Certificates), want.Certificates[0])
	}
	m := &move{listener: have, group: group}
	if !want.KeepGroup && !d.forwardsOnlyTo(have.Forwards, group.arn) {
		f.Diff(fieldTargetGroup, showForwards(have.Forwards), group.name)
		// IPv6 can only be removed once no listener names an IPv6 group: then there is no time to drain.
		if have.Protocol == want.Protocol && !d.removesIPv6() {
			after = d.listenerAttach(name, m, after)
		}
	}
	if len(f) == 0 {
		return d.listenerParts(ref, have, want, nil)
	}
	change := plan.Change{
		Ref: plan.Ref{Kind: kindListener, Name: name, Action: plan.Update}, Fields: f, After: after,
		Key: listenerKey(want.Port),
		Do: d.withBalancer(group, func(ctx context.Context, balancer, arn string) error {
			return d.Write.UpdateListener(ctx, balancer, have, want, arn, m.old)
		}),
	}
	if f.Has(fieldProtocol) {
		changesProtocol.Declare(&change)
	} else if f.Has(fieldPolicy) {
		// The other policy may refuse clients that this one accepts.
		changesPolicy.Declare(&change)
	}
	if f.Has(fieldTargetGroup) {
		movesListener.Declare(&change)
	}
	d.add(change)
	if have.Protocol != want.Protocol {
		have.CertificatesRead, have.Certificates, have.Attributes = true, nil, model.NewListenerAttributes()
	}
	updated := []plan.Ref{change.Ref}
	return append(updated, d.listenerParts(ref, have, want, updated)...)
}

// isSurplus reports whether a target group is the Service's and not desired.
func (d *differ) isSurplus(g model.TargetGroup) bool {
	return !d.foreignGroup(g) &&
		!slices.ContainsFunc(d.want.Listeners, func(w model.DesiredListener) bool { return w.Group.Name == g.Name })
}

// markSurplus plans the marks of unmarked target groups that are removed, and returns these changes.
func (d *differ) markSurplus() []plan.Ref {
	marks := d.markUnmarked("target groups that load balancer "+d.name()+" leaves", d.isSurplus)
	d.add(marks...)
	return plan.Refs(marks)
}

// surplusGroups plans the removal of target groups that are not desired, after their marks. A group that a listener
// leaves is retired; a group with a deleted listener, or without a listener, is deleted. One with draining connections
// stays until they have drained.
func (d *differ) surplusGroups(deletions []plan.Change, moved map[string][]plan.Ref, marked []plan.Ref) {
	for _, g := range d.have.TargetGroups {
		if !d.isSurplus(g) {
			continue
		}
		var listenerDeletions []plan.Ref
		for _, l := range d.have.Listeners {
			name := observe.ListenerName(d.name(), l)
			i := slices.IndexFunc(deletions, func(c plan.Change) bool { return c.Name == name })
			if i >= 0 && slices.ContainsFunc(l.Forwards, func(f model.Forward) bool { return f.Group == g.ARN }) {
				listenerDeletions = append(listenerDeletions, deletions[i].Ref)
			}
		}
		switch {
		case len(moved[g.ARN]) > 0:
			d.add(d.groupRetire(g, slices.Concat(moved[g.ARN], listenerDeletions, marked)))
		case len(listenerDeletions) > 0:
			d.add(d.groupDelete(g, listenerDeletions, "its listener is deleted"))
		case len(g.Balancers) == 0 && !g.Draining():
			// Unused by traffic. Taking over writes nothing: it is removed together with the first change.
			retirement := d.groupRetire(g, nil)
			retirement.Mark = true
			d.add(retirement)
		}
	}
}

func showForwards(forwards []model.Forward) string {
	return plan.ShowSet(api.Convert(forwards, func(f model.Forward) string { return nameInARN(f.Group) }))
}

// nameInARN returns the name of a load balancer or target group in its ARN.
func nameInARN(arn string) string {
	parts := strings.Split(arn, "/")
	if len(parts) < 3 {
		return arn
	}
	return parts[len(parts)-2]
}

func firstOf(items []string) string {
	if len(items) == 0 {
		return ""
	}
	return items[0]
}
