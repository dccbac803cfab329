package vpc

import (
	"maps"
	"slices"
	"sync"
)

// claims records which rules each load balancer needs on nodes. EC2 has one rule of a kind in a group, with
// one description: if two load balancers are probed at the same port, the rule has the name of the first.
// When that one is deleted, the rule has to be written again for the other.
//
// A manager that has just started has the claims of the Services that it has reconciled. Missing rules of the
// others are restored when it reconciles them, moments later.
type claims struct {
	mu sync.Mutex
	// wanted is by the load balancer's name.
	wanted map[string]NodeRules
}

func (c *claims) set(n NodeRules) {
	if n.LoadBalancer == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(n.Groups) == 0 || len(n.Rules) == 0 {
		delete(c.wanted, n.LoadBalancer)
		return
	}
	if c.wanted == nil {
		c.wanted = map[string]NodeRules{}
	}
	c.wanted[n.LoadBalancer] = n
}

// stillNeeded returns, of the rules that a load balancer gives up in a group, those that another one needs, with
// the description of that one.
func (c *claims) stillNeeded(loadBalancer, groupID string, revoked []Rule) []Rule {
	c.mu.Lock()
	defer c.mu.Unlock()
	var stillNeeded []Rule
	for _, name := range slices.Sorted(maps.Keys(c.wanted)) {
		n := c.wanted[name]
		if name == loadBalancer || !slices.Contains(n.Groups, groupID) {
			continue
		}
		stillNeeded = append(stillNeeded, difference(intersection(n.Rules, revoked), stillNeeded)...)
	}
	return stillNeeded
}
