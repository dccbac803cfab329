package sim

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// MergeQuotas returns the quotas of a cloud: the defaults, overridden by the given ones.
func MergeQuotas(defaults, given map[string]int) map[string]int {
	out := maps.Clone(defaults)
	maps.Copy(out, given)
	return out
}

// Problems collects the errors in a simulator's options, so that all of them are reported at once. The zero
// value is empty.
type Problems struct{ errs []error }

// Addf adds a problem.
func (p *Problems) Addf(format string, args ...any) {
	p.errs = append(p.errs, fmt.Errorf(format, args...))
}

// CheckErrorRate adds a problem unless the rate is a probability.
func (p *Problems) CheckErrorRate(rate float64) {
	if !(rate >= 0 && rate <= 1) {
		p.Addf("error rate %v is not between 0 and 1", rate)
	}
}

// CheckQuotas adds a problem for each quota that the defaults do not have.
func (p *Problems) CheckQuotas(given, defaults map[string]int) {
	known := strings.Join(slices.Sorted(maps.Keys(defaults)), ", ")
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, ok := defaults[name]; !ok {
			p.Addf("quota %q is unknown: use one of %s", name, known)
		}
	}
}

// CheckDurations adds a problem for each negative duration.
func (p *Problems) CheckDurations(list ...time.Duration) {
	for _, d := range list {
		if d < 0 {
			p.Addf("duration %v must not be negative", d)
		}
	}
}

// Err returns all problems joined, nil if there are none.
func (p *Problems) Err() error { return errors.Join(p.errs...) }

// UUID returns a random UUID (version 4), as clouds use for requests and objects.
func UUID(r *rand.Rand) string {
	hi, lo := r.Uint64(), r.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xfff, lo>>48&0x3fff|0x8000,
		lo&0xffffffffffff)
}
