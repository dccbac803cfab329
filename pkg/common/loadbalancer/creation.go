package loadbalancer

import (
	"cmp"
	"fmt"
	"slices"

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

// isBeingCreated reports whether a load balancer without objects is still to be created. Between a Service's creation
// and the end of its first sync, the framework already calls UpdateLoadBalancer when nodes change, and turns its error
// into a Warning. Otherwise the load balancer was created before, and has been deleted.
func (c *Controller) isBeingCreated(key Key, service *v1.Service) bool {
	return c.states.of(key.UID).valid == nil && len(service.Status.LoadBalancer.Ingress) == 0
}

// createsLoadBalancer reports whether the plan creates or replaces the load balancer; the record is then part
// of the creation.
func createsLoadBalancer(p plan.Plan) bool {
	return slices.ContainsFunc(p.Changes, func(c plan.Change) bool {
		return c.Kind == KindLoadBalancer && c.Action == plan.Create
	})
}

// finishDiff completes the plan that a cloud returned.
func finishDiff(t target, p plan.Plan) (plan.Plan, error) {
	p.Subject = cmp.Or(p.Subject, t.key.Subject())
	p.Warnings = intent.Limit(p.Warnings)
	return refuseCreation(t.in, p)
}
