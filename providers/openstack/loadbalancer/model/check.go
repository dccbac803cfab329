package model

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/events"
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
)

// check validates combinations of settings.
func (b *builder) check() {
	hasTCP := slices.ContainsFunc(b.in.Ports, func(p intent.Port) bool { return p.Protocol == v1.ProtocolTCP })
	for _, setting := range []struct {
		key     string
		enabled bool
	}{
		{annotation.KeyProxyProtocol, b.options.ProxyProtocol != 0}, {annotation.KeyXForwardedFor, b.options.XForwardedFor},
		{annotation.KeyTLSContainer, b.tlsContainer() != ""}, {intent.KeyForwardedHeaders, b.in.AddsForwardedHeaders()},
	} {
		key := setting.key
		_, explicit := b.in.Annotations[key]
		value := b.in.Annotations[b.problems.Sources.FieldOf(key)]
		switch {
		case !setting.enabled:
		case b.shared.Features.OVN:
			b.problems.Addf(key, value, "Octavia's provider ovn only passes connections on: remove it, or use another provider")
		case !hasTCP && explicit:
			b.problems.Add(key, value, "it works for TCP, and the Service has no TCP port: remove it")
		}
	}
	if b.in.TLS.Ports != nil && b.tlsContainer() == "" {
		b.warnf("%s has no effect without a certificate: set %s, or remove it", intent.KeyTLSPorts, intent.KeyTLSCertificate)
	}
	b.checkVersion()
	b.checkFeatures()
	if ref := b.tlsContainer(); ref != "" && b.settings.ContainerStore == ContainerStoreBarbican {
		if _, err := annotation.ParseContainer(ref); err != nil {
			b.problems.Add(annotation.KeyTLSContainer, ref, err.Error())
		}
	}
}

// checkVersion validates settings against the version of Octavia's API.
func (b *builder) checkVersion() {
	f := b.shared.Features
	if f.Assumed {
		b.warnf("the versions of Octavia's API cannot be read: it is taken for %s, and rejects what it lacks", f.Version)
	}
	if !f.SCTP() && slices.ContainsFunc(b.in.Ports, func(p intent.Port) bool { return p.Protocol == v1.ProtocolSCTP }) {
		b.problems.Addf("spec.ports", "", "version %s of Octavia's API has no SCTP, which came with %s: use TCP or UDP",
			f.Version, versionSCTP)
	}
	if f.OVN && !f.SourceIPPort() {
		b.problems.Addf(InConfiguration("lb-provider"), ProviderOVN, "version %s of Octavia's API lacks the algorithm of "+
			"this provider, which came with %s: use another provider", f.Version, versionSourceIPPort)
	}
	if b.options.ProxyProtocol == 2 && !f.PROXYv2() {
		b.problems.Addf(annotation.KeyProxyProtocol, "v2", "version %s of Octavia's API lacks version 2 of the PROXY "+
			"protocol, which came with %s: write v1", f.Version, versionPROXYv2)
	}
	if len(b.in.Families) > 1 && !f.AdditionalVIPs() {
		b.warnf("the load balancer has an %s address only: Octavia's provider %s, with version %s of its API, has no "+
			"additional VIPs", b.in.Families[0], b.provider, f.Version)
	}
}

// checkFeatures warns about settings without effect with this Octavia and its provider.
func (b *builder) checkFeatures() {
	f := b.shared.Features
	if !f.Timeouts() {
		for _, key := range []string{annotation.KeyClientTimeout, annotation.KeyConnectTimeout, annotation.KeyMemberTimeout,
			annotation.KeyInspectTimeout, intent.KeyIdleTimeout} {
			value := strings.TrimSpace(b.in.Annotations[key])
			b.warnUnsupported(value != "", key, value)
		}
	}
	restrictable := f.AllowedCIDRs() || f.OVN && b.settings.ManageSecurityGroups
	if len(b.in.SourceRanges) > 0 && !restrictable {
		b.warnWithReason(events.LoadBalancerSourceRangesIgnored, "spec.loadBalancerSourceRanges has no effect: "+
			"Octavia's provider %s, with version %s of its API, cannot restrict who connects; set manage-security-groups "+
			"in the configuration where the provider is ovn", b.provider, f.Version)
	}
	if b.in.RestrictsPorts() && !restrictable {
		b.problems.Addf(intent.KeyPortSourceRanges, b.in.Annotations[intent.KeyPortSourceRanges], "Octavia's provider %s, "+
			"with version %s of its API, cannot restrict who connects: remove it, or set manage-security-groups in the "+
			"configuration where the provider is ovn", b.provider, f.Version)
	}
	if b.settings.Internal && b.options.Internal != nil && !*b.options.Internal {
		b.warnWithReason(events.LoadBalancerForcedInternal, "%s is \"false\", but internal-lb in the configuration makes "+
			"every load balancer internal", annotation.KeyInternal)
	}
}
