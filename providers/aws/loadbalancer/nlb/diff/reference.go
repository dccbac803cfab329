package diff

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// reference is a target group or a listener: an existing one, with its ARN, or one that the plan creates.
type reference struct{ kind, name, arn string }

func (r reference) handle() plan.Handle { return plan.Handle(r.kind + " " + r.name) }

func (r reference) resolve(ids *plan.Handles) (string, error) {
	if r.arn != "" {
		return r.arn, nil
	}
	return ids.ID(r.handle())
}

// withARN returns the function of a change of an object that exists when the change is made.
func withARN(resolve func(*plan.Handles) (string, error), do func(ctx context.Context, arn string) error,
) func(context.Context, *plan.Handles) error {
	return func(ctx context.Context, ids *plan.Handles) error {
		arn, err := resolve(ids)
		if err != nil {
			return err
		}
		return do(ctx, arn)
	}
}

// inBalancer is withARN for an object that the load balancer uses, with the ARN of that as well.
func (d *differ) inBalancer(r reference, do func(ctx context.Context, balancer, arn string) error,
) func(context.Context, *plan.Handles) error {
	return func(ctx context.Context, ids *plan.Handles) error {
		balancer, err := d.balancerARN(ids)
		if err != nil {
			return err
		}
		arn, err := r.resolve(ids)
		if err != nil {
			return err
		}
		return do(ctx, balancer, arn)
	}
}

// replaced reports whether a listener must make room for another on its port. TCP and TLS change into
// each other in place; to and from UDP they don't.
func replaced(have model.Listener, want model.WantedListener) bool {
	stream := func(protocol string) bool { return protocol == model.ProtocolTCP || protocol == model.ProtocolTLS }
	return have.Protocol != want.Protocol && (!stream(have.Protocol) || !stream(want.Protocol))
}
