package conformance

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// listenerScenarios have the portable annotations about TLS and HTTP at the load balancer, and about leaving nodes.
func listenerScenarios() []Scenario {
	return []Scenario{
		{
			Name: "TLS at the load balancer", Needs: needsBalancer, NeedsCertificates: true,
			Annotations: []string{intent.KeyTLSCertificate, intent.KeyTLSPorts},
			Doc: "The load balancer terminates TLS on all TCP ports, then on the ports that the Service names, then on " +
				"none.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				tls := map[string]string{intent.KeyTLSCertificate: r.World.(world.Certificates).Certificate()}
				return r.changes(ctx,
					annotated(tls), annotated(tls, intent.KeyTLSPorts, "443"), annotated(tls, intent.KeyTLSPorts, "tcp-80"),
					annotated(nil))
			}),
		},
		{
			Name: "forwarded headers", Needs: needsBalancer, Annotations: []string{intent.KeyForwardedHeaders},
			Doc: "The load balancer adds the X-Forwarded headers on the ports that the Service names, and on no others.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				return r.changes(ctx, annotated(nil, intent.KeyForwardedHeaders, "80"),
					annotated(nil, intent.KeyForwardedHeaders, "*"), annotated(nil))
			}),
		},
		{
			Name: "connection draining", Needs: needsBalancer, Annotations: []string{intent.KeyConnectionDrainingTimeout},
			Doc: "The time that open connections to a leaving node have follows the Service.",
			Steps: withNodes(2, func(ctx context.Context, r *Session) error {
				return r.changes(ctx, annotated(nil, intent.KeyConnectionDrainingTimeout, "45s"),
					annotated(nil, intent.KeyConnectionDrainingTimeout, "90s"))
			}),
		},
	}
}

// annotated returns a Service with two ports, annotations, and one more.
func annotated(annotations map[string]string, more ...string) *v1.Service {
	svc := loadBalancerService("web", 80, 443)
	for key, value := range annotations {
		svc.Annotations[key] = value
	}
	for i := 0; i+1 < len(more); i += 2 {
		svc.Annotations[more[i]] = more[i+1]
	}
	return svc
}
