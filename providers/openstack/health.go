package openstack

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// part is a part of the manager, with the services that it depends on.
type part struct {
	name     string
	services []string
}

// parts returns the parts that the configuration enables.
func (c *Cloud) parts() []part {
	parts := []part{{provider.PartNodes, []string{api.Identity, api.Compute, api.Network}}}
	if c.config.LoadBalancer.Enabled {
		parts = append(parts, part{provider.PartLoadBalancers, []string{api.Identity, api.LoadBalancing, api.Network}})
	}
	if c.config.Route.RouterID != "" {
		parts = append(parts, part{provider.PartRoutes, []string{api.Identity, api.Network}})
	}
	return parts
}

// Health implements provider.HealthReporter.
func (c *Cloud) Health() []provider.PartHealth {
	var out []provider.PartHealth
	for _, p := range c.parts() {
		since, err := c.client.Health(p.services...)
		out = append(out, provider.PartHealth{Part: p.name, Err: err, Since: since})
	}
	return out
}

// Check implements provider.Checker.
func (c *Cloud) Check(ctx context.Context) error { return c.client.Check(ctx) }
