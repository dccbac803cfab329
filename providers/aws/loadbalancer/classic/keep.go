package classic

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/pkg/common/sorting"
)

// Keep returns the desired state with the existing values of differences, and with what follows from them. Diff keeps
// those of policies, subnets, security groups and rules.
func (d Desired) Keep(have Observed, differences []plan.Difference) Desired {
	b := have.Balancer
	if b == nil || len(differences) == 0 {
		return d
	}
	d.Kept = differences
	if d.Managed != nil {
		managed := *d.Managed
		managed.Kept = differences
		d.Managed = &managed
	}
	for _, l := range b.Listeners {
		if d.keeps(kindListeners, b.Name, listenerField(l.Port)) {
			d = d.keepListener(l)
		}
	}
	return d
}

// keepListener is for a listener that is neither deleted nor replaced. The rules for its port are differences of their
// own. The health check is that of its own node port, not of its replacement's. A certificate changes in place.
func (d Desired) keepListener(have Listener) Desired {
	have.Policies, have.Removed = nil, false
	d.Listeners = slices.Clone(d.Listeners)
	i := slices.IndexFunc(d.Listeners, func(l Listener) bool { return l.Port == have.Port })
	if i >= 0 {
		if want := d.Listeners[i]; have.encrypted() && want.encrypted() {
			have.Certificate = want.Certificate
		}
		d.Listeners[i] = have
	} else {
		d.Listeners = append(d.Listeners, have)
		sorting.Func(d.Listeners, compareListeners)
	}
	if d.probe != nil && have.Port == d.probed {
		d.HealthCheck.Target = d.probe(have)
	}
	return d
}
