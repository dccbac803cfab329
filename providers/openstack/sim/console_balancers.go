package sim

import (
	"time"

	"github.com/unified-ccm/unified-ccm/pkg/common/sim/world"
)

// LoadBalancers implements world.World for the cluster's project. Load balancers in PENDING_DELETE are left out.
func (c *Cloud) LoadBalancers() []world.LoadBalancer {
	var out []world.LoadBalancer
	c.inspect(func(t *tx) { out = t.LoadBalancers() })
	world.SortLoadBalancers(out)
	return out
}

// DeleteLoadBalancer implements world.World: floating IPs and security groups stay.
func (c *Cloud) DeleteLoadBalancer(name string) error {
	return c.console(func(t *tx) error { return t.Delete(name) })
}

// SetLoadBalancerStatus puts a load balancer into a provisioning status, such as ERROR, until its next change.
func (c *Cloud) SetLoadBalancerStatus(name, status string) error {
	return c.console(func(t *tx) error { return t.SetProvisioning(name, status) })
}

// SetSettleTimes replaces Options.ProvisionTime and SettleTime for future changes.
func (c *Cloud) SetSettleTimes(provision, settle time.Duration) {
	c.inspect(func(t *tx) { t.Options.ProvisionTime, t.Options.SettleTime = provision, settle })
}

// SetOutcomes replaces all rules; without rules every change succeeds. Changes in progress keep their outcome.
func (c *Cloud) SetOutcomes(rules ...OutcomeRule) { c.inspect(func(t *tx) { t.SetOutcomes(rules) }) }

// Unstick lets all stuck changes succeed.
func (c *Cloud) Unstick() { c.inspect((*tx).Unstick) }

// Drift implements world.World. It changes the connection limit of the first listener, and of its pool removes the
// first member and changes the interval of its health monitor, if there is one. The fields are named as in Octavia's
// API.
func (c *Cloud) Drift(name string) (fields []string, err error) {
	err = c.console(func(t *tx) error {
		fields, err = t.Drift(name)
		return err
	})
	return fields, err
}
