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
// An observation of a Service's load balancer records its claim: a plan cannot, because Diff is pure, and because a
// load balancer with all of its rules has an empty plan and still needs them. The
// deletion of the load balancer releases the claim, or the removal of its rules, whichever is first. So does an
// observation that finds no load balancer: a claim of one that is deleted would pass rules to it that nothing removes.
//
// A manager that has just started has the claims of the Services that it has reconciled. Missing rules of the
// others are restored when it reconciles them, moments later.
type claims struct {
	mu sync.Mutex
	// rules are by the load balancer's name.
	rules map[string]NodeRules
}

// record replaces the claim of a load balancer, or removes it if there are no rules.
func (c *claims) record(n NodeRules) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(n.Groups) == 0 || len(n.desired()) == 0 {
		delete(c.rules, n.LoadBalancer)
		return
	}
	if c.rules == nil {
		c.rules = map[string]NodeRules{}
	}
	c.rules[n.LoadBalancer] = n
}

// neededByOthers returns, of the rules that a load balancer gives up in a group, those that another one needs, with
// the description of that one.
func (c *claims) neededByOthers(loadBalancer, groupID string, revoked []Rule) []Rule {
	c.mu.Lock()
	defer c.mu.Unlock()
	var needed []Rule
	for _, name := range slices.Sorted(maps.Keys(c.rules)) {
		n := c.rules[name]
		if name == loadBalancer || !slices.Contains(n.Groups, groupID) {
			continue
		}
		needed = append(needed, difference(intersection(n.desired(), revoked), needed)...)
	}
	return needed
}
