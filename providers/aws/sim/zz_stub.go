package sim

import "github.com/unified-ccm/unified-ccm/pkg/common/conformance/world"

type classic struct {
	instances           []string
	listeners, policies []string
}

func classicBalancerOperations() []operation         { return nil }
func classicListenerOperations() []operation         { return nil }
func classicPolicyOperations() []operation           { return nil }
func classicInstanceOperations() []operation         { return nil }
func (c *Cloud) LoadBalancers() []world.LoadBalancer { return nil }
func (c *Cloud) DeleteLoadBalancer(string) error     { return nil }
func (c *Cloud) Drift(string) ([]string, error)      { return nil, nil }
