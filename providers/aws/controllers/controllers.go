// Package controllers has the provider's controllers: tagging, and node IPAM from delegated prefixes.
package controllers

import (
	"context"
	"fmt"

	"github.com/unified-ccm/unified-ccm/pkg/common/nodeipam"
	"github.com/unified-ccm/unified-ccm/pkg/common/provider"
)

// All returns the controllers.
func All() []provider.Controller {
	return []provider.Controller{{Name: taggingController, OptIn: true}, nodeipam.Controller(false)}
}

// StartController implements provider.ControllerStarter. It makes no call to AWS; a controller does when it has
// work.
func (s *Starter) StartController(ctx context.Context, name string, c provider.ControllerContext) (bool, error) {
	base := nodeController{Starter: s, controller: c}
	switch name {
	case taggingController:
		if err := s.Flags.validate(); err != nil {
			return false, err
		}
		queue, err := (&tagging{base}).queue()
		if err != nil {
			return false, fmt.Errorf("starting controller %s: %w", name, err)
		}
		c.Go(func() { queue.Run(ctx) })
		return true, nil
	case nodeipam.Name:
		return nodeipam.Start(ctx, c, &prefixes{base})
	default:
		return false, nil
	}
}
