package sim

import (
	"fmt"
	"math/rand/v2"
)

// script selects the calls that fail. It is not safe for concurrent use: the front's lock protects it, so
// that numbering and selection are one step.
type script struct {
	faults   []faultState
	rate     float64
	random   *rand.Rand
	injected int
}

// faultState is a fault with its counters.
type faultState struct {
	Fault
	seen, fired int
}

// newScript panics on a fault that cannot happen: a script that silently injects nothing would make a test of
// it pass.
func newScript(faults []Fault, errorRate float64, random *rand.Rand) *script {
	s := &script{rate: errorRate, random: random}
	for i, f := range faults {
		if err := f.validate(); err != nil {
			panic(fmt.Sprintf("sim: fault %d of the script: %v", i+1, err))
		}
		s.faults = append(s.faults, faultState{Fault: f})
	}
	return s
}

func (f Fault) validate() error {
	switch f.Kind {
	case FaultError, FaultThrottle, FaultDenied, FaultHang, FaultLostReply, FaultKillBefore, FaultKillAfter:
	default:
		return fmt.Errorf("unknown kind %q", f.Kind)
	}
	if f.Call < 0 {
		return fmt.Errorf("call %d: calls count from 1", f.Call)
	}
	if f.Rate < 0 || f.Rate > 1 {
		return fmt.Errorf("rate %v is not a probability from 0 to 1", f.Rate)
	}
	return nil
}

// next numbers one call and returns its fault; the zero Fault is none. Every fault counts every call that
// matches it, even if another fault applies, so that numbers do not depend on the other faults of the script.
// The first fault in the list has precedence.
func (s *script) next(op Operation) Fault {
	var chosen Fault
	for i := range s.faults {
		f := &s.faults[i]
		if f.Operation != "" && f.Operation != op.Name || f.Mutating && !op.Mutating {
			continue
		}
		f.seen++
		if chosen.Kind == "" && f.shouldFail(s.random) {
			f.fired++
			chosen = f.Fault
		}
	}
	if chosen.Kind == "" && s.rate > 0 && s.random.Float64() < s.rate {
		chosen = Fault{Kind: FaultError}
	}
	if chosen.Kind != "" {
		s.injected++
	}
	return chosen
}

// shouldFail reports whether the call just counted fails.
func (f *faultState) shouldFail(random *rand.Rand) bool {
	if f.seen < f.Call || f.isExhausted() {
		return false
	}
	return f.Rate == 0 || random.Float64() < f.Rate
}

// isExhausted reports whether the fault has failed all its calls.
func (f *faultState) isExhausted() bool {
	switch {
	case f.Times < 0 || f.Times == 0 && f.Rate > 0:
		return false
	case f.Times == 0:
		return f.fired >= 1
	default:
		return f.fired >= f.Times
	}
}
