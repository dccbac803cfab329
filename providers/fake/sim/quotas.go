package sim

import (
	"github.com/unified-ccm/unified-ccm/providers/fake/api"
)

// Names of quotas.
const (
	quotaLoadBalancers = "load-balancers"
	quotaAddresses     = "addresses"
	quotaInstances     = "instances"
	quotaRoutes        = "routes"
)

// defaultQuotas leave room for the largest clusters that Kubernetes supports, 5,000 nodes.
func defaultQuotas() map[string]int {
	return map[string]int{
		quotaLoadBalancers: 5000,
		quotaAddresses:     5000,
		quotaInstances:     10000,
		quotaRoutes:        20000,
	}
}

func (t *tx) quotaUsed(name string) int {
	return map[string]int{
		quotaLoadBalancers: len(t.LoadBalancers), quotaAddresses: len(t.Addresses), quotaInstances: len(t.Instances),
		quotaRoutes: len(t.Routes),
	}[name]
}

// withinQuota rejects more objects than the quota allows.
func (t *tx) withinQuota(name string, count int) error {
	limit, used := t.rules.quotas[name], t.quotaUsed(name)
	if used+count > limit {
		return refuse(api.CodeQuotaExceeded, "quota %s is %d, and %d are used", name, limit, used)
	}
	return nil
}

func (t *tx) quotas() []api.Quota {
	out := make([]api.Quota, 0, len(t.rules.quotas))
	for _, name := range sortedKeys(t.rules.quotas) {
		out = append(out, api.Quota{Name: name, Limit: t.rules.quotas[name], Used: t.quotaUsed(name)})
	}
	return out
}
