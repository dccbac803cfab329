package vpc

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// NodeRuleChanges plans the desired rules of the groups: for each group one call that adds and one that removes. They
// wait for after, and removals also for all additions, because AWS may refuse one, and a node that changes its group
// needs the rules of one of both.
func NodeRuleChanges(have Groups, n NodeRules, after []plan.Ref) []plan.Change {
	var changes []plan.Change
	diffs := n.diff(have)
	for _, d := range diffs {
		if len(d.authorize) > 0 || d.from {
			changes = append(changes, nodeAuthorize(n, d, after))
		}
	}
	removalAfter := slices.Concat(after, n.RevokeAfter, plan.Refs(changes))
	for _, d := range diffs {
		if len(d.revoke) > 0 {
			changes = append(changes, nodeRevoke(n, d, removalAfter))
		}
	}
	return changes
}

func nodeAuthorize(n NodeRules, d ruleDiff, after []plan.Ref) plan.Change {
	step := rulesAddition{group: GroupRef{ID: d.group.ID}, rules: d.authorize}
	shown := d.authorize
	if d.from {
		shown = append(slices.Clone(shown), fromRule(n.From.Name, ""))
		step.from, step.fromDescription = n.From, n.FromDescription
	}
	return plan.Change{
		Ref:        plan.Ref{Kind: KindRules, Name: d.group.String(), Action: plan.Create},
		Fields:     []plan.Field{{Name: fieldIngress, After: showRules(shown)}},
		Reason:     "lets the load balancer reach nodes",
		After:      slices.Clone(after),
		Membership: true, // a node in a group without other nodes before needs it
		Step:       step,
	}
}

func nodeRevoke(n NodeRules, d ruleDiff, after []plan.Ref) plan.Change {
	change := plan.Change{
		Ref:        plan.Ref{Kind: KindRules, Name: d.group.String(), Action: plan.Delete},
		Key:        d.group.key(),
		ID:         RulesID(d.group.ID, n.LoadBalancer),
		Fields:     []plan.Field{{Name: fieldIngress, Before: showRules(d.revoke)}},
		Reason:     "no longer needed by the load balancer",
		After:      slices.Clone(after),
		Membership: true,
		Step:       nodeRulesRemoval{n, d},
	}
	closing := d.closing()
	declareClosing(&change, closing)
	// A rule that allows nothing in addition to others can stay, as an earlier manager left it, until another change.
	change.Mark = len(n.Groups) > 0 && len(closing) == 0
	return change
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
	if len(renamed) == 0 {
		return nil
	}
	// Nobody else knows now that they are missing, until the next audit of the load balancers that need them.
	retry := cloudapi.Retry{Base: settlePause, Clock: s.options.Clock}
	return retry.Do(ctx, cloudapi.Request{Mutating: true, Idempotent: true}, func(ctx context.Context) error {
		return s.authorize(ctx, id, renamed)
	})
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
