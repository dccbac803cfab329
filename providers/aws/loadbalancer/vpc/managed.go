package vpc

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// The kinds of a security group and its tags in plans.
const (
	KindGroup     = "security group"
	kindGroupTags = "tags of security group"
)

// ManagedGroupChanges plans the changes to the desired group, and returns its reference. An error of class
// Invalid means that the group of that name is another cluster's.
func ManagedGroupChanges(have Groups, want ManagedGroup, after []plan.Ref) ([]plan.Change, GroupRef, error) {
	ref := GroupRef{Handle: want.Handle, Name: want.Name}
	group, ok := have.Named(want.Name)
	if !ok {
		creation := groupCreate(want, after)
		changes := []plan.Change{creation}
		if len(want.Rules) > 0 {
			changes = append(changes, groupAuthorize(want.Name, ref, want.Rules, []plan.Ref{creation.Ref}))
		}
		return changes, ref, nil
	}
	if have.cluster.Foreign(group.Tags) {
		return nil, ref, refuseGroup(group)
	}
	ref.ID = group.ID
	var changes []plan.Change
	changes = append(changes, groupTagChanges(group, want, after)...)
	authorize, revoke := diffRules(want.Rules, group.Rules)
	revoke = difference(revoke, want.Kept.rules(group, revoke))
	removalAfter := after
	if len(authorize) > 0 {
		change := groupAuthorize(want.Name, ref, authorize, after)
		changes = append(changes, change)
		removalAfter = []plan.Ref{change.Ref}
	}
	if len(revoke) > 0 {
		change := groupRevoke(group, revoke, "only the rules of the Service are kept", removalAfter)
		declareClosing(&change, ruleDiff{group: group, authorize: authorize, revoke: revoke, used: true, own: true}.closing())
		changes = append(changes, change)
	}
	return changes, ref, nil
}

func groupCreate(want ManagedGroup, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: KindGroup, Name: want.Name, Action: plan.Create},
		Fields: []plan.Field{{Name: "description", After: want.Description}, {Name: "tags", After: plan.ShowMap(want.Tags)}},
		After:  slices.Clone(after),
		Step:   groupCreation{want},
	}
}

// groupTagChanges plans the tags that are missing or differ, and the removal of tags that the Service no longer sets.
func groupTagChanges(group Group, want ManagedGroup, after []plan.Ref) []plan.Change {
	set, surplus := tags.Diff(group.Tags, want.Tags)
	if len(surplus) == 0 && onlyMarks(group.Tags, set) {
		return nil
	}
	var changes []plan.Change
	if len(set) > 0 {
		changes = append(changes, plan.Change{
			Ref:    plan.Ref{Kind: kindGroupTags, Name: want.Name, Action: plan.Update},
			Fields: []plan.Field{{Name: "tags", After: plan.ShowMap(set)}},
			Mark:   true,
			After:  slices.Clone(after),
			Step:   groupTagging{group.ID, set},
		})
	}
	if len(surplus) > 0 {
		changes = append(changes, plan.Change{
			Ref:    plan.Ref{Kind: kindGroupTags, Name: want.Name, Action: plan.Delete},
			Fields: []plan.Field{{Name: "tags", Before: strings.Join(surplus, ", ")}},
			Mark:   true,
			After:  slices.Clone(after),
			Step:   groupUntagging{group.ID, surplus},
		})
	}
	return changes
}

// onlyMarks reports whether the only missing tags are marks that earlier managers never set on a security group. They
// are added together with the next change.
func onlyMarks(have, set map[string]string) bool {
	for key := range set {
		_, exists := have[key]
		if exists || key != names.ServiceTag && key != names.ClusterUIDTag && key != tags.ExtraTag {
			return false
		}
	}
	return true
}

func groupAuthorize(name string, ref GroupRef, rules []Rule, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: KindRules, Name: name, Action: plan.Create},
		Fields: []plan.Field{{Name: fieldIngress, After: showRules(rules)}},
		After:  slices.Clone(after),
		Step:   rulesAddition{group: ref, rules: rules},
	}
}

