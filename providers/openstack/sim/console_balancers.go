package sim

import "github.com/unified-ccm/unified-ccm/pkg/common/conformance/world"

// LoadBalancers implements world.World.
func (c *Cloud) LoadBalancers() []world.LoadBalancer { return nil }

// DeleteLoadBalancer implements world.World.
func (c *Cloud) DeleteLoadBalancer(string) error { return nil }

// Drift implements world.World.
func (c *Cloud) Drift(string) ([]string, error) { return nil, nil }
