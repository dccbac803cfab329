package compare

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// declaredSupport returns what a descriptor claims about a portable annotation.
func declaredSupport(key string) func(provider.Descriptor) report.Verdict {
	return func(d provider.Descriptor) report.Verdict {
		switch {
		case !d.Capabilities.LoadBalancer:
			return report.NotApplicable
		case slices.Contains(d.Portable, key):
			return report.Works
		default:
			return report.Refuses
		}
	}
}

// portableID is the prefix of the IDs of scenarios of portable annotations.
const portableID = "annotation."

// portableScenario returns the scenario of a portable annotation. Values must differ from every cloud's defaults.
func portableScenario(key, title, detail string, c spec) Scenario {
	return Scenario{
		ID: portableID + strings.TrimPrefix(key, intent.Prefix), Group: groupAnnotations, Title: title, Detail: detail,
		Declared: declaredSupport(key), Run: c.run,
	}
}

// annotationSpec is the scenario of a Service with annotations.
func annotationSpec(e effect, annotations ...string) spec {
	return spec{service: serviceWith(withAnnotations(annotations...)), effect: e}
}

// annotationScenarios has one scenario for each portable annotation.
func annotationScenarios() []Scenario {
	return slices.Concat([]Scenario{
		portableScenario(intent.KeyScheme, "Internal load balancer",
			"Only the cloud's private network reaches the load balancer.",
			annotationSpec(checkInternal, intent.KeyScheme, string(intent.Internal))),
		portableScenario(intent.KeySourceRanges, "Source ranges", "Only the ranges of the annotation may connect.",
			annotationSpec(hasSourceRanges(sampleRanges), intent.KeySourceRanges, sampleRanges)),
		portableScenario(intent.KeyPortSourceRanges, "Source ranges of a port",
			"Only the ranges of the annotation may connect to one port, and all clients to the other.", spec{
				service: serviceWith(twoPorts, withAnnotations(intent.KeyPortSourceRanges, "ssh="+sampleRanges)),
				effect:  hasPortRanges(map[int32]string{22: sampleRanges, 443: allClients}),
			}),
		portableScenario(intent.KeyProxyProtocol, "PROXY protocol v2",
			"Connections to the nodes begin with a PROXY protocol header, "+
				"version 2.", annotationSpec(has(proxyProtocol, "v2"), intent.KeyProxyProtocol, "v2")),
		{
			ID: portableID + "proxy-protocol-v1", Group: groupAnnotations, Title: "PROXY protocol v1",
			Detail:   "Connections to the nodes begin with a PROXY protocol header, version 1.",
			Declared: declaresBalancers,
			Run:      annotationSpec(has(proxyProtocol, "v1"), intent.KeyProxyProtocol, "v1").run,
		},
		portableScenario(intent.KeyAlgorithm, "Algorithm", "New connections go to the node with the fewest open ones.",
			annotationSpec(has(algorithm, "least-connections"), intent.KeyAlgorithm, "least-connections")),
	}, listenerScenarios(), healthCheckScenarios(), resourceScenarios())
}

func listenerScenarios() []Scenario {
	encrypted := func(annotations ...string) func(t *Trial) (*v1.Service, error) {
		return func(t *Trial) (*v1.Service, error) {
			certificate := withAnnotations(intent.KeyTLSCertificate, t.fixtures.certificate)
			return newService(twoPorts, certificate, withAnnotations(annotations...)), nil
		}
	}
	return []Scenario{
		portableScenario(intent.KeyTLSCertificate, "TLS at the load balancer",
			"The load balancer terminates TLS on all TCP ports.",
			spec{service: encrypted(), effect: terminatesTLS("22, 443")}),
		portableScenario(intent.KeyTLSPorts, "TLS on some ports", "The load balancer terminates TLS on one port of two.",
			spec{service: encrypted(intent.KeyTLSPorts, "https"), effect: terminatesTLS("443")}),
		portableScenario(intent.KeyForwardedHeaders, "X-Forwarded headers",
			"The load balancer reads HTTP and adds the headers X-Forwarded-For, -Proto and -Port.",
			annotationSpec(has(forwardedHeaders, "on"), intent.KeyForwardedHeaders, "http")),
		portableScenario(intent.KeyConnectionDrainingTimeout, "Connection draining",
			"Open connections to a node that leaves have 45 seconds to finish.",
			annotationSpec(has(connectionDraining, "45"), intent.KeyConnectionDrainingTimeout, "45s")),
	}
}

