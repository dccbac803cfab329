package octavia

import (
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim/neutron"
)

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
	// Call is the number of the first change with this outcome, counted from 1 since SetOutcomes; 0 is the first
	// one.
	Call int
	// Times is the number of changes with this outcome; 0 means one, and less than 0 all.
	Times int
}

type outcomeRule struct {
	OutcomeRule
	seen, met int
}

// nextOutcome returns the outcome of the change that starts now.
func (t *Tx) nextOutcome() Outcome {
	chosen := OutcomeActive
	for _, f := range t.outcomeRules {
		if f.Operation != "" && f.Operation != t.Call.Operation {
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

func (t *Tx) unstick(b *balancer, part octaviaEntity) {
	o := part.octavia()
	switch {
	case b.Provisioning != neutron.StatusActive:
	case o.Provisioning == pendingDelete:
		t.removePart(b, part)
	case o.Provisioning == pendingCreate || o.Provisioning == pendingUpdate:
		o.Provisioning, o.Operating = neutron.StatusActive, operatingOnline
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

// SetOutcomes replaces all rules.
func (t *Tx) SetOutcomes(rules []OutcomeRule) {
	t.outcomeRules = nil
	for _, f := range rules {
		t.outcomeRules = append(t.outcomeRules, &outcomeRule{OutcomeRule: f})
	}
}

// Unstick lets all stuck changes succeed.
func (t *Tx) Unstick() {
	for _, g := range t.changes {
		if g.outcome == OutcomeStuck {
			g.outcome = OutcomeActive
		}
	}
	t.FinishDueChanges()
	for _, b := range core.BySeq(t.Balancers) {
		for _, part := range b.descendants() {
			t.unstick(b, part)
		}
	}
}
