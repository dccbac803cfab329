package sim

// Outcome is how a change of a load balancer ends.
type Outcome string

// The closed set of outcomes.
const (
	// OutcomeActive is the usual end.
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

// OutcomeRule says which changes of load balancers end otherwise than usual.
type OutcomeRule struct {
	Outcome Outcome
	// Operation, where set, restricts the fate to changes by that operation, such as CreateLoadBalancer.
	Operation string
	// Call is the number of the first change that ends so, counted from 1 when the fates were set; 0 is the first one.
	Call int
	// Times is how many changes end so; 0 means one, and less than 0 all.
	Times int
}

type outcomeRule struct {
	OutcomeRule
	seen, met int
}

// SetOutcomes replaces all fates; none lets every change end as usual. What has begun ends as it was to end.
func (c *Cloud) SetOutcomes(rules ...OutcomeRule) {
	c.inspect(func(t *tx) {
		t.outcomeRules = nil
		for _, f := range rules {
			t.outcomeRules = append(t.outcomeRules, &outcomeRule{OutcomeRule: f})
		}
	})
}

// fate is how the change that begins now will end.
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

// Unstick ends all that is stuck as usual.
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

// descendants is all that a load balancer has, outermost first.
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
