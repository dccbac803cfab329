package diff

import (
	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// groupRef is a target group: an existing one, with its ARN, or one that the plan creates.
type groupRef struct{ arn, name string }

func (g groupRef) handle() plan.Handle { return plan.Handle("target group " + g.name) }

func (g groupRef) resolve(ids *plan.Handles) (string, error) {
	if g.arn != "" {
		return g.arn, nil
	}
	return ids.ID(g.handle())
}

// listenerRef is a listener: an existing one, with its ARN, or one that the plan creates.
type listenerRef struct{ arn, name string }

func (l listenerRef) handle() plan.Handle { return plan.Handle("listener " + l.name) }

func (l listenerRef) resolve(ids *plan.Handles) (string, error) {
	if l.arn != "" {
		return l.arn, nil
	}
	return ids.ID(l.handle())
}

// balancer returns the ARN of the load balancer, which exists when a listener does.
func (l listenerRef) balancer(ids *plan.Handles, d *differ) string {
	arn, err := d.balancerARN(ids)
	if err != nil {
		return ""
	}
	return arn
}

// replaced reports whether a listener must make room for another on its port. TCP and TLS change into
// each other in place; to and from UDP they don't.
func replaced(have model.Listener, want model.WantedListener) bool {
	stream := func(protocol string) bool { return protocol == model.ProtocolTCP || protocol == model.ProtocolTLS }
	return have.Protocol != want.Protocol && (!stream(have.Protocol) || !stream(want.Protocol))
}
