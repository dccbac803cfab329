package sim

// Outcome is how a change of a load balancer ends.
type Outcome string

// The closed set of outcomes.
const (
	// OutcomeActive is success.
	OutcomeActive Outcome = ""
	// OutcomeError leaves the load balancer and what was changed in ERROR.
	OutcomeError Outcome = "error"
	// OutcomeChildrenError leaves what was changed in ERROR under a load balancer that is ACTIVE.
	OutcomeChildrenError Outcome = "children-error"
	// OutcomeStuck never ends: the load balancer stays PENDING until Unstick.
	OutcomeStuck Outcome = "stuck"
	// OutcomeChildrenStuck leaves what was changed PENDING under a load balancer that is ACTIVE, until Unstick.
	OutcomeChildrenStuck Outcome = "children-stuck"
)

// OutcomeRule selects changes of load balancers and their outcome.
type OutcomeRule struct {
	Outcome Outcome
	// Operation, where set, restricts the rule to changes by that operation, such as CreateLoadBalancer.
	Operation string
	// Call is the number of the first change that ends so, counted from 1 since SetOutcomes; 0 is the first one.
	Call int
	// Times is how many changes end so; 0 means one, and less than 0 all.
	Times int
}

type outcomeRule struct {
	OutcomeRule
	seen, met int
}

// SetOutcomes replaces all rules; without rules every change succeeds. Changes in progress keep their outcome.
func (c *Cloud) SetOutcomes(rules ...OutcomeRule) {
	c.inspect(func(t *tx) {
		t.outcomeRules = nil
		for _, f := range rules {
			t.outcomeRules = append(t.outcomeRules, &outcomeRule{OutcomeRule: f})
		}
	})
}

// nextOutcome returns the outcome of the change that starts now.
func (t *tx) nextOutcome() Outcome {
	chosen := OutcomeActive
	for _, f := range t.outcomeRules {
		if f.Operation != "" && (t.call.op == nil || f.Operation != t.call.op.name) {
			continue
		}
		f.seen++
		if chosen == OutcomeActive && f.seen >= f.Call && (f.Times < 0 || f.met < max(f.Times, 1)) {
			f.met++
			chosen = f.Outcome
		}
	}
	return chosen
}

// Unstick lets all stuck changes succeed.
func (c *Cloud) Unstick() {
	c.inspect(func(t *tx) {
		for _, g := range t.changes {
			if g.outcome == OutcomeStuck {
				g.outcome = OutcomeActive
			}
		}
		t.finishDueChanges()
		for _, b := range bySeq(t.balancers) {
			for _, part := range b.descendants() {
				t.unstick(b, part)
			}
		}
	})
}

func (t *tx) unstick(b *balancer, part octaviaEntity) {
	o := part.octavia()
	switch {
	case b.Provisioning != statusActive:
	case o.Provisioning == pendingDelete:
		t.removePart(b, part)
	case o.Provisioning == pendingCreate || o.Provisioning == pendingUpdate:
		o.Provisioning, o.Operating = statusActive, operatingOnline
	}
}

// descendants returns all children of a load balancer, parents first.
func (b *balancer) descendants() []octaviaEntity {
	var out []octaviaEntity
	for _, l := range b.listeners {
		out = append(out, l)
	}
	for _, p := range b.pools {
		out = append(out, p.descendants()...)
	}
	return out
}

func (p *pool) descendants() []octaviaEntity {
	out := []octaviaEntity{p}
	for _, m := range p.members {
		out = append(out, m)
	}
	if p.monitor != nil {
		out = append(out, p.monitor)
	}
	return out
}
