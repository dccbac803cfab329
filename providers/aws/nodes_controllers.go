package aws

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"

	"github.com/unified-ccm/unified-ccm/pkg/common/instances"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
)

// controllers are those that the provider brings.
func controllers() []provider.Controller {
	return []provider.Controller{{Name: taggingController, OptIn: true}, {Name: ipamController}}
}

// nodeControllers starts the provider's own controllers.
type nodeControllers struct {
	flags     *flags
	ids       instances.Scheme
	families  []string
	ec2       func(context.Context) (api.EC2, error)
	described func(context.Context) (describer, error)
	clock     clock.PassiveClock
	legacy    *legacyMetrics
}

// start implements provider.ControllerStarter.
func (n *nodeControllers) start(ctx context.Context, name string, lent provider.ControllerContext) (bool, error) {
	var queue *nodeQueue
	var err error
	switch {
	case name == taggingController:
		if err := n.flags.validate(); err != nil {
			return false, err
		}
		t := &tagging{ec2: n.ec2, ids: n.ids, tags: n.flags.tags, clock: n.clock, lent: lent, legacy: n.legacy}
		queue, err = t.queue(n.flags)
	case name == ipamController && lent.AllocateNodeCIDRs && lent.CIDRAllocatorType == cloudAllocator:
		p := &ipam{described: n.described, ids: n.ids, order: n.families, lent: lent}
		queue, err = p.queue()
	default:
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("starting controller %s: %w", name, err)
	}
	go queue.run(ctx)
	return true, nil
}

// StartController implements provider.ControllerStarter. Which cluster it is, is found out when
// there is something to do for the first time.
func (c *Cloud) StartController(ctx context.Context, name string, lent provider.ControllerContext) (bool, error) {
	return c.controllers.start(ctx, name, lent)
}

func (c *Cloud) connectEC2(ctx context.Context) (api.EC2, error) {
	p, err := c.parts.Get(ctx)
	if err != nil {
		return nil, err
	}
	return p.clients.ec2, nil
}

func (c *Cloud) describer(ctx context.Context) (describer, error) {
	p, err := c.parts.Get(ctx)
	if err != nil {
		return nil, err
	}
	return p.instances, nil
}
