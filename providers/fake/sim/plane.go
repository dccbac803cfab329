package sim

import "github.com/unified-ccm/unified-ccm/providers/fake/api"

type plane struct{}

func startPlane(*Cloud) *plane { return &plane{} }
func (p *plane) stop()         {}

func (c *Cloud) addWarnings([]api.LoadBalancer) {}
