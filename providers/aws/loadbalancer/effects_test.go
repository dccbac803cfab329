package loadbalancer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/golden"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// effect is one value of an annotation, and what it needs to have an effect.
type effect struct {
	// on is the generation of load balancer; both if it is empty.
	on    annotation.Type
	value string
	// instead is the value without it; empty for none.
	instead string
	// given is what the Service has besides, with and without the annotation.
	given    []func(*v1.Service)
	settings func(*Settings)
	sim      sim.Options
}

func also(changes ...func(*v1.Service)) []func(*v1.Service) { return changes }

const (
	onNetwork = annotation.Network
	onClassic = annotation.Classic
)

var (
	encrypted = also(annotate(annotation.KeyCertificates, certificateA))
	probed    = also(annotate(annotation.KeyHealthCheckProtocol, "http"))
	logged    = also(annotate(annotation.KeyAccessLog, "true", annotation.KeyAccessLogBucket, "logs"))
	private   = also(annotate(annotation.KeyInternal, "true"))
	dual      = also(func(s *v1.Service) { s.Spec.IPFamilies = []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} })
)

func managed(s *Settings) { s.ManagedGroups = true }

// effects says for every annotation that a Service may carry which values are tried on which
// generation of load balancers. What comes of it is in testdata/annotations.golden.
func effects() map[string][]effect {
	all := map[string][]effect{
		annotation.KeyType:                 {{value: "nlb"}, {value: "external"}, {value: "NLB"}},
		annotation.KeyInternal:             {{value: "true"}, {value: "False"}},
		annotation.KeySubnets:              {{value: "{public-2},{public-0}"}},
		annotation.KeySecurityGroups:       {{value: "{group-own}", settings: managed}, {on: onNetwork, value: "{group-own}"}},
		annotation.KeyExtraSecurityGroups:  {{value: "{group-own}"}},
		annotation.KeyAllocations:          {{value: "{elastic-0},{elastic-1},{elastic-2}"}},
		annotation.KeyPrivateIPv4:          {{value: "10.0.64.100,10.0.128.100,10.0.192.100", given: private}},
		annotation.KeyTags:                 {{value: "team=web,stage="}},
		annotation.KeyCertificates:         {{value: certificateA}, {value: certificateA + "," + certificateB}},
		annotation.KeyTLSPorts:             {{value: "443", given: encrypted}, {value: "http", given: encrypted}, {value: "443"}},
		annotation.KeyTLSPolicy:            {{value: "ELBSecurityPolicy-TLS-1-2-2017-01", given: encrypted}, {value: "ELBSecurityPolicy-TLS-1-2-2017-01"}},
		annotation.KeyBackendProtocol:      {{value: "ssl", given: encrypted}, {value: "http", given: encrypted}},
		annotation.KeyProxyProtocol:        {{value: "*"}},
		annotation.KeyCrossZone:            {{value: "true"}},
		annotation.KeyAccessLog:            {{value: "true", given: also(annotate(annotation.KeyAccessLogBucket, "logs"))}, {value: "true"}},
		annotation.KeyAccessLogInterval:    {{value: "5", given: logged}, {value: "5"}},
		annotation.KeyAccessLogBucket:      {{value: "other", instead: "logs", given: also(annotate(annotation.KeyAccessLog, "true"))}, {value: "logs"}},
		annotation.KeyAccessLogPrefix:      {{value: "prod/web", given: logged}, {value: "prod/web"}},
		annotation.KeyDraining:             {{value: "true"}},
		annotation.KeyDrainTimeout:         {{value: "60", given: also(annotate(annotation.KeyDraining, "true"))}, {value: "60"}},
		annotation.KeyIdleTimeout:          {{value: "300"}},
		annotation.KeyHealthCheckProtocol:  {{value: "http"}},
		annotation.KeyHealthCheckPort:      {{value: "10256"}, {value: "traffic-port", given: also(local)}},
		annotation.KeyHealthCheckPath:      {{value: "/ready", given: probed}, {value: "/ready"}},
		annotation.KeyHealthCheckHealthy:   {{value: "4"}},
		annotation.KeyHealthCheckUnhealthy: {{value: "4"}},
		annotation.KeyHealthCheckTimeout:   {{value: "7"}},
		annotation.KeyHealthCheckInterval:  {{value: "15"}},
		annotation.KeyGroupAttributes:      {{value: "preserve_client_ip.enabled=false,deregistration_delay.timeout_seconds=60"}},
		annotation.KeyNodeLabels:           {{value: "pool=ingress"}},
		annotation.KeyName:                 {{value: "web-prod"}},
		annotation.KeyTargetType:           {{value: "ip"}},
		annotation.KeyIPv6: {{value: "2001:db8:1234:1a00::100,2001:db8:1234:1a01::100,2001:db8:1234:1a02::100", given: dual, sim: sim.Options{IPv6: true}},
			{on: onNetwork, value: "2001:db8::1"}},
		v1.AnnotationLoadBalancerSourceRangesKey: {{value: "192.0.2.0/24"}},

		intent.KeyScheme:       {{value: "internal"}},
		intent.KeySourceRanges: {{value: "192.0.2.0/24"}},
		intent.KeyPortSourceRanges: {{value: "http=192.0.2.0/24"}, {value: "htp=192.0.2.0/24"},
			{on: onClassic, value: "http=192.0.2.0/24", given: also(annotate(annotation.KeySecurityGroups, "{group-own}"))},
			{on: onNetwork, value: "http=192.0.2.0/24", given: also(annotate(annotation.KeySecurityGroups, "{group-own}")), settings: managed},
			{on: onNetwork, value: "http=192.0.2.0/24", settings: managed}},
		intent.KeyProxyProtocol: {{on: onClassic, value: "v1"}, {on: onNetwork, value: "v2"}, {on: onNetwork, value: "v1"}},
		intent.KeyTLSCertificate: {{value: certificateA}, {value: "https://barbican.example.org/v1/containers/8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"},
			{value: certificateB, given: encrypted}},
		intent.KeyTLSPorts:                      {{value: "443", given: also(annotate(intent.KeyTLSCertificate, certificateA))}, {value: "https"}},
		intent.KeyForwardedHeaders:              {{value: "http"}, {on: onClassic, value: "*", given: encrypted}, {value: "http", given: also(annotate(annotation.KeyBackendProtocol, "ssl"))}},
		intent.KeyConnectionDrainingTimeout:     {{value: "60s"}, {value: "0s", given: also(annotate(annotation.KeyDraining, "true"))}},
		intent.KeyHealthCheckProtocol:           {{value: "HTTP"}},
		intent.KeyHealthCheckPort:               {{value: "10256"}},
		intent.KeyHealthCheckPath:               {{value: "/ready", given: also(annotate(intent.KeyHealthCheckProtocol, "HTTP"))}},
		intent.KeyHealthCheckInterval:           {{value: "15s"}},
		intent.KeyHealthCheckTimeout:            {{value: "7s"}},
		intent.KeyHealthCheckHealthyThreshold:   {{value: "4"}},
		intent.KeyHealthCheckUnhealthyThreshold: {{value: "4"}},
		intent.KeyIdleTimeout:                   {{value: "5m"}},
		intent.KeyStaticAddresses:               {{value: "{elastic-2},{elastic-0},{elastic-1}"}, {on: onNetwork, value: "192.0.2.1"}},
		intent.KeyTags:                          {{value: "team=web=x"}},
		intent.KeySubnets:                       {{value: "{public-2},{public-0}"}},
	}
	return all
}

