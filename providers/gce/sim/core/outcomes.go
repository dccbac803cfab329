package core

import (
	"cmp"
	"net/http"
	"time"
)

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
