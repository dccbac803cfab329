package diff

import (
	"context"
	"slices"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// certificateChanges plans the additional certificates of a TLS listener. On a listener of an earlier manager,
// users add such certificates by hand: as long as the Service lists one certificate, they stay.
func (d *differ) certificateChanges(
	ref reference, have model.Listener, want model.DesiredListener, after []plan.Ref,
) []plan.Change {
	if want.Protocol != model.ProtocolTLS || keepsCertificates(have, want) {
		return nil
	}
	desired, existing := additionalCertificates(want.Certificates), additionalCertificates(have.Certificates)
	var changes []plan.Change
	// A certificate that becomes the default one may stay in the list, where AWS keeps it as well.
	surplus := difference(existing, append(slices.Clone(desired), want.Certificates[0]))
	if missing := difference(desired, existing); len(missing) > 0 {
		field := plan.Field{Name: "certificates", After: plan.ShowSet(missing)}
		changes = append(changes, d.certificateChange(ref, plan.Create, field, missing, after))
	}
	if len(surplus) > 0 {
		field := plan.Field{Name: "certificates", Before: plan.ShowSet(surplus)}
		after = slices.Concat(after, plan.Refs(changes))
		changes = append(changes, d.certificateChange(ref, plan.Delete, field, surplus, after))
	}
	return changes
}

// keepsCertificates reports whether the additional certificates of a TLS listener are those that users added by hand.
// The tag with the cluster's UID marks a listener whose certificates are set by this manager.
func keepsCertificates(have model.Listener, want model.DesiredListener) bool {
	return want.Protocol == model.ProtocolTLS && len(additionalCertificates(want.Certificates)) == 0 &&
		(!have.CertificatesRead || have.Tags != nil && have.Tags[names.ClusterUIDTag] == "")
}

func (d *differ) certificateChange(ref reference, action plan.Action, field plan.Field, arns []string,
	after []plan.Ref) plan.Change {
	return plan.Change{
		Ref: plan.Ref{Kind: kindCertificate, Name: ref.name, Action: action}, Fields: []plan.Field{field}, After: after,
		Step: certificatesUpdate{d.balancer(), ref, action, arns},
	}
}

// certificatesUpdate adds or removes additional certificates of a listener.
type certificatesUpdate struct {
	balancer, listener reference
	action             plan.Action
	certificates       []string
}

// Do implements plan.Step. AWS accepts one certificate at a time.
func (s certificatesUpdate) Do(ctx context.Context, w Writer, ids *plan.Handles) error {
	arns, err := resolveAll(ids, s.balancer, s.listener)
	if err != nil {
		return err
	}
	change := w.AddCertificate
	if s.action == plan.Delete {
		change = w.RemoveCertificate
	}
	for _, certificate := range s.certificates {
		if err := change(ctx, arns[0], arns[1], certificate); err != nil {
			return err
		}
	}
	return nil
}

// additionalCertificates returns all certificates but the default one, which is the first.
func additionalCertificates(arns []string) []string { return arns[min(1, len(arns)):] }
