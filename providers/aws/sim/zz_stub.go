package sim

import "github.com/unified-ccm/unified-ccm/pkg/common/conformance/world"

type balancer struct{}
type listener struct{}
type targetGroup struct{ targets []*target }
type target struct{ id string }
type classic struct {
	instances           []string
	listeners, policies []string
}

func v2BalancerOperations() []operation              { return nil }
func v2ListenerOperations() []operation              { return nil }
func v2TargetGroupOperations() []operation           { return nil }
func v2TargetOperations() []operation                { return nil }
func v2TagOperations() []operation                   { return nil }
func classicBalancerOperations() []operation         { return nil }
func classicListenerOperations() []operation         { return nil }
func classicPolicyOperations() []operation           { return nil }
func classicInstanceOperations() []operation         { return nil }
func (t *tx) registered(g *targetGroup) []*target    { return g.targets }
func (c *Cloud) LoadBalancers() []world.LoadBalancer { return nil }
func (c *Cloud) DeleteLoadBalancer(string) error     { return nil }
func (c *Cloud) Drift(string) ([]string, error)      { return nil, nil }
