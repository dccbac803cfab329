package vpc

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// Claim records the rules that a load balancer needs, so that the deletion of another one that shares them leaves them.
func (s *GroupStore) Claim(n NodeRules) { s.claims.record(n) }

// Release removes the claim of a load balancer that is deleted.
func (s *GroupStore) Release(loadBalancer string) {
	s.claims.record(NodeRules{LoadBalancer: loadBalancer})
}

// NodeRuleChanges plans the desired rules of the groups: for each group one call that adds and then one that
// removes. They wait for after.
func NodeRuleChanges(have Groups, n NodeRules, after []plan.Ref) []plan.Change {
	var changes []plan.Change
	for _, d := range n.diff(have) {
		removalAfter := slices.Concat(after, n.RevokeAfter)
		if len(d.authorize) > 0 || d.from {
			change := nodeAuthorize(n, d, after)
			changes = append(changes, change)
			removalAfter = append(removalAfter, change.Ref)
		}
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
