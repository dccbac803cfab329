package loadbalancer

import (
	"cmp"
	"context"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/unified-ccm/unified-ccm/pkg/common/intent"
	"github.com/unified-ccm/unified-ccm/pkg/common/loadbalancer/internal/instruments"
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
)

// GetLoadBalancerName implements cloudprovider.LoadBalancer. It makes no call.
func (c *Controller) GetLoadBalancerName(_ context.Context, clusterName string, service *v1.Service) string {
	return c.cloud.Name(c.key(clusterName, service))
}

// GetLoadBalancer implements cloudprovider.LoadBalancer. A load balancer "exists" as long as any of its
// objects does, including orphans without a load balancer: on false, the framework removes the Service's
// finalizer, and the orphans would never be deleted.
//
// It takes no lock, because it changes nothing and must not wait for a creation.
func (c *Controller) GetLoadBalancer(ctx context.Context, clusterName string,
	service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
	key := c.key(clusterName, service)
	if c.states.takeMissing(key.UID) {
		return nil, false, c.missingError(key)
	}
	have, removal, err := c.compareRemoval(ctx, key, service)
	if err != nil {
		return nil, false, err
	}
	if removal.Empty() && !WantsLoadBalancer(service) {
		c.leaveStatus(ctx, service)
		c.forget(key) // The framework does not call EnsureLoadBalancerDeleted for what does not exist.
	}
	in, _, _ := intent.Read(service, c.options.Vocabulary)
	exists := !removal.Empty() || !WantsLoadBalancer(service) && c.hasFinalizers(service)
	return c.cloud.Status(in, have).LoadBalancer, exists, nil
}

// EnsureLoadBalancer implements cloudprovider.LoadBalancer: it reconciles the cloud with the Service and the
// nodes, and returns once they match. It makes no mutating call if they already do.
//
// Errors: class cloudapi.Invalid names every problem of the Service; a refusal of the provider names the
// impossible change; other classes come from the cloud. An api.RetryError is in the chain if the cloud
// requested a wait, or if only an address is missing that the cloud will assign.
func (c *Controller) EnsureLoadBalancer(ctx context.Context, clusterName string, service *v1.Service,
	nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
	if !c.handles(service) {
		return nil, cloudprovider.ImplementedElsewhere
	}
	key := c.key(clusterName, service)
	ctx, release, err := c.enter(ctx, key)
	if err != nil {
		return nil, err
	}
	defer release()
	nodes = c.currentNodes(nodes)
	c.states.update(key.UID, func(s *serviceState) { s.compare(service); s.missing, s.ensured = false, service })
	status, err := c.ensure(ctx, key, service, nodes)
	c.setRefusedCondition(ctx, service, err)
	return status, err
}

// ensure applies the desired state of a Service.
func (c *Controller) ensure(ctx context.Context, key Key, service *v1.Service, nodes []*v1.Node) (
	*v1.LoadBalancerStatus, error) {
	t, err := c.target(ctx, key, service, nodes)
	if err != nil {
		return nil, c.followNodesAndFail(ctx, t, service, nodes, err)
	}
	have, p, err := c.compare(ctx, t)
	if err != nil {
		return nil, c.followNodesAndFail(ctx, t, service, nodes, err)
	}
	c.recordPlanWarnings(service, p)
	c.setHeldCondition(ctx, service, p)
	p = c.withRecord(t, have, p)
	if have, err = c.applyPlan(ctx, t, have, p); err != nil {
		return nil, c.followNodesAndFail(ctx, t, service, nodes, err)
	}
	c.states.update(key.UID, func(s *serviceState) { s.valid = &t.in })
	status := c.cloud.Status(t.in, have)
	c.annotate(ctx, service, status.Annotations)
	if status.LoadBalancer == nil || len(status.LoadBalancer.Ingress) == 0 {
		return nil, c.noAddressError(key, status.Failure)
	}
	return status.LoadBalancer, nil
}

