package core

import (
	"cmp"
	"net/http"
	"time"
)

// Outcome is how an operation ends.
type Outcome string

// The closed set of outcomes.
const (
	// OutcomeDone is success.
	OutcomeDone Outcome = ""
	// OutcomeError ends the operation with an error; nothing is changed.
	OutcomeError Outcome = "error"
	// OutcomeStuck never ends, until Unstick.
	OutcomeStuck Outcome = "stuck"
)

// OutcomeRule selects operations and their outcome.
type OutcomeRule struct {
	Outcome Outcome
	// Delay is added to the time that the operation takes.
	Delay time.Duration
	// Reason and Message are those of an error: internalError by default. QUOTA_EXCEEDED in the operation is the reason
	// quotaExceeded.
	Reason, Message string
	// Status is the one that the operation has for an error: 503 by default.
	Status int
	// Method, if set, restricts the rule to one method such as targetPools.insert.
	Method string
	// Call is the number of the first operation with this outcome, counted from 1 since SetOutcomes; 0 is the first one.
	Call int
	// Times is the number of operations with this outcome; 0 means one, and less than 0 all.
	Times int
}

type outcomeRule struct {
	OutcomeRule
	// seen counts the operations that the rule selects, applied those with its outcome.
	seen, applied int
}

// SetOutcomes replaces all rules.
func (s *State) SetOutcomes(rules []OutcomeRule) {
	s.rules = nil
	for _, r := range rules {
		s.rules = append(s.rules, &outcomeRule{OutcomeRule: r})
	}
}

// applyRule gives an operation that starts now the outcome of the first rule for it.
func (s *State) applyRule(k *Call, op *Operation) {
	applied := false
	for _, r := range s.rules {
		if r.Method != "" && r.Method != k.ID {
			continue
		}
		r.seen++
		if applied || r.seen < r.Call || r.Times >= 0 && r.applied >= max(r.Times, 1) {
			continue
		}
		r.applied++
		applied = true
		r.apply(op)
	}
}

func (r *outcomeRule) apply(op *Operation) {
	op.ends = op.ends.Add(r.Delay)
	switch r.Outcome {
	case OutcomeDone:
	case OutcomeStuck:
		op.ends = time.Time{}
	case OutcomeError:
		op.refusal = ErrInternal()
		op.refusal.Status = cmp.Or(r.Status, http.StatusServiceUnavailable)
		op.refusal.Reason = cmp.Or(r.Reason, op.refusal.Reason)
		op.refusal.Message = cmp.Or(r.Message, op.refusal.Message)
	}
}
