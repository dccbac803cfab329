package diff

import (
	"context"
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/loadbalancer/steps"
)

// Types of package steps that plans are made of.
type (
	// Writer makes the calls of the steps of one Service.
	Writer = steps.Writer
	// LeaveOptions determine what happens to a load balancer that a Service stops using.
	LeaveOptions = steps.LeaveOptions
	reference    = steps.Reference
)

// part is a change of a part of a load balancer.
type part interface {
	// changeIn makes the change in a load balancer, by its ID.
	changeIn(ctx context.Context, w Writer, lb string) error
}

// partStep changes a part of a load balancer that the plan may create.
type partStep struct {
	lb   reference
	part part
}

// Do implements plan.Step.
func (s partStep) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	lb, err := s.lb.Resolve(ids)
	if err != nil {
		return err
	}
	return s.part.changeIn(ctx, w, lb)
}

// doStep makes a step as a part of another one.
func doStep(ctx context.Context, w Writer, ids *plan.Handles, step any) error {
	s, ok := step.(plan.Step[Writer])
	if !ok {
		return fmt.Errorf("%T is not a step of this package", step)
	}
	return s.Do(ctx, w, ids)
}
