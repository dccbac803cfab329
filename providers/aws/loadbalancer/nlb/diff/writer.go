package diff

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
)

// Writer makes the calls of the steps of one Service, and records them in the snapshot. Objects are named by their
// ARNs.
type Writer interface {
	// CreateBalancer returns the ARN. The load balancer gets extra tags, and security groups by their IDs.
	CreateBalancer(ctx context.Context, want model.Desired, extra map[string]string, groups []string) (string, error)
	// SetSubnets also adds IPv6 with dualStack, or IPv6 prefixes for UDP with sourceNAT.
	SetSubnets(ctx context.Context, b model.Balancer, zones []model.Zone, dualStack, sourceNAT bool) error
	SetAddressType(ctx context.Context, balancer, addressType string) error
	SetSecurityGroups(ctx context.Context, balancer string, groups []string) error
	SetAttributes(ctx context.Context, balancer string, set map[string]string) error
	DeleteBalancer(ctx context.Context, balancer string) error

	// CreateListener returns the ARN.
	CreateListener(ctx context.Context, balancer, group string, want model.DesiredListener, tags map[string]string) (
		string, error)
	// ReplaceListener is CreateListener on the port of a listener that it deletes, unless AWS changes that one in place.
	ReplaceListener(ctx context.Context, balancer, group string, before model.Listener, want model.DesiredListener,
		tags map[string]string) (string, error)
	// UpdateListener lets the listener forward to group. Draining is another target group that stays attached while its
	// connections drain, or "".
	UpdateListener(ctx context.Context, balancer string, have model.Listener, want model.DesiredListener,
		group, draining string) error
	// AttachGroup lets a listener that forwards to old forward to group as well, with weight 0. It returns false without
	// an error if AWS does not attach both.
	AttachGroup(ctx context.Context, balancer string, have model.Listener, old, group string) (bool, error)
	SetListenerAttributes(ctx context.Context, balancer, listener string, set map[string]string) error
	AddCertificate(ctx context.Context, balancer, listener, certificate string) error
	RemoveCertificate(ctx context.Context, balancer, listener, certificate string) error
	DeleteListener(ctx context.Context, balancer, listener string) error

	// CreateGroup returns the ARN.
	CreateGroup(ctx context.Context, want model.DesiredGroup, vpc string, tags map[string]string) (string, error)
	UpdateHealthCheck(ctx context.Context, have model.TargetGroup, want model.HealthCheck) error
	SetGroupAttributes(ctx context.Context, group string, set map[string]string) error
	SetTargets(ctx context.Context, group string, join, leave []model.Target) error
	// AwaitHealthy returns once a new target group can replace an old one.
	AwaitHealthy(ctx context.Context, fresh, old string) error
	// RetireGroup removes the targets of a group, and deletes it when their connections have drained. Balancer may be "".
	RetireGroup(ctx context.Context, balancer string, have model.TargetGroup) error
	DeleteGroup(ctx context.Context, group string) error

	// SetTags sets and removes tags of at most model.MaxTagResources objects.
	SetTags(ctx context.Context, objects []string, set map[string]string, remove []string) error
	// AddTags is SetTags for the tags of several Services: a failure is not recorded.
	AddTags(ctx context.Context, objects []string, set map[string]string) error
}

// reference is an object of the plan: an existing one, with its ARN, or one that the plan creates.
type reference struct{ kind, name, arn string }

func (r reference) handle() plan.Handle { return plan.Handle(r.kind + " " + r.name) }

// resolve returns the ARN, which is known after the object's creation.
func (r reference) resolve(ids *plan.Handles) (string, error) {
	if r.arn != "" {
		return r.arn, nil
	}
	return ids.ID(r.handle())
}

// resolveAll returns the ARNs of objects.
func resolveAll(ids *plan.Handles, references ...reference) ([]string, error) {
	arns := make([]string, len(references))
	for i, r := range references {
		arn, err := r.resolve(ids)
		if err != nil {
			return nil, err
		}
		arns[i] = arn
	}
	return arns, nil
}

// created stores the ARN of an object that was created.
func (r reference) created(ids *plan.Handles, arn string, err error) error {
	if err == nil {
		ids.Set(r.handle(), arn)
	}
	return err
}
