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
	// OutcomeError leaves the load balancer and the changed children in ERROR.
	OutcomeError Outcome = "error"
	// OutcomeChildrenError leaves the changed children in ERROR under a load balancer that is ACTIVE.
	OutcomeChildrenError Outcome = "children-error"
	// OutcomeStuck never ends: the load balancer stays PENDING until Unstick.
	OutcomeStuck Outcome = "stuck"
	// OutcomeChildrenStuck leaves the changed children PENDING under a load balancer that is ACTIVE, until Unstick.
	OutcomeChildrenStuck Outcome = "children-stuck"
)

// OutcomeRule selects changes of load balancers and their outcome.
type OutcomeRule struct {
	Outcome Outcome
	// Operation, if set, restricts the rule to changes by that operation, such as CreateLoadBalancer.
	Operation string
	// Call is the number of the first change with this outcome, counted from 1 since SetOutcomes; 0 is the first
	// one.
	Call int
	// Times is the number of changes with this outcome; 0 means one, and less than 0 all.
	Times int
}

type outcomeRule struct {
	OutcomeRule
	// seen counts the changes that the rule selects, applied those with its outcome.
	seen, applied int
}

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

// unstick finishes the change of a child that is PENDING under a load balancer that is ACTIVE.
func (t *Tx) unstick(b *balancer, part entity) {
	o := part.common()
	switch {
	case b.Provisioning != neutron.StatusActive:
	case o.Provisioning == pendingDelete:
		t.removePart(b, part)
	case o.Provisioning == pendingCreate || o.Provisioning == pendingUpdate:
		o.Provisioning, o.Operating = neutron.StatusActive, operatingOnline
	}
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

// Unstick lets all stuck changes succeed.
func (t *Tx) Unstick() {
	for _, c := range t.changes {
		if c.outcome == OutcomeStuck {
			c.outcome = OutcomeActive
		}
	}
	t.FinishDueChanges()
	for _, b := range core.BySeq(t.Balancers) {
		for _, part := range b.descendants() {
			t.unstick(b, part)
		}
	}
}
