package compare

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/cmd/ccm-lab/internal/compare/report"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// declares returns what a descriptor claims about a portable annotation.
func declares(key string) func(provider.Descriptor) report.Verdict {
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

// portable returns the scenario of a portable annotation. Values must differ from every cloud's defaults.
func portable(key, title, detail string, c spec) Scenario {
	return Scenario{
		ID: portableID + strings.TrimPrefix(key, intent.Prefix), Group: groupAnnotations, Title: title, Detail: detail,
		Declared: declares(key), Run: c.run,
	}
}

// annotationScenarios has one scenario for each portable annotation.
func annotationScenarios() []Scenario {
	return slices.Concat([]Scenario{
		portable(intent.KeyScheme, "Internal load balancer", "Only the cloud's private network reaches the load balancer.",
			spec{service: fixed(annotated(intent.KeyScheme, string(intent.Internal))), effect: isInternal}),
		portable(intent.KeySourceRanges, "Source ranges", "Only the ranges of the annotation may connect.",
			spec{service: fixed(annotated(intent.KeySourceRanges, someRanges)), effect: allows(someRanges)}),
		portable(intent.KeyPortSourceRanges, "Source ranges of a port", "Only the ranges of the annotation may connect to "+
			"one port, and all clients to the other.", spec{
			service: fixed(twoPorts, annotated(intent.KeyPortSourceRanges, "ssh="+someRanges)),
			effect:  opensPorts(map[int32]string{22: someRanges, 443: everyone}),
		}),
		portable(intent.KeyProxyProtocol, "PROXY protocol v2", "Connections to the nodes begin with a PROXY protocol "+
			"header, "+
			"version 2.", spec{service: fixed(annotated(intent.KeyProxyProtocol, "v2")), effect: has(proxyProtocol, "v2")}),
		{
			ID: portableID + "proxy-protocol-v1", Group: groupAnnotations, Title: "PROXY protocol v1",
			Detail:   "Connections to the nodes begin with a PROXY protocol header, version 1.",
			Declared: declaresBalancers,
			Run:      spec{service: fixed(annotated(intent.KeyProxyProtocol, "v1")), effect: has(proxyProtocol, "v1")}.run,
		},
	}, listenerScenarios(), healthCheckScenarios(), resourceScenarios())
}

func listenerScenarios() []Scenario {
	encrypted := func(annotations ...string) func(t *Trial) (*v1.Service, error) {
		return func(t *Trial) (*v1.Service, error) {
			certificate := annotated(intent.KeyTLSCertificate, t.fixtures.certificate)
			return newService(twoPorts, certificate, annotated(annotations...)), nil
		}
	}
	return []Scenario{
		portable(intent.KeyTLSCertificate, "TLS at the load balancer", "The load balancer terminates TLS on all TCP ports.",
			spec{service: encrypted(), effect: terminatesTLS("22, 443")}),
		portable(intent.KeyTLSPorts, "TLS on some ports", "The load balancer terminates TLS on one port of two.",
			spec{service: encrypted(intent.KeyTLSPorts, "https"), effect: terminatesTLS("443")}),
		portable(intent.KeyForwardedHeaders, "X-Forwarded headers", "The load balancer reads HTTP and adds the headers "+
			"X-Forwarded-For, -Proto and -Port.",
			spec{service: fixed(annotated(intent.KeyForwardedHeaders, "http")), effect: has(forwardedHeaders, "on")}),
		portable(intent.KeyConnectionDrainingTimeout, "Connection draining", "Open connections to a node that leaves "+
			"have 45 seconds to finish.",
			spec{
				service: fixed(annotated(intent.KeyConnectionDrainingTimeout, "45s")), effect: has(connectionDraining, "45"),
			}),
	}
}

func healthCheckScenarios() []Scenario {
	return []Scenario{
		portable(intent.KeyHealthCheckProtocol, "Health check by HTTP", "Nodes are probed by HTTP.",
			spec{service: fixed(annotated(intent.KeyHealthCheckProtocol, "HTTP")), effect: has(healthCheckProtocol, "HTTP")}),
		portable(intent.KeyHealthCheckPort, "Health check port", "Nodes are probed on port 10256.",
			spec{service: fixed(annotated(intent.KeyHealthCheckPort, "10256")), effect: has(healthCheckPort, "10256")}),
		portable(intent.KeyHealthCheckPath, "Health check path", "Nodes are probed by HTTP at /ready.",
			spec{
				service: fixed(annotated(intent.KeyHealthCheckProtocol, "HTTP", intent.KeyHealthCheckPath, "/ready")),
				effect:  has(healthCheckPath, "/ready"),
			}),
		portable(intent.KeyHealthCheckInterval, "Health check interval", "Nodes are probed every 15 seconds.",
			spec{service: fixed(annotated(intent.KeyHealthCheckInterval, "15s")), effect: has(healthCheckInterval, "15")}),
		portable(intent.KeyHealthCheckTimeout, "Health check timeout", "A probe times out after 7 seconds.",
			spec{
				service: fixed(annotated(intent.KeyHealthCheckTimeout, "7s", intent.KeyHealthCheckInterval, "15s")),
				effect:  has(healthCheckTimeout, "7"),
			}),
		portable(intent.KeyHealthCheckHealthyThreshold, "Healthy threshold", "A node gets traffic after 4 successful probes.",
			spec{service: fixed(annotated(intent.KeyHealthCheckHealthyThreshold, "4")), effect: has(healthyThreshold, "4")}),
		portable(intent.KeyHealthCheckUnhealthyThreshold, "Unhealthy threshold", "A node gets no traffic after 7 failed "+
			"probes.",
			spec{service: fixed(annotated(intent.KeyHealthCheckUnhealthyThreshold, "7")), effect: has(unhealthyThreshold, "7")}),
	}
}

func resourceScenarios() []Scenario {
	return []Scenario{
		portable(intent.KeyIdleTimeout, "Idle timeout", "A connection without traffic stays open for 90 seconds.",
			spec{service: fixed(annotated(intent.KeyIdleTimeout, "90s")), effect: has(idleTimeout, "90")}),
		portable(intent.KeyStaticAddresses, "Static addresses", "The load balancer gets the reserved addresses.",
			spec{
				service: func(t *Trial) (*v1.Service, error) {
					return newService(annotated(intent.KeyStaticAddresses, strings.Join(t.fixtures.reserved, ","))), nil
				},
				effect: hasReserved,
			}),
		portable(intent.KeyTags, "Tags", "The load balancer has the tag team=web.",
			spec{service: fixed(annotated(intent.KeyTags, "team=web")), effect: has(tagTeam, "web")}),
		portable(intent.KeySubnets, "Subnets", "The load balancer is in a subnet that is not the default one.",
			spec{
				service: func(t *Trial) (*v1.Service, error) {
					return newService(annotated(intent.KeySubnets, t.fixtures.subnet)), nil
				},
				effect: func(s *state) []report.Check { return has(loadBalancerSubnet, s.fixtures.subnet)(s) },
			}),
	}
}

func isInternal(s *state) []report.Check {
	got := string(intent.Public)
	if s.balancer.Internal {
		got = string(intent.Internal)
	}
	return []report.Check{s.check("scheme", string(intent.Internal), got)}
}

// hasReserved checks that the load balancer uses the reserved addresses.
func hasReserved(s *state) []report.Check {
	want := slices.Sorted(slices.Values(s.fixtures.reserved))
	return has(balancerAddress, strings.Join(want, ", "))(s)
}
