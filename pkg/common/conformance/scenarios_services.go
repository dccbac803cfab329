package conformance

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/compare"
	"github.com/unified-ccm/unified-ccm/pkg/common/conformance/internal/steps"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

func serviceScenarios() []Scenario {
	return []Scenario{
		{
			Name: "load balancer created", Needs: needsBalancer,
			Doc: "A Service of type LoadBalancer gets one load balancer with a listener for each port and every node as a " +
				"member.",
			Steps: withNodes(3, func(ctx context.Context, r *Session) error {
				return r.change(ctx, loadBalancerService("web", 80, 443))
			}),
		},
		{
			Name: "Service before nodes", Needs: needsBalancer,
			Doc: "A load balancer that is created before there are nodes gets them as members as they join.",
			Steps: func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.change(ctx, loadBalancerService("web", 80)) },
					func() error { return r.JoinN(ctx, 2) },
					func() error { return r.Converge(ctx) },
				)
			},
		},
		{
			Name: "ports changed", Needs: needsBalancer,
			Doc: "Ports added, moved to another node port and removed change exactly those listeners, and keep the address.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				added := loadBalancerService("web", 80, 443, 8080)
				moved := loadBalancerService("web", 80, 443, 8080)
				moved.Spec.Ports[0].NodePort = 32080
				return r.changes(ctx, loadBalancerService("web", 80, 443), added, moved, loadBalancerService("web", 8080))
			}),
		},
		{
			Name: "UDP and TCP on one port", Needs: needsBalancer,
			Doc: "Listeners of different protocols can share a port number.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				dns := loadBalancerService("dns", 53)
				dns.Spec.Ports = append(dns.Spec.Ports, port(v1.ProtocolUDP, 53))
				udp := loadBalancerService("dns")
				udp.Spec.Ports = []v1.ServicePort{port(v1.ProtocolUDP, 53)}
				return r.changes(ctx, dns, udp)
			}),
		},
		{
			Name: "nodes changed", Needs: needsBalancer,
			Doc:   "Members follow nodes that join, leave and are excluded by label.",
			Steps: nodesChanged,
		},
		{
			Name: "internal", Needs: needsBalancer,
			Doc: "A Service with the portable scheme annotation gets an internal load balancer.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				return r.change(ctx, makeInternal(loadBalancerService("db", 5432)))
			}),
		},
		{
			Name: "source ranges", Needs: needsBalancer,
			Doc: "Source ranges are set, changed and removed on a load balancer that stays.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				return r.changes(ctx,
					withSourceRanges(loadBalancerService("web", 80), "203.0.113.0/24"),
					withSourceRanges(loadBalancerService("web", 80), "203.0.113.0/25", "192.0.2.7/32"),
					loadBalancerService("web", 80))
			}),
		},
		{
			Name: "source ranges of ports", Needs: needsBalancer,
			Doc: "Source ranges of single ports are set, moved between ports and removed, and no port is ever open to clients " +
				"that neither the Service before the change nor the one after it allows.",
			Steps: withNodes(2, portRanges),
		},
		{
			Name: "deletion", Needs: needsBalancer,
			Doc: "Deleting a Service deletes all of its objects, and none of other Services.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.Put(ctx, loadBalancerService("web", 80, 443)) },
					func() error { return r.change(ctx, loadBalancerService("api", 443)) },
					func() error { return r.Delete(ctx, "web") },
					func() error { return r.Converge(ctx, r.deleted("web")) },
				)
			}),
		},
		{
			Name: "type changed", Needs: needsBalancer,
			Doc: "A Service that stops being of type LoadBalancer loses its load balancer, its address and the finalizer.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				plain := loadBalancerService("web", 80)
				plain.Spec.Type = v1.ServiceTypeClusterIP
				return steps.Run(
					func() error { return r.change(ctx, loadBalancerService("web", 80)) },
					func() error { return r.Put(ctx, plain) },
					func() error { return r.Converge(ctx, r.hasNoBalancer("web")) },
				)
			}),
		},
		{
			Name: "made again under the same name", Needs: needsBalancer,
			Doc: "A Service that is deleted and recreated under its name has one load balancer, its own.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.change(ctx, loadBalancerService("web", 80)) },
					func() error { return r.Delete(ctx, "web") },
					func() error { return r.Converge(ctx, r.deleted("web")) },
					func() error { return r.change(ctx, loadBalancerService("web", 80)) },
				)
			}),
		},
		{
			Name: "two Services at once", Needs: needsBalancer,
			Doc: "Services that are synced concurrently don't mix and don't take each other's addresses.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				return steps.Run(
					func() error { return r.Put(ctx, loadBalancerService("web", 80)) },
					func() error { return r.Put(ctx, makeInternal(loadBalancerService("db", 5432))) },
					func() error { return r.Converge(ctx) },
				)
			}),
		},
	}
}

func nodesChanged(ctx context.Context, r *Session) error {
	return steps.Run(
		func() error { return r.JoinN(ctx, 2) },
		func() error { return r.change(ctx, loadBalancerService("web", 80, 443)) },
		func() error { return r.Join(ctx, Machine{Name: "node-3"}) },
		func() error { return r.Join(ctx, Machine{Name: "node-4"}) },
		func() error { return r.Converge(ctx) },
		func() error { return r.Terminate(ctx, "node-1", true) },
		func() error { return r.Converge(ctx) },
	)
}

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
