package vpc

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// Claim records the rules that a load balancer needs, so that the deletion of another one that shares them leaves them.
func (s *GroupStore) Claim(n NodeRules) { s.claims.record(n) }

// Release removes the claim of a load balancer that is deleted.
func (s *GroupStore) Release(loadBalancer string) {
	s.claims.record(NodeRules{LoadBalancer: loadBalancer})
}

// NodeRuleChanges plans the desired rules of the groups: for each group one call that adds and then one that
// removes. They wait for after.
func (s *GroupStore) NodeRuleChanges(have Groups, n NodeRules, after []plan.Ref) []plan.Change {
	var changes []plan.Change
	for _, d := range n.diff(have) {
		removalAfter := slices.Concat(after, n.RevokeAfter)
		if len(d.authorize) > 0 || d.from {
			change := s.nodeAuthorize(n, d, after)
			changes = append(changes, change)
			removalAfter = append(removalAfter, change.Ref)
		}
		if len(d.revoke) > 0 {
			changes = append(changes, s.nodeRevoke(n, d, removalAfter))
		}
	}
	return changes
}

func (s *GroupStore) nodeAuthorize(n NodeRules, d ruleDiff, after []plan.Ref) plan.Change {
	shown := d.authorize
	if d.from {
		shown = append(slices.Clone(shown), fromRule(n.From.Name, ""))
	}
	return plan.Change{
		Ref:        plan.Ref{Kind: KindRules, Name: d.group.String(), Action: plan.Create},
		Fields:     []plan.Field{{Name: fieldIngress, After: showRules(shown)}},
		Reason:     "lets the load balancer reach nodes",
		After:      slices.Clone(after),
		Membership: true, // a node in a group without other nodes before needs it
		Do: func(ctx context.Context, ids *plan.Handles) error {
			rules := slices.Clone(d.authorize)
			if d.from {
				id, err := n.From.Resolve(ids)
				if err != nil {
					return err
				}
				rules = append(rules, fromRule(id, n.FromDescription))
			}
			return s.authorize(ctx, d.group.ID, rules)
		},
	}
}

func (s *GroupStore) nodeRevoke(n NodeRules, d ruleDiff, after []plan.Ref) plan.Change {
	change := plan.Change{
		Ref:        plan.Ref{Kind: KindRules, Name: d.group.String(), Action: plan.Delete},
		Key:        d.group.key(),
		ID:         RulesID(d.group.ID, n.LoadBalancer),
		Fields:     []plan.Field{{Name: fieldIngress, Before: showRules(d.revoke)}},
		Reason:     "no longer needed by the load balancer",
		After:      slices.Clone(after),
		Membership: true,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			// One after the other: of two load balancers that are deleted at once, the second one detects that their
			// shared rules are no longer needed.
			release, err := s.removals.Lock(ctx, d.group.ID)
			if err != nil {
				return err
			}
			defer release()
			revoke := s.unneeded(n, d)
			needed := s.claims.neededByOthers(n.LoadBalancer, d.group.ID, revoke)
			// The rule for a group has no name of a load balancer: it stays. Others get the name of the one that needs them.
			renamed := slices.DeleteFunc(slices.Clone(needed), func(r Rule) bool { return r.SourceGroup != "" })
			if err := s.revoke(ctx, d.group.ID, difference(revoke, difference(needed, renamed))); err != nil {
				return err
			}
			if len(renamed) > 0 {
				return s.authorize(ctx, d.group.ID, renamed)
			}
			return nil
		},
	}
	closing := d.closing()
	declareClosing(&change, closing)
	// A rule that allows nothing in addition to others can stay, as an earlier manager left it, until another change.
	change.Mark = len(n.Groups) > 0 && len(closing) == 0
	return change
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