// documented are the keys of every annotation that the provider says it honours.
func documented() []string {
	return append(slices.Concat(annotation.Keys(), annotation.Portable()), v1.AnnotationLoadBalancerSourceRangesKey)
}

// Every annotation has an effect on each generation of load balancers, or a warning Event explains why
// not: facts that it adds (+) and removes (-), events, or a refusal.
func TestEveryAnnotationHasItsEffect(t *testing.T) {
	table := effects()
	for key := range table {
		if !slices.Contains(documented(), key) {
			t.Errorf("%s is tried and not documented", key)
		}
	}
	var report strings.Builder
	for _, key := range documented() {
		tried := map[annotation.Type]bool{}
		for _, e := range table[key] {
			for _, kind := range []annotation.Type{onClassic, onNetwork} {
				if e.on != "" && e.on != kind || key == annotation.KeyType && kind == onNetwork {
					continue
				}
				tried[kind] = true
				fmt.Fprintf(&report, "%s: %q (%s)\n%s\n", key, e.value, kind, e.difference(t, key, kind))
			}
		}
		if !tried[onClassic] || !tried[onNetwork] && key != annotation.KeyType {
			t.Errorf("%s is not tried on both generations: %v", key, tried)
		}
	}
	golden.Compare(t, "annotations.golden", report.String())
}

// difference is what the annotation changes for a new Service.
func (e effect) difference(t *testing.T, key string, kind annotation.Type) string {
	t.Helper()
	base := append([]func(*v1.Service){generation(kind)}, e.given...)
	settings := e.settings
	if settings == nil {
		settings = func(*Settings) {}
	}
	instead := without(key)
	if e.instead != "" {
		instead = annotate(key, e.instead)
	}
	before := look(t, e.sim, settings, service(append(base, instead)...))
	if before.Refused != nil {
		t.Fatalf("%s without the annotation: %v", key, before.Refused)
	}
	after := look(t, e.sim, settings, service(append(base, annotate(key, e.value))...))
	difference := after.DiffFrom(before)
	if difference == "" {
		t.Errorf("%s: %q does nothing to a %s load balancer, and no Event says so", key, e.value, kind)
	}
	return difference
}
