package diff

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// tagged is an object with known tags.
type tagged struct {
	arn, name string
	tags      map[string]string
	// byHand is set for a listener with certificates by hand: see certificateChanges. It does not get the mark that they
	// are set by this manager.
	byHand bool
}

// tagChange is one call: the same change for several objects.
type tagChange struct {
	set    map[string]string
	remove []string
	arns   []string
}

// diffTags plans the tags of existing objects: objects with the same change share a call, and the load balancer
// comes last, so that its tags prove, without a read of those of its listeners and target groups, that all of them
// are up to date. They are the last changes, since they may be denied, and do not need the others: tags are edited
// while a change of a listener is held.
func (d *differ) diffTags(order []plan.Ref) {
	b := d.have.Balancer
	if b == nil {
		return
	}
	var parts []tagged
	for _, l := range d.have.Listeners {
		if i := slices.IndexFunc(d.want.Listeners, func(w model.DesiredListener) bool { return w.Port == l.Port }); i >= 0 &&
			!mustReplace(l, d.want.Listeners[i]) && !l.Removed {
			parts = append(parts, tagged{arn: l.ARN, name: model.ListenerName(b.Name, l.Port), tags: l.Tags,
				byHand: keepsCertificates(l, d.want.Listeners[i])})
		}
	}
	for _, g := range d.have.TargetGroups {
		if d.deletes(plan.Ref{Kind: kindTargetGroup, Name: g.Name, Action: plan.Delete}) {
			continue // another one gets its name
		}
		if slices.ContainsFunc(d.want.Listeners, func(w model.DesiredListener) bool { return w.Group.Name == g.Name }) {
			parts = append(parts, tagged{arn: g.ARN, name: g.Name, tags: g.Tags})
		}
	}
	changes := d.tagChanges("parts of load balancer "+b.Name, parts, nil)
	balancer := []tagged{{arn: b.ARN, name: b.Name, tags: b.Tags}}
	changes = append(changes, d.tagChanges("load balancer "+b.Name, balancer, plan.Refs(changes))...)
	for i := range changes {
		changes[i].Order = order
	}
	d.add(changes...)
}

func (d *differ) deletes(ref plan.Ref) bool {
	return slices.ContainsFunc(d.changes, func(c plan.Change) bool { return c.Ref == ref })
}

// tagChanges groups objects by their changes. Those with unread tags get none.
func (d *differ) tagChanges(name string, objects []tagged, after []plan.Ref) []plan.Change {
	var groups []tagChange
	for _, o := range objects {
		if o.tags == nil {
			continue
		}
		want := d.want.Tags
		if o.byHand {
			want = maps.Clone(want)
			delete(want, names.ClusterUIDTag)
		}
		set, remove := tags.Diff(o.tags, want)
		if len(set)+len(remove) == 0 {
			continue
		}
		i := slices.IndexFunc(groups, func(c tagChange) bool {
			return len(c.arns) < model.MaxTagResources && maps.Equal(c.set, set) && slices.Equal(c.remove, remove)
		})
		if i < 0 {
			groups = append(groups, tagChange{set: set, remove: remove})
			i = len(groups) - 1
		}
		groups[i].arns = append(groups[i].arns, o.arn)
	}
	var changes []plan.Change
	for i, g := range groups {
		groupName := name
		if i > 0 {
			groupName += " (" + strconv.Itoa(i+1) + ")"
		}
		changes = append(changes, d.tagUpdate(groupName, g, after))
	}
	return changes
}

func (d *differ) tagUpdate(name string, c tagChange, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: kindTags, Name: name, Action: plan.Update},
		Fields: []plan.Field{{Name: "tags", Before: strings.Join(c.remove, ", "), After: plan.ShowMap(c.set)}},
		Mark:   true,
		After:  after,
		Step:   tagsUpdate(c),
	}
}

// tagsUpdate sets and removes the same tags of several objects.
type tagsUpdate tagChange

// Do implements plan.Step.
func (s tagsUpdate) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.SetTags(ctx, s.arns, s.set, s.remove)
}

// markUnmarked plans the tags of those unmarked target groups that are selected: without them, nothing proves whose
// they are once the load balancer no longer uses them. Name is that of the changes.
func (d *differ) markUnmarked(name string, selected func(model.TargetGroup) bool) []plan.Change {
	var groups []tagged
	for _, g := range d.have.TargetGroups {
		if d.unmarked(g) && selected(g) {
			groups = append(groups, tagged{arn: g.ARN, name: g.Name, tags: g.Tags})
		}
	}
	return d.tagChanges(name, groups, nil)
}
