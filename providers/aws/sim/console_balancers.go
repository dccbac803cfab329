package sim

import (
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// LoadBalancers implements world.World for both generations.
func (c *Cloud) LoadBalancers() []world.LoadBalancer {
	var out []world.LoadBalancer
	c.inspect(func(t *tx) {
		for _, g := range t.generations() {
			out = append(out, g.LoadBalancers()...)
		}
	})
	world.SortLoadBalancers(out)
	return out
}

// DeleteLoadBalancer implements world.World: target groups and security groups stay.
func (c *Cloud) DeleteLoadBalancer(name string) error {
	return c.console(func(t *tx) error {
		for _, g := range t.generations() {
			if g.Delete(name) {
				return nil
			}
		}
		return errNoBalancer(name)
	})
}

// Drift implements world.World. It changes the health check's interval of a network load
// balancer's first target group, or of a classic load balancer, and removes the first member, if there is one.
func (c *Cloud) Drift(name string) (fields []string, err error) {
	err = c.console(func(t *tx) error {
		for _, g := range t.generations() {
			if fields, err = g.Drift(name); err != nil || len(fields) > 0 {
				return err
			}
		}
		return errNoBalancer(name)
	})
	return fields, err
}

func errNoBalancer(name string) error { return fmt.Errorf("load balancer %q does not exist", name) }
