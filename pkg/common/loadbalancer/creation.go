package loadbalancer

import (
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// refuseCreation refuses a plan that creates a load balancer for a Service with problems of intent.Service.AtCreation.
// A load balancer that exists, and one that replaces it, keep what they have, with a warning for each problem.
func refuseCreation(in intent.Service, p plan.Plan) (plan.Plan, error) {
	if len(in.AtCreation) == 0 {
		return p, nil
	}
	replaces := slices.ContainsFunc(p.Changes, func(c plan.Change) bool {
		return c.Kind == KindLoadBalancer && c.Action == plan.Delete
	})
	if createsLoadBalancer(p) && !replaces {
		return plan.Plan{Subject: p.Subject}, in.Refuse()
	}
	p.Warnings = slices.Clone(p.Warnings)
	for _, problem := range in.AtCreation {
		p.Warnings = append(p.Warnings, fmt.Sprint(problem))
	}
	return p, nil
}

// creations tracks the load balancers that do not exist yet. Between a Service's creation and the end of its
// first sync, the framework already calls UpdateLoadBalancer when nodes change, and turns its error into a
// Warning.
type creations struct {
	mu       sync.Mutex
	services map[string]*creation
}

// creation is the state of one Service, by lockName.
type creation struct {
	// done is true once an EnsureLoadBalancer has applied everything.
	done bool
	// ensuring counts the calls of EnsureLoadBalancer that run or wait for the lock.
	ensuring int
	// nodes are those of an UpdateLoadBalancer that came after such a call had listed its own.
	nodes   []*v1.Node
	updated bool
}

func (c *creations) change(name string, change func(*creation)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.services == nil {
		c.services = map[string]*creation{}
	}
	if c.services[name] == nil {
		c.services[name] = &creation{}
	}
	change(c.services[name])
}

// enter records a call of EnsureLoadBalancer, before it waits for the lock. Leave must be called when it
// returns.
func (c *creations) enter(name string) (leave func()) {
	c.change(name, func(s *creation) { s.ensuring++ })
	return func() { c.change(name, func(s *creation) { s.ensuring-- }) }
}

// takeNodes returns the nodes for an EnsureLoadBalancer that now has the lock: its own, or those of a later update.
func (c *creations) takeNodes(name string, nodes []*v1.Node) []*v1.Node {
	c.change(name, func(s *creation) {
		if s.updated {
			nodes = s.nodes
		}
		s.nodes, s.updated = nil, false
	})
	return nodes
}

// passNodes passes the nodes of an UpdateLoadBalancer without a load balancer on to the EnsureLoadBalancer that creates
// it. It returns false if the load balancer was created before: then it has been deleted. An EnsureLoadBalancer that
// has not been called yet lists the nodes itself.
func (c *creations) passNodes(service *v1.Service, nodes []*v1.Node) (passed bool) {
	if len(service.Status.LoadBalancer.Ingress) > 0 {
		return false
	}
	c.change(service.Namespace+"/"+service.Name, func(s *creation) {
		passed = !s.done
		if passed && s.ensuring > 0 {
			s.nodes, s.updated = nodes, true
		}
	})
	return passed
}

func (c *creations) recordDone(name string) { c.change(name, func(s *creation) { s.done = true }) }

// forget removes a Service after the deletion of its load balancer, unless it is being created again.
func (c *creations) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.services[name]; s != nil && s.ensuring > 0 {
		s.done = false
		return
	}
	delete(c.services, name)
}
