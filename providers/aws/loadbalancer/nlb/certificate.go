package nlb

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
	"github.com/unified-ccm/unified-ccm/providers/aws/names"
)

// certificates plans the additional certificates of a TLS listener. On a listener of an earlier manager,
// users add such certificates by hand: as long as the Service lists one certificate, they stay.
func (d *differ) certificates(ref listenerRef, have model.Listener, want model.WantedListener,
	after []plan.Ref) []plan.Change {
	if want.Protocol != model.ProtocolTLS {
		return nil
	}
	wanted, there := rest(want.Certificates), rest(have.Certificates)
	byHand := len(wanted) == 0 && (!have.CertificatesRead || have.Tags != nil && have.Tags[names.ClusterUIDTag] == "")
	if byHand {
		return nil
	}
	var changes []plan.Change
	// A certificate that becomes the default one may stay in the list, where AWS keeps it as well.
	superfluous := without(there, append(slices.Clone(wanted), want.Certificates[0]))
	if missing := without(wanted, there); len(missing) > 0 {
		changes = append(changes, d.certificateChange(ref, plan.Create, missing, after))
	}
	if len(superfluous) > 0 {
		after = slices.Concat(after, plan.Refs(changes))
		changes = append(changes, d.certificateChange(ref, plan.Delete, superfluous, after))
	}
	return changes
}

func (d *differ) certificateChange(ref listenerRef, action plan.Action, arns []string, after []plan.Ref) plan.Change {
	field := plan.Field{Name: "certificates", After: plan.ShowSet(arns)}
	if action == plan.Delete {
		field.Before, field.After = field.After, ""
	}
	return plan.Change{
		Ref: plan.Ref{Kind: kindCertificate, Name: ref.name, Action: action}, Fields: []plan.Field{field}, After: after,
		Do: func(ctx context.Context, ids *plan.Handles) error {
			arn, err := ref.resolve(ids)
			if err != nil {
				return err
			}
			balancer := ref.balancer(ids, d)
			for _, c := range arns { // AWS accepts one at a time
				if err := d.changeCertificate(ctx, balancer, arn, action, c); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func (d *differ) changeCertificate(ctx context.Context, balancer, listener string, action plan.Action,
	certificate string) error {
	list := []types.Certificate{{CertificateArn: aws.String(certificate)}}
	if action == plan.Delete {
		_, err := d.cloud.options.API.RemoveListenerCertificates(ctx,
			&elbv2.RemoveListenerCertificatesInput{ListenerArn: &listener, Certificates: list})
		return d.wrote(awserr.Wrap("RemoveListenerCertificates", err), func(s *observe.Store) {
			s.UpdateListener(balancer, listener, func(l *model.Listener) {
				l.Certificates = without(l.Certificates,
					[]string{certificate})
			})
		})
	}
	_, err := d.cloud.options.API.AddListenerCertificates(ctx, &elbv2.AddListenerCertificatesInput{ListenerArn: &listener,
		Certificates: list})
	return d.wrote(awserr.Wrap("AddListenerCertificates", err), func(s *observe.Store) {
		s.UpdateListener(balancer, listener, func(l *model.Listener) {
			l.Certificates = append(slices.Clone(l.Certificates),
				certificate)
		})
	})
}

// without returns the items that are not among others.
func without(items, others []string) []string {
	return slices.DeleteFunc(slices.Clone(items), func(s string) bool { return slices.Contains(others, s) })
}
