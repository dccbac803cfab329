package loadbalancer

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/golden"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/model"
	"github.com/unified-ccm/unified-ccm/providers/openstack/sim"
)

// effect is one value of an annotation, and what it needs to have an effect.
type effect struct {
	// on is Octavia's provider; both if it is empty.
	on    string
	value string
	// instead is the value without it; empty for none.
	instead string
	// given is what the Service has besides, with and without the annotation.
	given    []func(*v1.Service)
	settings func(*Settings)
}

func also(changes ...func(*v1.Service)) []func(*v1.Service) { return changes }

const onAmphora = "amphora"

var (
	probed  = also(annotate(annotation.KeyMonitor, "true"))
	httped  = also(annotate(intent.KeyHealthCheckProtocol, "HTTP"))
	private = also(internal)
)

// configured names in the configuration what an empty annotation ignores.
func configured(s *Settings) { s.TLSContainer, s.NodeSelector = certificate, "pool=none" }

// classed has a class whose floating IPs come from another subnet.
func classed(s *Settings) {
	s.Classes = map[string]Place{"tiered": {FloatingSubnet: "tier-*"}}
}

// effects says for every annotation that a Service may carry which values are tried with each of
// Octavia's providers. What comes of it is in testdata/annotations.golden.
func effects() map[string][]effect {
	return map[string][]effect{
		annotation.KeyInternal:            {{value: "true"}, {value: "True"}},
		annotation.KeyLoadBalancerID:      {{value: "{shared}"}, {value: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"}, {value: "web"}},
		annotation.KeyLoadBalancerAddress: {{value: "192.0.2.1"}},
		annotation.KeyMembers:             {{value: "8a7c6c2e-3:0123456789:abcdef0123"}},
		annotation.KeyGuests:              {{value: "shop/web,monitoring/*"}, {value: "shop"}},
		annotation.KeyFailoverRefused:     {{value: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"}},
		annotation.KeyClass:               {{value: "tiered", settings: classed}, {value: "other", settings: classed}},
		annotation.KeySubnetID:            {{value: "{other-subnet}", given: private}, {value: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"}, {value: "other"}},
		annotation.KeyNetworkID:           {{value: "{other-network}", given: private}, {value: "other"}},
		annotation.KeyMemberSubnetID:      {{value: "{other-subnet}"}, {value: "other"}},
		annotation.KeyPortID:              {{value: "{port}", given: private}, {value: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"}, {value: "port"}},
		annotation.KeyFlavorID:            {{value: "{flavor-large}"}, {value: "8a7c6c2e-3d1f-4f67-9f5c-0d9e8b7a6c5d"}},
		annotation.KeyAvailabilityZone:    {{value: "az-2"}, {value: "az-9"}},
		annotation.KeyHostname:            {{value: "web.example.org"}},
		annotation.KeyNodeSelector:        {{value: "pool=ingress"}, {value: "pool=nowhere"}, {value: "", settings: configured, given: also(annotate(annotation.KeyTLSContainer, ""))}},
		annotation.KeyFloatingNetworkID:   {{value: "{public-2}"}, {value: "public"}},
		annotation.KeyFloatingSubnetID:    {{value: "{tier-a}"}, {value: "tier"}},
		annotation.KeyFloatingSubnet:      {{value: "tier-*"}, {value: "~[", given: nil}, {value: "none-*"}},
		annotation.KeyFloatingSubnetTags:  {{value: "gold"}, {value: "silver"}},
		annotation.KeyKeepFloatingIP:      {{value: "true"}},
		annotation.KeyMethod:              {{value: "LEAST_CONNECTIONS"}, {on: onAmphora, value: "SOURCE_IP_PORT"}, {value: "RANDOM"}},
		annotation.KeyProxyProtocol:       {{value: "true"}, {value: "v2"}, {value: "v3"}},
		annotation.KeyXForwardedFor:       {{value: "true"}, {value: "true", given: also(annotate(annotation.KeyProxyProtocol, "v1"))}},
		annotation.KeyTLSContainer:        {{value: certificate}, {value: "", settings: func(s *Settings) { s.TLSContainer = certificate }}, {value: "my-certificate"}},
		annotation.KeyConnectionLimit:     {{value: "77"}, {value: "many"}},
		annotation.KeyClientTimeout:       {{value: "60000"}, {value: "60s"}},
		annotation.KeyConnectTimeout:      {{value: "6000"}, {value: "-1"}},
		annotation.KeyMemberTimeout:       {{value: "60000"}, {value: "x"}},
		annotation.KeyInspectTimeout:      {{value: "500"}, {value: "31536000001"}},
		annotation.KeyMonitor:             {{value: "true"}, {value: "false", given: also(local)}},
		annotation.KeyMonitorDelay:        {{value: "11", given: probed}, {value: "0"}},
		annotation.KeyMonitorTimeout:      {{value: "2", given: probed}, {value: "9", given: probed}},
		annotation.KeyMonitorRetries:      {{value: "4", given: probed}, {value: "11"}},
		annotation.KeyMonitorDown:         {{value: "4", given: probed}, {value: "0"}},
		annotation.KeyLoadBalancerTags:    {{value: "team-web,prod"}, {value: "kube_service_x"}},
		annotation.KeyListenerTags:        {{value: "team-web"}},
		annotation.KeyPoolTags:            {{value: "team-web"}},

		intent.KeyScheme:       {{value: "internal"}},
		intent.KeySourceRanges: {{value: "192.0.2.0/24"}, {on: model.ProviderOVN, value: "192.0.2.0/24", settings: func(s *Settings) { s.ManageSecurityGroups = true }}},
		intent.KeyPortSourceRanges: {{value: "http=192.0.2.0/24"}, {value: "htp=192.0.2.0/24"},
			{on: model.ProviderOVN, value: "http=192.0.2.0/24", settings: func(s *Settings) { s.ManageSecurityGroups = true }}},
		intent.KeyAlgorithm: {{value: "least-connections"}, {on: onAmphora, value: "source-ip"}, {value: "random"},
			{on: onAmphora, value: "source-ip", given: also(annotate(annotation.KeyMethod, "ROUND_ROBIN"))}},
		intent.KeyProxyProtocol:  {{value: "v2"}},
		intent.KeyTLSCertificate: {{value: certificate}, {value: "arn:aws:acm:us-west-2:123456789012:certificate/x"}},
		intent.KeyTLSPorts:       {{on: onAmphora, value: "https", given: also(annotate(intent.KeyTLSCertificate, certificate))}, {value: "https"}},
		intent.KeyForwardedHeaders: {{value: "http"}, {on: onAmphora, value: "http", given: also(annotate(intent.KeyTLSCertificate, certificate))},
			{on: onAmphora, value: "http", given: also(annotate(annotation.KeyXForwardedFor, "true"))}},
		intent.KeyHealthCheckProtocol:            {{value: "HTTP"}},
		intent.KeyHealthCheckPort:                {{value: "10256"}},
		intent.KeyHealthCheckPath:                {{on: onAmphora, value: "/ready", given: httped}, {value: "/ready", given: probed}},
		intent.KeyHealthCheckInterval:            {{value: "15s"}},
		intent.KeyHealthCheckTimeout:             {{value: "2s"}},
		intent.KeyHealthCheckHealthyThreshold:    {{value: "4"}},
		intent.KeyHealthCheckUnhealthyThreshold:  {{value: "4"}},
		intent.KeyIdleTimeout:                    {{value: "5m"}},
		intent.KeyStaticAddresses:                {{value: "{address}"}, {value: "{vip}", given: private}, {value: "{address-in-use}"}},
		intent.KeyTags:                           {{value: "team=web"}},
		intent.KeySubnets:                        {{value: "{other-subnet}", given: private}, {value: "other"}},
		v1.AnnotationLoadBalancerSourceRangesKey: {{value: "192.0.2.0/24"}},
	}
}

func local(s *v1.Service) {
	s.Spec.ExternalTrafficPolicy, s.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
}

// documented are the keys of every annotation that the provider says it honours.
func documented() []string {
	return append(slices.Concat(annotation.Keys(), annotation.Portable()), v1.AnnotationLoadBalancerSourceRangesKey)
}

// silent are annotations that only the manager writes, for people and for itself.
var silent = []string{annotation.KeyLoadBalancerAddress, annotation.KeyMembers, annotation.KeyFailoverRefused}

// Every annotation has an effect with each of Octavia's providers, or an Event explains why not:
// facts that it adds (+) and removes (-), events, or a refusal.
func TestAnnotationEffects(t *testing.T) {
	table := effects()
	for key := range table {
		if !slices.Contains(documented(), key) {
			t.Errorf("%s is tried and not documented", key)
		}
	}
	var report strings.Builder
	for _, key := range documented() {
		tried := map[string]bool{}
		for _, e := range table[key] {
			for _, driver := range []string{onAmphora, model.ProviderOVN} {
				if e.on != "" && e.on != driver {
					continue
				}
				tried[driver] = true
				fmt.Fprintf(&report, "%s: %q (%s)\n%s\n", key, e.value, driver, e.difference(t, key, driver))
			}
		}
		if !tried[onAmphora] || !tried[model.ProviderOVN] {
			t.Errorf("%s is not tried with both providers: %v", key, tried)
		}
	}
	golden.Compare(t, "annotations.golden", report.String())
}

// difference is what the annotation changes for a new Service.
func (e effect) difference(t *testing.T, key, driver string) string {
	t.Helper()
	instead := func(svc *v1.Service) { delete(svc.Annotations, key) }
	if e.instead != "" {
		instead = annotate(key, e.instead)
	}
	before := look(t, driver, e.settings, service(append(slices.Clone(e.given), instead)...))
	if before.Refused != nil && key != annotation.KeyXForwardedFor && (driver != model.ProviderOVN || e.settings == nil) {
		t.Fatalf("%s without the annotation: %v", key, before.Refused)
	}
	after := look(t, driver, e.settings, service(append(slices.Clone(e.given), annotate(key, e.value))...))
	difference := after.DiffFrom(before)
	if difference == "" && !slices.Contains(silent, key) {
		t.Errorf("%s: %q has no effect with the provider %s, without an Event", key, e.value, driver)
	}
	return difference
}

// look is what a Service with these annotations leads to in a cloud of its own.
func look(t *testing.T, driver string, settings func(*Settings), svc *v1.Service) (out golden.Outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := Settings{Provider: driver}
		if settings != nil {
			settings(&s)
		}
		r := newRig(t, sim.Options{}, s)
		r.name()
		r.settings.TLSContainer = r.named.Expand(r.settings.TLSContainer)
		r.restart()
		for key, value := range svc.Annotations {
			svc.Annotations[key] = r.named.Expand(value)
		}
		r.nodes[0].Labels["pool"] = "ingress"
		status, err := r.manager.EnsureLoadBalancer(t.Context(), r.cluster, svc, r.nodes)
		for _, event := range r.events() {
			out.Events = append(out.Events, r.named.Replace(event))
		}
		if err != nil {
			out.Refused = errors.New(r.named.Replace(err.Error()))
			return
		}
		out.Facts = r.shown(status)
	})
	return out
}
