package diff

import (
	"context"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/rows"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// listener has the fields of a listener, existing or wanted.
type listener struct {
	name     string
	port     int32
	protocol string
	// group is the name of the target group, or the names of several.
	group       string
	certificate string
	policy      string
}

// listenerKind are the listeners. Additional certificates and attributes have calls of their own.
var listenerKind = rows.Kind[*listener, *listener]{
	Name:     kindListener,
	Key:      func(l *listener) string { return listenerKey(l.port) },
	Label:    func(l *listener) string { return l.name },
	Deletion: rows.Traffic("network: a listener is deleted"),
	Rows: rows.InPlace([]rows.Row[*listener, *listener]{
		{
			Name: fieldProtocol, Value: rows.Text(func(l *listener) *string { return &l.protocol }),
			Effect: rows.Traffic("network: the protocol of a listener changes, or it is replaced by one with another protocol"),
		},
		{Name: "port", Value: rows.Number(func(l *listener) *int32 { return &l.port })},
		{
			Name: fieldTargetGroup, Value: rows.Text(func(l *listener) *string { return &l.group }),
			Effect: rows.Traffic("network: a listener moves to another target group"),
		},
		{Name: "certificate", Value: rows.Text(func(l *listener) *string { return &l.certificate })},
		{
			// The other policy may refuse clients that this one accepts.
			Name: fieldPolicy, Value: rows.Text(func(l *listener) *string { return &l.policy }),
			Effect:   rows.Traffic("network: a listener gets another TLS policy"),
			Disrupts: func(have, want *listener) bool { return have.protocol == want.protocol },
		},
	}),
}

// existingListener returns the fields of a listener.
func (d *differ) existingListener(l model.Listener) listener {
	return listener{
		name: model.ListenerName(d.name(), l.Port), port: l.Port, protocol: l.Protocol, group: showForwards(l.Forwards),
		certificate: firstOf(l.Certificates), policy: l.Policy,
	}
}

// wantedListener returns the fields of the desired listener that forwards to a target group.
func (d *differ) wantedListener(l model.DesiredListener, group reference) listener {
	return listener{
		name: model.ListenerName(d.name(), l.Port), port: l.Port, protocol: l.Protocol, group: group.name,
		certificate: firstOf(l.Certificates), policy: l.Policy,
	}
}

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
		after := slices.Concat(base, ready)
		if exists && mustReplace(have, want) {
			deletion := changeOf(deletions, model.ListenerName(d.name(), have.Port))
			// AWS may refuse what the next listener needs: until it exists, the port stays open.
			deletion.After = slices.Concat(deletion.After, after)
			deletion.Step = listenerReplacement{before: have, creation: d.listenerCreation(group, want)}
			after, exists = append(after, deletion.Ref), false
		}
		if !exists || have.Removed {
			changed = append(changed, d.listenerCreate(group, want, after)...)
			continue
		}
		updates := d.listenerUpdate(have, want, group, after)
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
	d.surplusGroups(deletions, changed, moved, marked)
	return changed
}

// changeOf returns the change of an object, an empty one if there is none.
func changeOf(changes []plan.Change, name string) *plan.Change {
	for i := range changes {
		if changes[i].Name == name {
			return &changes[i]
		}
	}
	return &plan.Change{}
}

// listenersDelete plans the deletion of listeners that are not desired, or that block the port of desired
// ones.
func (d *differ) listenersDelete() []plan.Change {
	var changes []plan.Change
	for _, have := range d.have.Listeners {
		i := slices.IndexFunc(d.want.Listeners, func(w model.DesiredListener) bool { return w.Port == have.Port })
		stays := i >= 0 && !mustReplace(have, d.want.Listeners[i]) || slices.Contains(d.keptPorts, have.Port)
		if stays || i < 0 && have.Removed {
			continue
		}
		listed := d.existingListener(have)
		change := listenerKind.Delete(&listed)
		change.Fields = []plan.Field{{Name: fieldProtocol, Before: have.Protocol}}
		if i >= 0 {
			replacement := listed
			replacement.protocol = d.want.Listeners[i].Protocol
			change, _ = listenerKind.Update(&listed, &replacement)
			change.Action = plan.Delete
		}
		change.Step = listenerDeletion{balancer: d.have.Balancer.ARN, listener: have.ARN}
		changes = append(changes, change)
	}
	return changes
}

// listenerDeletion deletes a listener, by the ARNs.
type listenerDeletion struct{ balancer, listener string }

// Do implements plan.Step.
func (s listenerDeletion) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.DeleteListener(ctx, s.balancer, s.listener)
}

// listenerReplacement deletes a listener and creates the next one of its port: see Writer.
type listenerReplacement struct {
	before   model.Listener
	creation listenerCreation
}

// Do implements plan.Step.
func (s listenerReplacement) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	return s.creation.make(ids, func(balancer, group string) (string, error) {
		return w.ReplaceListener(ctx, balancer, group, s.before, s.creation.want, s.creation.tags)
	})
}