// UpdateLoadBalancer implements cloudprovider.LoadBalancer: it applies the changes that only affect which
// nodes receive traffic. If they depend on other changes, or if the load balancer is deleted, it returns an
// error, after which the framework calls Ensure.
func (c *Controller) UpdateLoadBalancer(ctx context.Context, clusterName string, service *v1.Service,
	nodes []*v1.Node) error {
	if !c.handles(service) {
		return cloudprovider.ImplementedElsewhere
	}
	key := c.key(clusterName, service)
	ctx, release, err := c.enter(ctx, key)
	if err != nil {
		return err
	}
	defer release()

	service, nodes = c.latestService(key, service), c.currentNodes(nodes)
	t, err := c.target(ctx, key, service, nodes)
	if err != nil {
		return c.followNodes(ctx, t, service, nodes, err)
	}
	return c.updateMembers(ctx, t, service, nodes)
}

// latestService returns the Service of the last Ensure instead of the one that Update got. When a node and a Service
// change at the same time, the framework may call Ensure with the new Service and then Update with the old
// one: a listener that Ensure has just created would then lack the node, and no retry follows.
func (c *Controller) latestService(key Key, service *v1.Service) *v1.Service {
	return cmp.Or(c.states.of(key.UID).ensured, service)
}

// EnsureLoadBalancerDeleted implements cloudprovider.LoadBalancer. It uses only the identity of the Service,
// so that a Service with invalid annotations can be deleted, and it removes orphans if the load balancer
// itself is already deleted.
func (c *Controller) EnsureLoadBalancerDeleted(ctx context.Context, clusterName string,
	service *v1.Service) error {
	key := c.key(clusterName, service)
	ctx, release, err := c.enter(ctx, key)
	if err != nil {
		return err
	}
	defer release()

	t := c.emptyTarget(key, service)
	_, p, err := c.compareAuthoritative(ctx, t)
	if err != nil {
		return err
	}
	c.recordPlanWarnings(service, p)
	if err := c.remove(ctx, t, service, p); err != nil {
		return err
	}
	if err := c.dropFinalizers(ctx, service, nil); err != nil {
		return err
	}
	c.leaveStatus(ctx, service)
	c.forget(key)
	return nil
}

// forget releases what this process knows about a Service without a load balancer.
func (c *Controller) forget(key Key) {
	c.states.forget(key.UID)
	c.due.remove(lockName(key))
	instruments.Process().SetHeld(c.options.Provider, lockName(key), 0)
	c.sent.Forget(lockName(key), sourceIntent, sourcePlan)
}

// PlanLoadBalancer implements Planner. Warnings about the Service's annotations are part of the plan.
// It bypasses every snapshot and applied record, so that the plan shows drift.
func (c *Controller) PlanLoadBalancer(ctx context.Context, clusterName string, service *v1.Service,
	nodes []*v1.Node, o PlanOptions) (plan.Plan, error) {
	key := c.key(clusterName, service)
	if o.Remove {
		_, p, err := c.compareAuthoritative(ctx, c.emptyTarget(key, service))
		return p, err
	}
	if !c.handles(service) {
		return plan.Plan{Subject: intent.Subject(service),
			Warnings: []string{"another controller reconciles this Service's load balancer: this manager changes nothing"}}, nil
	}
	in, warnings, err := c.read(service)
	if err != nil {
		return plan.Plan{}, err
	}
	t, err := c.desired(ctx, target{
		key: key, service: service, reference: c.cloud.Reference(service), in: in,
	}, nodes)
	if err != nil {
		return plan.Plan{}, err
	}
	if o.Live != nil {
		h, known := c.knownHistory(o.Live)
		if !known {
			h = newHistory(o.Live, c.options.Vocabulary, c.options.Clock.Now())
		}
		t.history = h
	}
	have, p, err := c.compareAuthoritative(ctx, t)
	if err != nil {
		return plan.Plan{}, err
	}
	p = c.withRecords(t, have, p)
	texts := make([]string, 0, len(warnings)+len(p.Warnings))
	for _, w := range warnings {
		texts = append(texts, w.Message)
	}
	p.Warnings = append(texts, p.Warnings...)
	return p, nil
}
