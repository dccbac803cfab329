package loadbalancer

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/golden"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent/intenttest"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// valid has a good value for every annotation, all of which one Service can carry at once, but for
// those that another choice excludes: another load balancer or port, and a header beside the PROXY protocol.
func valid() map[string]string {
	return map[string]string{
		annotation.KeyInternal: "false", annotation.KeyLoadBalancerID: "", annotation.KeyLoadBalancerAddress: "192.0.2.1",
		annotation.KeyFailoverRefused: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d", annotation.KeyGuests: "shop/web",
		annotation.KeyMembers: "8a7c6c2e-3:0123456789:abcdef0123", annotation.KeyClass: "tiered", annotation.KeySubnetID: "{private}",
		annotation.KeyNetworkID: "{private-network}", annotation.KeyMemberSubnetID: "{private}", annotation.KeyPortID: "", annotation.KeyFlavorID: "{flavor-large}",
		annotation.KeyAvailabilityZone: "az-2", annotation.KeyHostname: "web.example.org", annotation.KeyNodeSelector: "pool=ingress",
		annotation.KeyFloatingNetworkID: "{public}", annotation.KeyFloatingSubnetID: "", annotation.KeyFloatingSubnet: "tier-*", annotation.KeyFloatingSubnetTags: "gold",
		annotation.KeyKeepFloatingIP: "true", annotation.KeyMethod: "SOURCE_IP", annotation.KeyProxyProtocol: "v2", annotation.KeyXForwardedFor: "false",
		annotation.KeyTLSContainer: certificate, annotation.KeyConnectionLimit: "77", annotation.KeyClientTimeout: "300000", annotation.KeyConnectTimeout: "6000",
		annotation.KeyMemberTimeout: "300000", annotation.KeyInspectTimeout: "500", annotation.KeyMonitor: "true", annotation.KeyMonitorDelay: "10",
		annotation.KeyMonitorTimeout: "4", annotation.KeyMonitorRetries: "2", annotation.KeyMonitorDown: "3", annotation.KeyLoadBalancerTags: "team-web",
		annotation.KeyListenerTags: "team-web", annotation.KeyPoolTags: "team-web", v1.AnnotationLoadBalancerSourceRangesKey: "192.0.2.0/24",

		intent.KeyScheme: "public", intent.KeySourceRanges: "192.0.2.0/24", intent.KeyPortSourceRanges: "http=192.0.2.7/32",
		intent.KeyTLSCertificate: certificate, intent.KeyTLSPorts: "http,https", intent.KeyForwardedHeaders: "http", intent.KeyProxyProtocol: "v2", intent.KeyAlgorithm: "source-ip", intent.KeyHealthCheckProtocol: "HTTP",
		intent.KeyHealthCheckPort: "10256", intent.KeyHealthCheckPath: "/healthz", intent.KeyHealthCheckInterval: "10s", intent.KeyHealthCheckTimeout: "4s",
		intent.KeyHealthCheckHealthyThreshold: "2", intent.KeyHealthCheckUnhealthyThreshold: "3", intent.KeyIdleTimeout: "5m",
		intent.KeyStaticAddresses: "{address}", intent.KeyTags: "team=web", intent.KeySubnets: "{private}",
	}
}

// impossible is what of valid the provider ovn refuses, one after the other would be no use.
var impossible = []string{
	annotation.KeyProxyProtocol, intent.KeyProxyProtocol, annotation.KeyTLSContainer, annotation.KeyMethod,
	intent.KeyAlgorithm,
	intent.KeyHealthCheckProtocol, intent.KeyHealthCheckPath, intent.KeyHealthCheckPort,
	intent.KeyTLSCertificate, intent.KeyTLSPorts, intent.KeyPortSourceRanges,
}

// invalid has a bad value for every annotation of the provider's own that has any.
func invalid() map[string]string {
	return map[string]string{
		annotation.KeyInternal: "True", annotation.KeyGuests: "shop", annotation.KeyLoadBalancerID: "web", annotation.KeyClass: "internet", annotation.KeySubnetID: "private",
		annotation.KeyNetworkID: "private", annotation.KeyMemberSubnetID: "nodes", annotation.KeyPortID: "vip", annotation.KeyFloatingNetworkID: "public",
		annotation.KeyFloatingSubnetID: "tier-a", annotation.KeyFloatingSubnet: "~[", annotation.KeyKeepFloatingIP: "yes", annotation.KeyMethod: "RANDOM",
		annotation.KeyProxyProtocol: "v3", annotation.KeyXForwardedFor: "on", annotation.KeyTLSContainer: "my-certificate", annotation.KeyConnectionLimit: "many",
		annotation.KeyClientTimeout: "60s", annotation.KeyConnectTimeout: "-1", annotation.KeyMemberTimeout: "x", annotation.KeyInspectTimeout: "31536000001",
		annotation.KeyMonitor: "1", annotation.KeyMonitorDelay: "0", annotation.KeyMonitorTimeout: "1.5", annotation.KeyMonitorRetries: "11",
		annotation.KeyMonitorDown: "0", annotation.KeyLoadBalancerTags: "a,,b", annotation.KeyListenerTags: "kube_service_x", annotation.KeyPoolTags: "unified-ccm:keep",
	}
}

