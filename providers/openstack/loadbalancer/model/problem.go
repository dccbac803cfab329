package model

import (
	"cmp"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/annotation"
)

// PlaceProblem is why no load balancer can have a setting of its place. It is empty if there is no problem.
type PlaceProblem struct {
	// Key is the annotation of the setting.
	Key, Value, Fix string
}

// Err returns the error about the setting, with the name under which the user wrote it.
func (p PlaceProblem) Err(subject string, want Desired) error {
	place, key := want.LoadBalancer, p.Key
	for _, setting := range []struct {
		key, source, name string
		explicit          bool
	}{
		{annotation.KeyFlavorID, place.Source.Flavor, "flavor-id", place.Explicit.Flavor},
		{annotation.KeyAvailabilityZone, place.Source.Zone, "availability-zone", place.Explicit.Zone},
		{annotation.KeySubnetID, place.Source.Subnet, "subnet-id", place.Explicit.Subnet},
		{annotation.KeyNetworkID, place.Source.Network, "network-id", place.Explicit.Network},
	} {
		if setting.key == p.Key && !setting.explicit {
			key = cmp.Or(setting.source, InConfiguration(setting.name))
		}
	}
	problems := intent.Problems{Sources: want.Sources}
	problems.Add(key, p.Value, p.Fix)
	return problems.Err(subject)
}
