package sim

import (
	"slices"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/ec2"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/iam"
)

// SetDisruption replaces the disruption; the zero value ends it.
func (c *Cloud) SetDisruption(disruption Disruption) {
	c.mu.Lock()
	defer c.mu.Unlock()
	disruption.Denied, disruption.Zones = slices.Clone(disruption.Denied), slices.Clone(disruption.Zones)
	c.disruption = disruption
}

// Zones implements world.ZoneDisrupter.
func (c *Cloud) Zones() []string { return slices.Clone(c.options.Zones) }

// DisruptZones implements world.ZoneDisrupter.
func (c *Cloud) DisruptZones(zones ...string) { c.SetDisruption(Disruption{Zones: zones}) }

func (c *Cloud) currentDisruption() Disruption {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.disruption
}

// denies reports whether a pattern of Denied matches an action.
func (d Disruption) denies(action string) bool {
	return slices.ContainsFunc(d.Denied, iam.Request{Action: action}.MatchesAction)
}

// truncate halves a document.
func (d Disruption) truncate(document []byte) []byte {
	if d.Truncated {
		return document[:len(document)/2]
	}
	return document
}

// SetHealth makes a machine fail its load balancers' health checks, or pass them again.
func (c *Cloud) SetHealth(nodeName string, healthy bool) error {
	return c.onMachine(nodeName, func(t *tx, _ *ec2.Instance) error { t.Unhealthy[nodeName] = !healthy; return nil })
}
