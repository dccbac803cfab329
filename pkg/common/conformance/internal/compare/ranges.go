package compare

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// RangeObserver compares the source ranges of all listeners with those that some versions of a Service allow.
type RangeObserver struct {
	balancers func() []world.LoadBalancer

	mu       sync.Mutex
	versions []*v1.Service
	problems []error
}

// ObserveRanges returns an observer of these load balancers.
func ObserveRanges(balancers func() []world.LoadBalancer) *RangeObserver {
	return &RangeObserver{balancers: balancers}
}

// Allow sets the versions of the Service whose clients a port may be open to.
func (o *RangeObserver) Allow(versions ...*v1.Service) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.versions = versions
}

// Err returns what was observed and is open to other clients.
func (o *RangeObserver) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return errors.Join(o.problems...)
}

// Observe checks the present state.
func (o *RangeObserver) Observe() {
	balancers := o.balancers()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, lb := range balancers {
		for _, l := range lb.Listeners {
			if len(l.Members) == 0 {
				continue // Open to nobody: no traffic reaches a node.
			}
			allowed, restricted := o.allowed(l)
			if restricted && (OpenTo(l.SourceRanges) == nil || !isSubset(l.SourceRanges, allowed)) {
				o.problems = append(o.problems, fmt.Errorf("during a change, port %d of %s is open to %v, which is more than %v",
					l.Port, lb.Name, l.SourceRanges, allowed))
			}
		}
	}
}

// allowed returns the ranges of all versions for a port; it is not restricted if one version allows all clients.
func (o *RangeObserver) allowed(l world.Listener) (ranges []string, restricted bool) {
	for _, svc := range o.versions {
		for _, p := range svc.Spec.Ports {
			if p.Port != l.Port || p.Protocol != l.Protocol {
				continue
			}
			atPort := RangesAt(svc, p)
			if atPort == nil {
				return nil, false
			}
			ranges, restricted = append(ranges, atPort...), true
		}
	}
	return ranges, restricted
}

// isSubset reports whether all items are allowed. "none" stands for no client.
func isSubset(items, allowed []string) bool {
	return !slices.ContainsFunc(items, func(item string) bool { return item != "none" && !slices.Contains(allowed, item) })
}
