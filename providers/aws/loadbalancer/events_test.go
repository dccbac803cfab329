package loadbalancer

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/golden"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim"
)

// valid has a good value for every annotation, all of which one Service can carry at once, but for
// the two kinds of addresses that another choice excludes: of internal load balancers, and of IPv6.
func valid() map[string]string {
	return map[string]string{
		annotation.KeyInternal: "false", annotation.KeySubnets: "{public-2},{public-0}", annotation.KeySecurityGroups: "{group-own}",
		annotation.KeyExtraSecurityGroups: "{group-own}", annotation.KeyAllocations: "{elastic-0},{elastic-1}", annotation.KeyTags: "team=web",
		annotation.KeyCertificates: certificateA, annotation.KeyTLSPorts: "https", annotation.KeyTLSPolicy: "ELBSecurityPolicy-TLS-1-2-2017-01",
		annotation.KeyBackendProtocol: "ssl", annotation.KeyProxyProtocol: "*", annotation.KeyCrossZone: "true", annotation.KeyAccessLog: "true",
		annotation.KeyAccessLogInterval: "5", annotation.KeyAccessLogBucket: "logs", annotation.KeyAccessLogPrefix: "web", annotation.KeyDraining: "true",
		annotation.KeyDrainTimeout: "60", annotation.KeyIdleTimeout: "300", annotation.KeyHealthCheckProtocol: "http", annotation.KeyHealthCheckPort: "10256",
		annotation.KeyHealthCheckPath: "/healthz", annotation.KeyHealthCheckHealthy: "2", annotation.KeyHealthCheckUnhealthy: "3",
		annotation.KeyHealthCheckTimeout: "4", annotation.KeyHealthCheckInterval: "10", annotation.KeyGroupAttributes: "deregistration_delay.timeout_seconds=60",
		annotation.KeyNodeLabels: "pool=ingress", annotation.KeyName: "web-prod", annotation.KeyTargetType: "instance",
		v1.AnnotationLoadBalancerSourceRangesKey: "192.0.2.0/24",

		intent.KeyScheme: "public", intent.KeySourceRanges: "192.0.2.0/24", intent.KeyPortSourceRanges: "http=192.0.2.7/32",
		intent.KeyTLSCertificate: certificateA, intent.KeyTLSPorts: "https", intent.KeyConnectionDrainingTimeout: "60s", intent.KeyProxyProtocol: "v2", intent.KeyHealthCheckProtocol: "HTTP",
		intent.KeyHealthCheckPort: "10256", intent.KeyHealthCheckPath: "/healthz", intent.KeyHealthCheckInterval: "10s", intent.KeyHealthCheckTimeout: "4s",
		intent.KeyHealthCheckHealthyThreshold: "2", intent.KeyHealthCheckUnhealthyThreshold: "3", intent.KeyIdleTimeout: "5m",
		intent.KeyStaticAddresses: "{elastic-0},{elastic-1}", intent.KeyTags: "team=web", intent.KeySubnets: "{public-2},{public-0}",
	}
}

// invalid has a bad value for every annotation.
func invalid() map[string]string {
	return map[string]string{
		annotation.KeyInternal: "no", annotation.KeySubnets: "subnet-a,subnet-a", annotation.KeySecurityGroups: "web",
		annotation.KeyExtraSecurityGroups: "sg-1,sg-1", annotation.KeyAllocations: "198.51.100.7", annotation.KeyPrivateIPv4: "10.0.0.300",
		annotation.KeyIPv6: "10.0.0.1", annotation.KeyTags: "=web", annotation.KeyCertificates: "my-cert", annotation.KeyTLSPorts: ",",
		annotation.KeyTLSPolicy: "a b", annotation.KeyBackendProtocol: "grpc", annotation.KeyProxyProtocol: "true", annotation.KeyCrossZone: "on",
		annotation.KeyAccessLog: "ja", annotation.KeyAccessLogInterval: "10", annotation.KeyDraining: "2", annotation.KeyDrainTimeout: "1m",
		annotation.KeyIdleTimeout: "0", annotation.KeyHealthCheckProtocol: "udp", annotation.KeyHealthCheckPort: "http", annotation.KeyHealthCheckPath: "healthz",
		annotation.KeyHealthCheckHealthy: "1", annotation.KeyHealthCheckUnhealthy: "11", annotation.KeyHealthCheckTimeout: "5s",
		annotation.KeyHealthCheckInterval: "1", annotation.KeyGroupAttributes: "proxy_protocol_v2.enable=true", annotation.KeyNodeLabels: "=",
		annotation.KeyName: "-web-", annotation.KeyTargetType: "pod", v1.AnnotationLoadBalancerSourceRangesKey: "192.0.2.0/33",

		intent.KeyScheme: "internet-facing", intent.KeySourceRanges: "anyone", intent.KeyPortSourceRanges: "htpp=192.0.2.7/32",
		intent.KeyTLSCertificate: "a,b", intent.KeyTLSPorts: "htps", intent.KeyForwardedHeaders: "htps", intent.KeyConnectionDrainingTimeout: "60", intent.KeyProxyProtocol: "true", intent.KeyHealthCheckProtocol: "UDP",
		intent.KeyHealthCheckPort: "http", intent.KeyHealthCheckPath: "healthz", intent.KeyHealthCheckInterval: "10", intent.KeyHealthCheckTimeout: "4",
		intent.KeyHealthCheckHealthyThreshold: "0", intent.KeyHealthCheckUnhealthyThreshold: "11", intent.KeyIdleTimeout: "300",
		intent.KeyStaticAddresses: "a,a", intent.KeyTags: "web", intent.KeySubnets: ",",
	}
}

