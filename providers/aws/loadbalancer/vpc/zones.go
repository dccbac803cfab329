package vpc

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// ZonesOf returns the zones of the instances in the shared state, sorted.
func (s SharedState) ZonesOf(instanceIDs []string) []string {
	return sortedSet(slices.Collect(maps.Values(s.ZonesOfInstances(instanceIDs))))
}

// ZonesOfInstances returns the zone of each of the instances in the shared state, by its ID.
func (s SharedState) ZonesOfInstances(instanceIDs []string) map[string]string {
	zones := make(map[string]string, len(instanceIDs))
	for _, id := range instanceIDs {
		if instance, ok := s.Instances[id]; ok && instance.Placement != nil {
			zones[id] = aws.ToString(instance.Placement.AvailabilityZone)
		}
	}
	return zones
}

// ZonesOfSubnets returns the zone of each subnet of the VPC, by its ID.
func (s SharedState) ZonesOfSubnets() map[string]string {
	zones := make(map[string]string, len(s.Subnets))
	for _, subnet := range s.Subnets {
		zones[subnet.ID] = subnet.Zone
	}
	return zones
}

// UnservedZones returns a warning about nodes that receive no traffic, because the load balancer has none of
// its subnets in their zone; "" if there are none. The annotation lists subnets. It ignores subnets that are
// not in zoneOf.
func UnservedZones(nodeZones, subnets []string, zoneOf map[string]string, annotation string) string {
	served := map[string]bool{"": true}
	for _, id := range subnets {
		zone, known := zoneOf[id]
		if !known {
			return ""
		}
		served[zone] = true
	}
	unserved := slices.DeleteFunc(slices.Clone(nodeZones), func(zone string) bool { return served[zone] })
	if len(unserved) == 0 || len(subnets) == 0 {
		return ""
	}
	return fmt.Sprintf("nodes in %s receive no traffic, because the load balancer has no subnet there: list a subnet "+
		"of each zone in %s",
		strings.Join(unserved, ", "), annotation)
}
