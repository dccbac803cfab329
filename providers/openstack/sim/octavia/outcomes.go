package octavia

// The closed set of outcomes.
const (
	// OutcomeActive is success.
	OutcomeActive Outcome = ""
	// OutcomeError leaves the load balancer and the changed children in ERROR.
	OutcomeError Outcome = "error"
	// OutcomeChildrenError leaves the changed children in ERROR under a load balancer that is ACTIVE.
	OutcomeChildrenError Outcome = "children-error"
	// OutcomeStuck never ends: the load balancer stays PENDING until Unstick.
	OutcomeStuck Outcome = "stuck"
	// OutcomeChildrenStuck leaves the changed children PENDING under a load balancer that is ACTIVE, until Unstick.
	OutcomeChildrenStuck Outcome = "children-stuck"
)

// nextOutcome returns the outcome of the change that starts now.
func (t *Tx) nextOutcome() Outcome {
	chosen := OutcomeActive
	for _, r := range t.outcomeRules {
		if r.Operation != "" && r.Operation != t.Call.Operation {
			continue
		}
		r.seen++
		if chosen == OutcomeActive && r.seen >= r.Call && (r.Times < 0 || r.applied < max(r.Times, 1)) {
			r.applied++
			chosen = r.Outcome
		}
	}
	return chosen
}

// descendants returns all children of a load balancer, parents first.
func (b *balancer) descendants() []entity {
	var out []entity
	for _, l := range b.listeners {
		out = append(out, l)
	}
	for _, p := range b.pools {
		out = append(out, p.descendants()...)
	}
	return out
}

func (p *pool) descendants() []entity {
	out := []entity{p}
	for _, m := range p.members {
		out = append(out, m)
	}
	if p.monitor != nil {
		out = append(out, p.monitor)
	}
	return out
}

// SetOutcomes replaces all rules.
func (t *Tx) SetOutcomes(rules []OutcomeRule) {
	t.outcomeRules = nil
	for _, r := range rules {
		t.outcomeRules = append(t.outcomeRules, &outcomeRule{OutcomeRule: r})
	}
}
