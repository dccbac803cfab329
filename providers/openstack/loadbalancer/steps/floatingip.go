package steps

import (
	"context"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/api"
)

// VIPPort returns the port of the address of a load balancer. It is "" for an IPv6 address.
func VIPPort(w Writer, ids *plan.Handles, lb Reference) (string, error) {
	id, err := lb.Resolve(ids)
	if err != nil {
		return "", err
	}
	return w.VIPPort(id)
}

// CreatedAttachment attaches a floating IP that the plan has created, in place of those that are attached.
type CreatedAttachment struct {
	FloatingIP   plan.Handle
	LoadBalancer Reference
	Attached     []api.FloatingIP
}

// Do implements plan.Step.
func (s CreatedAttachment) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	id, err := ids.ID(s.FloatingIP)
	if err != nil {
		return err
	}
	port, err := VIPPort(w, ids, s.LoadBalancer)
	if err != nil || port == "" {
		return err
	}
	_, err = w.AttachFloatingIP(ctx, id, port, s.Attached)
	return err
}

// FloatingIPDeletion deletes a floating IP.
type FloatingIPDeletion api.FloatingIP

// Do implements plan.Step.
func (s FloatingIPDeletion) Do(ctx context.Context, w Writer, _ *plan.Handles) error {
	return w.DeleteFloatingIP(ctx, api.FloatingIP(s))
}
