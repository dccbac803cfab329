package conformance

import (
	"context"
	"fmt"

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
	o := compare.ObserveRanges(r.World.LoadBalancers)
	r.World.Front().AfterMutations(o.Observe)
	defer r.World.Front().AfterMutations(nil)
	for i, svc := range versions {
		o.Allow(versions[max(i-1, 0)], svc)
		if err := r.change(ctx, svc); err != nil {
			return steps.Wrap(fmt.Sprintf("version %d of service %s", i+1, svc.Name), err)
		}
	}
	return o.Err()
}