// listenerCreate plans the creation of a listener with its parts.
func (d *differ) listenerCreate(group reference, want model.DesiredListener, after []plan.Ref) []plan.Ref {
	wanted := d.wantedListener(want, group)
	creation := listenerKind.Create(&wanted)
	step := d.listenerCreation(group, want)
	creation.After, creation.Step = after, step
	d.add(creation)
	created := []plan.Ref{creation.Ref}
	initial := model.Listener{CertificatesRead: true, Attributes: model.NewListenerAttributes()}
	return append(created, d.listenerParts(step.ref, initial, want, created)...)
}

func (d *differ) listenerCreation(group reference, want model.DesiredListener) listenerCreation {
	ref := reference{kind: kindListener, name: model.ListenerName(d.name(), want.Port)}
	return listenerCreation{ref: ref, balancer: d.balancer(), group: group, want: want, tags: d.want.Tags}
}

// listenerCreation creates a listener that forwards to a target group.
type listenerCreation struct {
	ref, balancer, group reference
	want                 model.DesiredListener
	tags                 map[string]string
}

// Do implements plan.Step. A replacement has made it.
func (s listenerCreation) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	if ids.Has(s.ref.handle()) {
		return nil
	}
	return s.make(ids, func(balancer, group string) (string, error) {
		return w.CreateListener(ctx, balancer, group, s.want, s.tags)
	})
}

// make calls create with the ARNs of the load balancer and the target group, and stores the ARN of the listener.
func (s listenerCreation) make(ids *plan.Handles, create func(balancer, group string) (string, error)) error {
	arns, err := resolveAll(ids, s.balancer, s.group)
	if err != nil {
		return err
	}
	arn, err := create(arns[0], arns[1])
	return s.ref.created(ids, arn, err)
}

// listenerParts plans the parts with their own calls: additional certificates and attributes.
func (d *differ) listenerParts(ref reference, have model.Listener, want model.DesiredListener,
	after []plan.Ref) []plan.Ref {
	changes := d.certificateChanges(ref, have, want, after)
	if change, ok := d.listenerAttributesUpdate(ref, have, want, after); ok {
		changes = append(changes, change)
	}
	d.add(changes...)
	return plan.Refs(changes)
}

// listenerUpdate returns the changes of a listener in place, if it differs. A listener that moves to another
// target group forwards to both first, to the new one with weight 0: only then does AWS probe its targets.
// Afterwards the old one stays, with weight 0, while its connections drain.
func (d *differ) listenerUpdate(have model.Listener, want model.DesiredListener, group reference,
	after []plan.Ref) []plan.Ref {
	before, wanted := d.existingListener(have), d.wantedListener(want, group)
	ref := reference{kind: kindListener, name: before.name, arn: have.ARN}
	if want.Policy == "" { // any policy is accepted
		wanted.policy = before.policy
	}
	if len(want.Certificates) == 0 {
		wanted.certificate = before.certificate
	}
	m := move{ref: ref, listener: have, group: group}
	if want.KeepGroup || d.forwardsOnlyTo(have.Forwards, group.arn) {
		wanted.group = before.group
	} else if have.Protocol == want.Protocol && !d.removesIPv6() {
		// IPv6 can only be removed once no listener names an IPv6 group: then there is no time to drain.
		after = d.listenerAttach(&m, after)
	}
	change, differ := listenerKind.Update(&before, &wanted)
	if !differ {
		return d.listenerParts(ref, have, want, nil)
	}
	change.After, change.Step = after, listenerUpdate{move: m, balancer: d.balancer(), want: want}
	d.add(change)
	if have.Protocol != want.Protocol {
		have.CertificatesRead, have.Certificates, have.Attributes = true, nil, model.NewListenerAttributes()
	}
	updated := []plan.Ref{change.Ref}
	return append(updated, d.listenerParts(ref, have, want, updated)...)
}

// listenerUpdate changes a listener in place.
type listenerUpdate struct {
	move
	balancer reference
	want     model.DesiredListener
}

// Do implements plan.Step.
func (s listenerUpdate) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	arns, err := resolveAll(ids, s.balancer, s.group)
	if err != nil {
		return err
	}
	return w.UpdateListener(ctx, arns[0], s.listener, s.want, arns[1], s.draining(ids))
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
// leaves is retired; a group with a deleted listener, or without a listener, is deleted: after that which replaces the
// listener, if any, because it may be restored. One with draining connections stays until they have drained.
func (d *differ) surplusGroups(deletions []plan.Change, changed []plan.Ref, moved map[string][]plan.Ref,
	marked []plan.Ref) {
	for _, g := range d.have.TargetGroups {
		if !d.isSurplus(g) {
			continue
		}
		var listenerDeletions []plan.Ref
		for _, l := range d.have.Listeners {
			name := model.ListenerName(d.name(), l.Port)
			i := slices.IndexFunc(deletions, func(c plan.Change) bool { return c.Name == name })
			if i >= 0 && slices.ContainsFunc(l.Forwards, func(f model.Forward) bool { return f.Group == g.ARN }) {
				listenerDeletions = append(listenerDeletions, deletions[i].Ref)
				if ref := (plan.Ref{Kind: kindListener, Name: name, Action: plan.Create}); slices.Contains(changed, ref) {
					listenerDeletions = append(listenerDeletions, ref)
				}
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