// harmless returns the keys with bad values that refuse no Service: any text is valid for the first one, a portable
// annotation overrides the second one, and the others matter only beside valid ones. Each kind of load balancer ignores
// settings of the other.
func harmless(kind annotation.Type) map[string]bool {
	keys := map[string]bool{annotation.KeyInternal: true, v1.AnnotationLoadBalancerSourceRangesKey: true,
		annotation.KeyBackendProtocol: true, annotation.KeyHealthCheckPath: true}
	if kind == onClassic {
		keys[annotation.KeyAllocations], keys[annotation.KeyPrivateIPv4] = true, true
	}
	if kind == onNetwork {
		keys[annotation.KeySecurityGroups] = true // the configuration decides, which is not read for an invalid Service
		for _, key := range []string{annotation.KeyProxyProtocol, annotation.KeyAccessLogInterval, annotation.KeyDraining,
			annotation.KeyDrainTimeout, annotation.KeyIdleTimeout} {
			keys[key] = true
		}
	}
	return keys
}

// A Service with every annotation at once, with good and with bad values, gets Events about all there
// is to know, in words that need no look into the code: see testdata/events.golden. Nothing is made
// before the last bad value was removed.
func TestEventsOfAServiceWithEveryAnnotation(t *testing.T) {
	var out strings.Builder
	for _, kind := range []annotation.Type{onClassic, onNetwork} {
		for _, values := range []string{"valid", "invalid"} {
			r := newRig(t, sim.Options{}, managed)
			r.name()
			r.nodes[0].Labels["pool"] = "ingress"
			before := r.bare()
			annotations := valid()
			if values == "invalid" {
				annotations = invalid()
			}
			svc := service(generation(kind))
			for key, value := range annotations {
				svc.Annotations[key] = r.named.Expand(value)
			}
			if kind == onClassic && values == "valid" {
				// What a classic load balancer refuses, one after the other would be no use.
				for _, key := range []string{annotation.KeyGroupAttributes, intent.KeyStaticAddresses} {
					delete(svc.Annotations, key)
				}
				svc.Annotations[intent.KeyProxyProtocol] = "v1"
			}
			if values == "valid" { // the listed security groups are never edited
				delete(svc.Annotations, intent.KeyPortSourceRanges)
			}
			if kind == onNetwork && values == "valid" {
				delete(svc.Annotations, annotation.KeyExtraSecurityGroups)
			}
			r.log().Reset()
			_, err := r.manager.EnsureLoadBalancer(t.Context(), clusterName, svc, r.nodes)
			fmt.Fprintf(&out, "# %s, %s\n", kind, values)
			for _, event := range r.events() {
				fmt.Fprintln(&out, r.named.Replace(event))
			}
			if values == "valid" {
				if err != nil {
					t.Errorf("%s: %v", kind, err)
				}
				r.steady(svc)
				continue
			}
			event := intenttest.VerifyRefused(t, err, annotations, harmless(kind))
			fmt.Fprintln(&out, r.named.Replace(event))
			r.noMutations("a Service with bad annotations")
			r.sameAs(t, before)
		}
	}
	golden.Compare(t, "events.golden", out.String())
}

// A misspelled key gets an Event with the key that was meant.
func TestMisspelledKeysGetAnEvent(t *testing.T) {
	r := newRig(t, sim.Options{})
	intenttest.VerifySuggestions(t, append(annotation.Keys(), annotation.Portable()...), func(slip string) []string {
		r.ensure(service(annotate(slip, "x")))
		return r.events()
	})
}