func groupRevoke(group Group, rules []Rule, reason string, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: KindRules, Name: group.Name, Action: plan.Delete},
		Fields: []plan.Field{{Name: fieldIngress, Before: showRules(rules)}},
		Reason: reason,
		After:  slices.Clone(after),
		Step:   rulesRemoval{group.ID, rules},
	}
}

// GroupDeleteChanges plans the deletion of a group that was created for a load balancer, after the rules of other
// groups that allow its traffic to nodes. Other rules that refer to it stay. While they exist or network interfaces use
// the group, the deletion fails with an error of class Conflict with the time of the retry: no worker waits for it.
//
// While another load balancer uses the group, it stays with all rules that refer to it, and is an orphan: then there
// are no changes, and a warning.
func GroupDeleteChanges(have Groups, group Group, after []plan.Ref) (changes []plan.Change, warning string) {
	if have.InUse(group.ID) {
		return nil, fmt.Sprintf("security group %s stays, because another load balancer uses it: delete it when none does",
			group)
	}
	deletionAfter := slices.Clone(after)
	for _, other := range have.All() {
		var referring []Rule
		for _, r := range other.Rules {
			if r.SourceGroup == group.ID && other.AllowsLoadBalancer(r) {
				referring = append(referring, r)
			}
		}
		if len(referring) == 0 {
			continue
		}
		change := plan.Change{
			Ref:    plan.Ref{Kind: KindRules, Name: other.String() + " from " + group.Name, Action: plan.Delete},
			ID:     RulesID(other.ID, group.ID),
			Fields: []plan.Field{{Name: fieldIngress, Before: showRules(referring)}},
			Reason: "they refer to a security group that is deleted",
			After:  slices.Clone(after),
			Step:   rulesRemoval{other.ID, referring},
		}
		changes = append(changes, change)
		deletionAfter = append(deletionAfter, change.Ref)
	}
	return append(changes, plan.Change{
		Ref:   plan.Ref{Kind: KindGroup, Name: group.Name, Action: plan.Delete},
		ID:    group.ID,
		After: deletionAfter,
		Step:  groupDeletion{group},
	}), ""
}

// groupCreation creates a group.
type groupCreation struct{ want ManagedGroup }

// Do implements plan.Step.
func (g groupCreation) Do(ctx context.Context, s *GroupStore, ids *plan.Handles) error {
	id, err := s.create(ctx, g.want)
	if err == nil {
		ids.Set(g.want.Handle, id)
	}
	return err
}

// groupDeletion deletes a group.
type groupDeletion struct{ group Group }

// Do implements plan.Step.
func (g groupDeletion) Do(ctx context.Context, s *GroupStore, _ *plan.Handles) error {
	return s.delete(ctx, g.group)
}

// groupTagging sets tags of a group, by its ID.
type groupTagging struct {
	id  string
	set map[string]string
}

// Do implements plan.Step.
func (g groupTagging) Do(ctx context.Context, s *GroupStore, _ *plan.Handles) error {
	return s.tag(ctx, g.id, g.set)
}

// groupUntagging removes tags of a group, by its ID.
type groupUntagging struct {
	id   string
	keys []string
}

// Do implements plan.Step.
func (g groupUntagging) Do(ctx context.Context, s *GroupStore, _ *plan.Handles) error {
	return s.untag(ctx, g.id, g.keys)
}

// rulesAddition adds rules to a group, with one for all traffic from a group that the plan may create.
type rulesAddition struct {
	group GroupRef
	rules []Rule
	// from is nil for none.
	from            *GroupRef
	fromDescription string
}

// Do implements plan.Step.
func (r rulesAddition) Do(ctx context.Context, s *GroupStore, ids *plan.Handles) error {
	id, err := r.group.Resolve(ids)
	if err != nil {
		return err
	}
	rules := slices.Clone(r.rules)
	if r.from != nil {
		from, err := r.from.Resolve(ids)
		if err != nil {
			return err
		}
		rules = append(rules, fromRule(from, r.fromDescription))
	}
	return s.authorize(ctx, id, rules)
}

// rulesRemoval removes rules of a group, by its ID.
type rulesRemoval struct {
	id    string
	rules []Rule
}

// Do implements plan.Step.
func (r rulesRemoval) Do(ctx context.Context, s *GroupStore, _ *plan.Handles) error {
	return s.revoke(ctx, r.id, r.rules)
}
