package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/compare"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// portRanges changes the source ranges of single ports, while every state between two changes is observed.
func portRanges(ctx context.Context, r *Session) error {
	version := func(ports string, ranges ...string) *v1.Service {
		svc := withSourceRanges(loadBalancerService("web", 80, 443), ranges...)
		if ports != "" {
			svc.Annotations[intent.KeyPortSourceRanges] = ports
		}
		return svc
	}
	moved := version("80=203.0.113.0/24")
	moved.Spec.Ports = append(moved.Spec.Ports[1:], port(v1.ProtocolTCP, 8080))
	moved.Annotations[intent.KeyPortSourceRanges] = "8080=203.0.113.0/24; 443=192.0.2.7/32"
	return r.changesWithin(ctx,
		version("80=203.0.113.0/24"),
		version("443=203.0.113.0/24"),
		version("80=192.0.2.7/32; 443=203.0.113.0/25,192.0.2.0/24"),
		version("80=192.0.2.0/24", "192.0.2.7/32", "203.0.113.0/24"),
		version("", "203.0.113.0/24"),
		moved,
		loadBalancerService("web", 80))
}

// changesWithin puts versions of one Service one after the other. During each change, a port may be open to the clients
// of the previous and of the next version, and to no others.
func (r *Session) changesWithin(ctx context.Context, versions ...*v1.Service) error {
	o := &rangeObserver{world: r.World}
	r.World.Front().AfterMutations(o.observe)
	defer r.World.Front().AfterMutations(nil)
	for i, svc := range versions {
		o.allow(versions[max(i-1, 0)], svc)
		if err := r.change(ctx, svc); err != nil {
			return steps.Wrap(fmt.Sprintf("version %d of service %s", i+1, svc.Name), err)
		}
	}
	return o.err()
}

// rangeObserver compares the source ranges of all listeners with those that some versions of a Service allow.
type rangeObserver struct {
	world World

	mu       sync.Mutex
	versions []*v1.Service
	problems []error
}

func (o *rangeObserver) allow(versions ...*v1.Service) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.versions = versions
}

func (o *rangeObserver) err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return errors.Join(o.problems...)
}

// observe checks the current state.
func (o *rangeObserver) observe() {
	balancers := o.world.LoadBalancers()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, lb := range balancers {
		for _, l := range lb.Listeners {
			allowed, restricted := o.allowed(l)
			if restricted && (compare.OpenTo(l.SourceRanges) == nil || !isSubset(l.SourceRanges, allowed)) {
				o.problems = append(o.problems, fmt.Errorf("during a change, port %d of %s is open to %v, which is more than %v",
					l.Port, lb.Name, l.SourceRanges, allowed))
			}
		}
	}
}

// allowed returns the ranges of all versions for a port; it is not restricted if one version allows all clients.
func (o *rangeObserver) allowed(l Listener) (ranges []string, restricted bool) {
	for _, svc := range o.versions {
		for _, p := range svc.Spec.Ports {
			if p.Port != l.Port || p.Protocol != l.Protocol {
				continue
			}
			atPort := compare.RangesAt(svc, p)
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