// invalidPortable has a bad value for every annotation that all providers have.
func invalidPortable() map[string]string {
	return map[string]string{
		v1.AnnotationLoadBalancerSourceRangesKey: "192.0.2.0/33",

		intent.KeyScheme: "internet-facing", intent.KeySourceRanges: "anyone", intent.KeyPortSourceRanges: "htpp=192.0.2.7/32",
		intent.KeyTLSCertificate: "a,b", intent.KeyTLSPorts: "htps", intent.KeyForwardedHeaders: "htps", intent.KeyProxyProtocol: "true", intent.KeyAlgorithm: "RANDOM", intent.KeyHealthCheckProtocol: "UDP",
		intent.KeyHealthCheckPort: "http", intent.KeyHealthCheckPath: "healthz", intent.KeyHealthCheckInterval: "10", intent.KeyHealthCheckTimeout: "4",
		intent.KeyHealthCheckHealthyThreshold: "0", intent.KeyHealthCheckUnhealthyThreshold: "11", intent.KeyIdleTimeout: "300",
		intent.KeyStaticAddresses: "a,a", intent.KeyTags: "web", intent.KeySubnets: ",",
	}
}

// free are keys of which every value is good: names and lists that are only compared.
var free = map[string]bool{
	annotation.KeyLoadBalancerAddress: true, annotation.KeyMembers: true, annotation.KeyFailoverRefused: true,
	annotation.KeyHostname: true, annotation.KeyFlavorID: true,
	annotation.KeyAvailabilityZone: true, annotation.KeyNodeSelector: true, annotation.KeyFloatingSubnetTags: true,
}

// harmless are keys whose bad values stop nothing: a portable annotation overrules them.
var harmless = map[string]bool{v1.AnnotationLoadBalancerSourceRangesKey: true}

// The Events of a Service with every annotation at once, with valid and with invalid values, are in
// testdata/events.golden. Nothing is created while a value is invalid.
func TestAnnotationEvents(t *testing.T) {
	for _, key := range documented() {
		if _, ok := valid()[key]; !ok {
			t.Errorf("%s has no good value here", key)
		}
		_, own := invalid()[key]
		if _, portable := invalidPortable()[key]; !own && !portable && !free[key] {
			t.Errorf("%s has no bad value here", key)
		}
	}
	var out strings.Builder
	for _, driver := range []string{onAmphora, model.ProviderOVN} {
		for _, values := range []string{"valid", "invalid", "invalid portable ones"} {
			synctest.Test(t, func(t *testing.T) {
				s := Settings{Provider: driver}
				classed(&s)
				r := newRig(t, sim.Options{}, s)
				r.name()
				r.nodes[0].Labels["pool"] = "ingress"
				annotations := valid()
				switch values {
				case "invalid":
					annotations = invalid()
				case "invalid portable ones":
					annotations = invalidPortable()
				}
				svc := service()
				for key, value := range annotations {
					svc.Annotations[key] = r.named.Expand(value)
				}
				if values == "valid" { // not together with the PROXY protocol
					delete(svc.Annotations, intent.KeyForwardedHeaders)
				}
				if values == "valid" && driver == model.ProviderOVN {
					for _, key := range impossible {
						delete(svc.Annotations, key)
					}
				}
				r.restart()
				_, err := r.manager.EnsureLoadBalancer(t.Context(), r.cluster, svc, r.nodes)
				fmt.Fprintf(&out, "# %s, %s\n", driver, values)
				for _, event := range r.events() {
					fmt.Fprintln(&out, r.named.Replace(event))
				}
				if values == "valid" {
					if err != nil {
						t.Errorf("%s: %v", driver, err)
						return
					}
					r.steady(svc)
					return
				}
				event := intenttest.VerifyRefused(t, err, annotations, harmless)
				fmt.Fprintln(&out, r.named.Replace(event))
				if m := r.mutations(); len(m) > 0 {
					t.Errorf("%s: made %v although annotations are bad", driver, m)
				}
			})
		}
	}
	golden.Compare(t, "events.golden", out.String())
}

// A typo in any key gets an Event with the right key.
func TestWarnMisspelledAnnotations(t *testing.T) {
	bubble(t, sim.Options{}, Settings{}, func(r *rig) {
		intenttest.VerifySuggestions(t, append(annotation.Keys(), annotation.Portable()...), func(slip string) []string {
			r.ensure(service(annotate(slip, "x")))
			return r.events()
		})
	})
}
