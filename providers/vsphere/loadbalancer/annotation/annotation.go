// Package annotation documents the Service annotations of the vSphere provider and parses them.
package annotation

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/vsphere/names"
)

// prefix is the prefix of the provider's own annotations.
const prefix = "loadbalancer.vmware.io/"

// ownPrefix is the prefix of annotations that only this manager reads.
const ownPrefix = "vsphere.unified-ccm.io/"

const (
	// KeyClass selects a class of load balancers.
	KeyClass = names.ClassAnnotation
	// KeyAlgorithm selects how connections are distributed.
	KeyAlgorithm = ownPrefix + "algorithm"
)

// RoundRobin is the algorithm of NSX-T by default.
const RoundRobin = "ROUND_ROBIN"

// The other algorithms of NSX-T that annotations select.
const (
	leastConnection = "LEAST_CONNECTION"
	ipHash          = "IP_HASH"
)

// algorithms are the names of NSX-T for the portable algorithms.
var algorithms = map[intent.Algorithm]string{
	intent.RoundRobin: RoundRobin, intent.LeastConnections: leastConnection, intent.SourceIP: ipHash,
}

// Options are the values of the provider's own annotations.
type Options struct {
	// Class is "" without the annotation.
	Class string
	// Algorithm is the name of NSX-T; "" without an annotation.
	Algorithm string
}

func table(o *Options) intent.Table {
	return intent.Table{{
		Key: KeyAlgorithm, Type: "ROUND_ROBIN, LEAST_CONNECTION or IP_HASH",
		Default: RoundRobin + ", or what is set in NSX-T", Example: "LEAST_CONNECTION",
		Doc: "How connections are distributed to the nodes. Changes apply to a live Service, for new connections. Without " +
			"the annotation, an algorithm that was set in NSX-T stays; removing it sets " + RoundRobin + " again.",
		Empty: intent.EmptyRefused,
		Set:   intent.Store(&o.Algorithm, intent.OneOf(RoundRobin, leastConnection, ipHash)),
	}, {
		Key: KeyClass, Type: "name", Default: names.DefaultClass, Example: "internal",
		Doc: "The section [LoadBalancerClass \"NAME\"] of vsphere.conf with the pool of the address and the application " +
			"profiles. Changing it on a live Service gives the load balancer an address of the other pool, so that clients " +
			"must follow.",
		Set: intent.Store(&o.Class, func(value string) (string, error) { return value, nil }),
	}}
}

// Read parses the provider's own annotations of a Service.
func Read(in intent.Service, problems *intent.Problems) Options {
	var o Options
	table(&o).Read(in.Annotations, problems)
	intent.Merge(problems, &o.Algorithm, algorithms[in.Algorithm], intent.KeyAlgorithm, KeyAlgorithm)
	return o
}

// Documentation returns the reference entries of the provider's own annotations.
func Documentation() []intent.Annotation { return table(&Options{}).Documentation() }

// Prefixes returns the prefixes of the provider's own annotations.
func Prefixes() []string { return []string{prefix, ownPrefix} }

// Portable returns the keys of the portable annotations that the provider supports.
func Portable() []string {
	return []string{
		intent.KeyScheme, intent.KeySourceRanges, intent.KeyPortSourceRanges, intent.KeyStaticAddresses,
		intent.KeyAlgorithm,
		intent.KeyHealthCheckProtocol, intent.KeyHealthCheckPort, intent.KeyHealthCheckPath, intent.KeyHealthCheckInterval,
		intent.KeyHealthCheckTimeout, intent.KeyHealthCheckHealthyThreshold, intent.KeyHealthCheckUnhealthyThreshold,
	}
}

// Vocabulary returns the annotations that the provider reads.
func Vocabulary(provider string) intent.Vocabulary {
	return intent.Vocabulary{
		Provider: provider, Portable: Portable(), Own: table(&Options{}).Keys(), OwnPrefixes: Prefixes(),
	}
}
