package vpc

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// The steps of security groups and their rules. A GroupStore makes them.
var _ = []plan.Step[*GroupStore]{
	groupCreation{}, groupDeletion{}, groupTagging{}, groupUntagging{}, rulesAddition{}, rulesRemoval{}, nodeRulesRemoval{},
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

// nodeRulesRemoval removes the rules of a load balancer from a group of nodes. Rules that another load balancer needs
// stay, or are written again with its name.
type nodeRulesRemoval struct {
	rules NodeRules
	diff  ruleDiff
}

// Do implements plan.Step. Removals from one group follow each other: of two load balancers that are deleted at once,
// the second one detects that their shared rules are no longer needed.
func (r nodeRulesRemoval) Do(ctx context.Context, s *GroupStore, _ *plan.Handles) error {
	if len(r.rules.Groups) == 0 {
		s.Release(r.rules.LoadBalancer)
	}
	id := r.diff.group.ID
	release, err := s.removals.Lock(ctx, id)
	if err != nil {
		return err
	}
	defer release()
	revoke := s.unneeded(r.rules, r.diff)
	needed := s.claims.neededByOthers(r.rules.LoadBalancer, id, revoke)
	// The rule for a group has no name of a load balancer: it stays. Others get the name of the one that needs them.
	renamed := slices.DeleteFunc(slices.Clone(needed), func(r Rule) bool { return r.SourceGroup != "" })
	if err := s.revoke(ctx, id, difference(revoke, difference(needed, renamed))); err != nil {
		return err
	}
	if len(renamed) > 0 {
		return s.authorize(ctx, id, renamed)
	}
	return nil
}

// unneeded returns the rules to revoke, with the shared rules that no load balancer needs now: since the plan was
// computed, another load balancer may have been created, or deleted and left a rule to this one.
func (s *GroupStore) unneeded(n NodeRules, d ruleDiff) []Rule {
	group, _ := s.groups.Get(d.group.ID)
	unshared := slices.DeleteFunc(slices.Clone(d.revoke), func(r Rule) bool { return r.Description == names.MTURule })
	if len(n.Groups) == 0 {
		unshared = append(unshared, difference(n.ownRules(group), unshared)...)
	}
	return append(unshared, unusedMTU(group.Rules, unshared, nil)...)
}