func healthCheckScenarios() []Scenario {
	return []Scenario{
		portableScenario(intent.KeyHealthCheckProtocol, "Health check by HTTP", "Nodes are probed by HTTP.",
			annotationSpec(has(healthCheckProtocol, "HTTP"), intent.KeyHealthCheckProtocol, "HTTP")),
		portableScenario(intent.KeyHealthCheckPort, "Health check port", "Nodes are probed on port 10256.",
			annotationSpec(has(healthCheckPort, "10256"), intent.KeyHealthCheckPort, "10256")),
		portableScenario(intent.KeyHealthCheckPath, "Health check path", "Nodes are probed by HTTP at /ready.",
			annotationSpec(has(healthCheckPath, "/ready"), intent.KeyHealthCheckProtocol, "HTTP", intent.KeyHealthCheckPath,
				"/ready")),
		portableScenario(intent.KeyHealthCheckInterval, "Health check interval", "Nodes are probed every 15 seconds.",
			annotationSpec(has(healthCheckInterval, "15"), intent.KeyHealthCheckInterval, "15s")),
		portableScenario(intent.KeyHealthCheckTimeout, "Health check timeout", "A probe times out after 7 seconds.",
			annotationSpec(has(healthCheckTimeout, "7"), intent.KeyHealthCheckTimeout, "7s", intent.KeyHealthCheckInterval,
				"15s")),
		portableScenario(intent.KeyHealthCheckHealthyThreshold, "Healthy threshold",
			"A node gets traffic after 4 successful probes.",
			annotationSpec(has(healthyThreshold, "4"), intent.KeyHealthCheckHealthyThreshold, "4")),
		portableScenario(intent.KeyHealthCheckUnhealthyThreshold, "Unhealthy threshold",
			"A node gets no traffic after 7 failed probes.",
			annotationSpec(has(unhealthyThreshold, "7"), intent.KeyHealthCheckUnhealthyThreshold, "7")),
	}
}

func resourceScenarios() []Scenario {
	return []Scenario{
		portableScenario(intent.KeyIdleTimeout, "Idle timeout", "A connection without traffic stays open for 90 seconds.",
			annotationSpec(has(idleTimeout, "90"), intent.KeyIdleTimeout, "90s")),
		portableScenario(intent.KeyStaticAddresses, "Static addresses", "The load balancer gets the reserved addresses.",
			spec{
				service: func(t *Trial) (*v1.Service, error) {
					return newService(withAnnotations(intent.KeyStaticAddresses, strings.Join(t.fixtures.reserved, ","))), nil
				},
				effect: checkReservedAddresses,
			}),
		portableScenario(intent.KeyTags, "Tags", "The load balancer has the tag team=web.",
			annotationSpec(has(tagTeam, "web"), intent.KeyTags, "team=web")),
		portableScenario(intent.KeySubnets, "Subnets",
			"An internal load balancer is in a subnet that is not the default one.", spec{
				service: func(t *Trial) (*v1.Service, error) {
					return newService(withAnnotations(intent.KeyScheme, string(intent.Internal), intent.KeySubnets,
						t.fixtures.subnet)), nil
				},
				effect: func(s *state) []report.Check { return has(loadBalancerSubnet, s.fixtures.subnet)(s) },
			}),
	}
}

func checkInternal(s *state) []report.Check {
	got := string(intent.Public)
	if s.balancer.Internal {
		got = string(intent.Internal)
	}
	return []report.Check{s.check("scheme", string(intent.Internal), got)}
}
