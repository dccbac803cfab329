// Package annotation documents the Service annotations of the fake provider and parses them once into typed
// options. Every provider has such a package: the portable annotations are in package intent, and this
// package adds the provider's own.
package annotation

import (
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
)

// Prefix is the prefix of the provider's own annotations. It can never change.
const Prefix = "fake.unified-ccm.io/"

// KeyMemberZones restricts the members of a load balancer to the nodes of some zones. It is in
// users' manifests and can never change.
const KeyMemberZones = Prefix + "member-zones"

// Options are the values of the provider's own annotations.
type Options struct {
	// MemberZones are the zones of the nodes that receive traffic; nil for all.
	MemberZones []string
}

// table returns the provider's own annotations, in the order in which Read reports problems. It
// sets the fields of o. A new annotation is an entry here and a field of Options.
func table(o *Options) intent.Table {
	return intent.Table{
		{
			Key: KeyMemberZones, Type: "list of zones", Default: "all zones", Example: "fake-1a,fake-1b",
			Doc: "Only nodes in these zones (label topology.kubernetes.io/zone) are members of the load balancer. " +
				"Changing it on a live Service changes the members at once; with externalTrafficPolicy: Local make sure " +
				"that the pods run there.",
			Empty: intent.EmptyRefused,
			Set:   intent.Store(&o.MemberZones, zones),
		},
	}
}

// zones splits a comma list. Desired checks whether the zones exist.
func zones(value string) ([]string, error) {
	list := strings.Split(value, ",")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list, nil
}

// Read parses the provider's own annotations of a Service.
func Read(in intent.Service, problems *intent.Problems) Options {
	var o Options
	table(&o).Read(in.Annotations, problems)
	return o
}

// Documentation returns the reference entries of the provider's own annotations.
func Documentation() []intent.Annotation { return table(&Options{}).Documentation() }

// Prefixes returns the prefixes of the provider's own annotations.
func Prefixes() []string { return []string{Prefix} }

// Portable returns the keys of the portable annotations that the provider supports. Its load balancers forward
// connections: they know neither TLS nor HTTP, and do not close connections to nodes that leave.
func Portable() []string {
	return []string{
		intent.KeyScheme, intent.KeySourceRanges, intent.KeyPortSourceRanges, intent.KeyProxyProtocol, intent.KeyAlgorithm,
		intent.KeyHealthCheckProtocol, intent.KeyHealthCheckPort, intent.KeyHealthCheckPath,
		intent.KeyHealthCheckInterval, intent.KeyHealthCheckTimeout, intent.KeyHealthCheckHealthyThreshold,
		intent.KeyHealthCheckUnhealthyThreshold, intent.KeyIdleTimeout, intent.KeyStaticAddresses, intent.KeyTags,
		intent.KeySubnets,
	}
}

// Vocabulary returns the annotations that the provider reads.
func Vocabulary(provider string) intent.Vocabulary {
	return intent.Vocabulary{
		Provider: provider, Portable: Portable(), Own: table(&Options{}).Keys(), OwnPrefixes: Prefixes(),
	}
}
