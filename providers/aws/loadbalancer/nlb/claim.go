package nlb

import (
	lbcommon "github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/vpc"
)

// Claim records the rules on nodes that a load balancer needs, so that the deletion of another one that shares them
// leaves them. It is part of an observation, and want is nil if nothing should exist.
func (c *Cloud) Claim(key lbcommon.Key, want *model.Desired, have model.Observed) {
	c.options.Groups.Claim(c.claim(key, want, have))
}

func (c *Cloud) claim(key lbcommon.Key, want *model.Desired, have model.Observed) vpc.NodeRules {
	none := vpc.NodeRules{LoadBalancer: model.DefaultName(key)}
	if want == nil || want.NoNodeRules {
		return none
	}
	if b := have.Balancer; b != nil && tags.Foreign(b.Tags, c.options.Cluster.ID, key) != "" {
		return none
	}
	d := &differ{cloud: c, key: key, want: *want, have: have}
	if !d.opensByCIDR() || d.reconcileZones() != nil {
		return none
	}
	return d.byCIDR()
}
