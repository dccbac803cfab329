package loadbalancer

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// RemoveOrphans implements OrphanRemover.
func (c *Controller) RemoveOrphans(ctx context.Context, clusterName string, service *v1.Service,
	approve ApproveFunc) (plan.Result, error) {
	key := c.key(clusterName, service)
	ctx, release, err := c.enter(ctx, key)
	if err != nil {
		return plan.Result{}, err
	}
	defer release()
	read := func(ctx context.Context) (plan.Plan, error) {
		_, removal, err := c.compareAuthoritative(ctx, c.emptyTarget(key, service))
		if err != nil {
			return plan.Plan{}, err
		}
		return approve(ctx, removal)
	}
	approved, err := read(ctx)
	if err != nil || approved.Empty() {
		return plan.Result{}, err
	}
	approved.Changes = slices.Clone(approved.Changes)
	for i := range approved.Changes {
		approved.Changes[i].Do = confirmFirst(approved.Changes[i], read)
	}
	logger := klog.FromContext(ctx).WithValues("provider", c.options.Provider, "service", klog.KObj(service))
	return c.run(ctx, logger, approved)
}

// confirmFirst returns the function of a change, after a check that a new plan still has that change.
func confirmFirst(change plan.Change, read func(context.Context) (plan.Plan, error)) func(context.Context,
	*plan.Handles) error {
	return func(ctx context.Context, ids *plan.Handles) error {
		current, err := read(ctx)
		if err != nil {
			return err
		}
		if !current.Has(change) {
			return &cloudapi.Error{Class: cloudapi.Conflict, Operation: change.String(),
				Err: errors.New("it has changed since the plan was made; run the audit again")}
		}
		return change.Do(ctx, ids)
	}
}
