package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/model"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/nlb/observe"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/refusal"
)

// CreateListener creates a listener that forwards to a target group, and returns its ARN. Load balancer and target
// group are ARNs.
func (w Writer) CreateListener(ctx context.Context, balancer, group string, want model.DesiredListener,
	tags map[string]string) (string, error) {
	arn, err := w.addListener(ctx, &elbv2.CreateListenerInput{
		LoadBalancerArn: &balancer, Port: aws.Int32(want.Port), Protocol: types.ProtocolEnum(want.Protocol),
		SslPolicy:    optional(want.Policy),
		Certificates: defaultCertificate(want.Certificates), DefaultActions: forwardTo(group), Tags: toTags(tags),
	}, tags)
	if err == nil {
		w.store.Refusals().Forget(string(w.Key.UID), want.Place())
	}
	return arn, err
}

// Refused returns the error with which AWS refused a listener before, nil if it did not or if it is time to try again.
func (w Writer) Refused(want model.DesiredListener) error {
	return w.store.Refusals().Of(string(w.Key.UID), want.Place(), []string{want.Text()})
}

// addListener creates a listener with tags, and returns its ARN.
func (w Writer) addListener(ctx context.Context, in *elbv2.CreateListenerInput,
	tags map[string]string) (string, error) {
	out, err := w.api.CreateListener(ctx, in)
	created, err := singleItem("CreateListener", err, func() []types.Listener { return out.Listeners })
	if err != nil {
		w.store.MarkUncertain(w.Key)
		if cloudapi.Is(err, cloudapi.AlreadyExists) {
			// The next reconcile observes it.
			err = &cloudapi.Error{Class: cloudapi.Conflict, Operation: "CreateListener", Err: err}
		}
		return "", err
	}
	l := observe.ToListener(created)
	l.CertificatesRead = true
	if l.Protocol == model.ProtocolTCP {
		l.Attributes = model.NewListenerAttributes()
	}
	w.store.AddListener(aws.ToString(in.LoadBalancerArn), l, maps.Clone(tags))
	return l.ARN, nil
}

// RestoreListener records that AWS refused a listener, and creates the deleted one before again, as it was: see
// refusal.Memory. It returns the error of the refusal.
func (w Writer) RestoreListener(ctx context.Context, balancer string, before model.Listener, want model.DesiredListener,
	refused error) error {
	in := &elbv2.CreateListenerInput{
		LoadBalancerArn: &balancer, Port: aws.Int32(before.Port), Protocol: types.ProtocolEnum(before.Protocol),
		SslPolicy:    optional(before.Policy),
		Certificates: defaultCertificate(before.Certificates), DefaultActions: forwardAgain(before.Forwards),
		Tags: toTags(before.Tags),
	}
	var arn string
	what := refusal.Refused{Name: string(w.Key.UID), Kind: want.Place(), Want: []string{want.Text()}, Removed: "listener"}
	refused = w.store.Refusals().Restore(ctx, w.clock, what, refused, func(ctx context.Context) (err error) {
		arn, err = w.addListener(ctx, in, before.Tags)
		return err
	})
	if arn == "" {
		return refused
	}
	if err := w.completeListener(ctx, balancer, arn, before); err != nil {
		return fmt.Errorf("%w; restoring the listener before failed: %w", refused, err)
	}
	return refused
}

// completeListener gives a new listener the further certificates and the attributes of one before.
func (w Writer) completeListener(ctx context.Context, balancer, arn string, before model.Listener) error {
	var errs []error
	for _, certificate := range before.Certificates[min(1, len(before.Certificates)):] {
		errs = append(errs, w.AddCertificate(ctx, balancer, arn, certificate))
	}
	attributes := maps.Clone(before.Attributes)
	maps.DeleteFunc(attributes, func(key, value string) bool { return model.NewListenerAttributes()[key] == value })
	if len(attributes) > 0 {
		errs = append(errs, w.SetListenerAttributes(ctx, balancer, arn, attributes))
	}
	return errors.Join(errs...)
}

// UpdateListener changes a listener of a load balancer in place, and lets it forward to a target group. Draining is the
// ARN of another target group that stays attached with weight 0 while its connections drain, or "".
func (w Writer) UpdateListener(ctx context.Context, balancer string, have model.Listener, want model.DesiredListener,
	group, draining string) error {
	in := &elbv2.ModifyListenerInput{ListenerArn: aws.String(have.ARN)}
	switch {
	case want.KeepGroup: // also several, with their weights
	case draining != "":
		in.DefaultActions = forwardToBoth(draining, 0, group, 1)
	default:
		in.DefaultActions = forwardTo(group)
	}
	if have.Protocol != want.Protocol {
		in.Protocol = types.ProtocolEnum(want.Protocol)
	}
	if want.Protocol == model.ProtocolTLS {
		in.Certificates, in.SslPolicy = defaultCertificate(want.Certificates), optional(want.Policy)
	}
	return w.modifyListener(ctx, balancer, have, in)
}

// AttachGroup lets a listener that forwards to the target group old forward to another one as well, with weight 0:
// only then does AWS probe its targets. It returns false without an error if AWS does not attach these two together,
// or if the load balancer or the listener has no room for another one: the quotas count groups that only drain, too.
func (w Writer) AttachGroup(
	ctx context.Context, balancer string, have model.Listener, old, group string,
) (bool, error) {
	err := w.modifyListener(ctx, balancer, have, &elbv2.ModifyListenerInput{ListenerArn: aws.String(have.ARN),
		DefaultActions: forwardToBoth(old, 1, group, 0)})
	if cloudapi.Is(err, cloudapi.Invalid) || cloudapi.Is(err, cloudapi.Quota) {
		return false, nil
	}
	return err == nil, err
}

func (w Writer) modifyListener(ctx context.Context, balancer string, have model.Listener,
	in *elbv2.ModifyListenerInput) error {
	out, err := w.api.ModifyListener(ctx, in)
	modified, err := singleItem("ModifyListener", err, func() []types.Listener { return out.Listeners })
	return w.finish(err, func() {
		l := observe.ToListener(modified)
		l.CertificatesRead, l.Attributes = have.CertificatesRead, have.Attributes
		if l.Protocol == have.Protocol {
			l.Certificates = append(l.Certificates, have.Certificates[min(1, len(have.Certificates)):]...)
		} else {
			l.CertificatesRead, l.Attributes = true, nil
			if l.Protocol == model.ProtocolTCP {
				l.Attributes = model.NewListenerAttributes()
			}
		}
		w.store.PutListener(balancer, l)
	})
}

// SetListenerAttributes sets attributes of a listener of a load balancer.
func (w Writer) SetListenerAttributes(ctx context.Context, balancer, arn string, set map[string]string) error {
	_, err := w.api.ModifyListenerAttributes(ctx, &elbv2.ModifyListenerAttributesInput{
		ListenerArn: &arn, Attributes: api.KeyValues(set, func(key, value *string) types.ListenerAttribute {
			return types.ListenerAttribute{Key: key, Value: value}
		}),
	})
	return w.finish(awserr.Wrap("ModifyListenerAttributes", err),
		func() { w.store.UpdateListenerAttributes(balancer, arn, set) })
}

// AddCertificate adds a certificate to the additional ones of a listener of a load balancer. AWS accepts one at a time.
func (w Writer) AddCertificate(ctx context.Context, balancer, listener, certificate string) error {
	_, err := w.api.AddListenerCertificates(ctx, &elbv2.AddListenerCertificatesInput{ListenerArn: &listener,
		Certificates: certificates(certificate)})
	return w.finish(awserr.Wrap("AddListenerCertificates", err), func() {
		w.store.UpdateListener(balancer, listener, func(l *model.Listener) {
			l.Certificates = append(slices.Clone(l.Certificates), certificate)
		})
	})
}

// RemoveCertificate removes a certificate from the additional ones of a listener of a load balancer.
func (w Writer) RemoveCertificate(ctx context.Context, balancer, listener, certificate string) error {
	_, err := w.api.RemoveListenerCertificates(ctx, &elbv2.RemoveListenerCertificatesInput{ListenerArn: &listener,
		Certificates: certificates(certificate)})
	return w.finish(awserr.Wrap("RemoveListenerCertificates", err), func() {
		w.store.UpdateListener(balancer, listener, func(l *model.Listener) {
			l.Certificates = slices.DeleteFunc(slices.Clone(l.Certificates),
				func(c string) bool { return c == certificate })
		})
	})
}

// DeleteListener deletes a listener of a load balancer. A missing one counts as deleted.
func (w Writer) DeleteListener(ctx context.Context, balancer, arn string) error {
	_, err := w.api.DeleteListener(ctx, &elbv2.DeleteListenerInput{ListenerArn: &arn})
	return w.finish(cloudapi.IgnoreNotFound(awserr.Wrap("DeleteListener", err)),
		func() { w.store.DeleteListener(balancer, arn) })
}

// detachGroup removes a target group without connections from the listeners of a load balancer that still name it.
func (w Writer) detachGroup(ctx context.Context, balancer, group string) error {
	for _, l := range w.store.ListenersWith(balancer, group) {
		remaining := slices.DeleteFunc(slices.Clone(l.Forwards), func(f model.Forward) bool { return f.Group == group })
		if len(remaining) != 1 {
			continue
		}
		if err := w.modifyListener(ctx, balancer, l, &elbv2.ModifyListenerInput{ListenerArn: aws.String(l.ARN),
			DefaultActions: forwardTo(remaining[0].Group)}); err != nil {
			return err
		}
	}
	return nil
}

func forwardTo(arn string) []types.Action {
	return []types.Action{{Type: types.ActionTypeEnumForward, TargetGroupArn: aws.String(arn)}}
}

func forwardToBoth(old string, oldWeight int32, group string, weight int32) []types.Action {
	return []types.Action{{Type: types.ActionTypeEnumForward,
		ForwardConfig: &types.ForwardActionConfig{TargetGroups: []types.TargetGroupTuple{
			{TargetGroupArn: aws.String(old), Weight: aws.Int32(oldWeight)},
			{TargetGroupArn: aws.String(group), Weight: aws.Int32(weight)},
		}}}}
}

// forwardAgain forwards as a listener did.
func forwardAgain(forwards []model.Forward) []types.Action {
	if len(forwards) == 1 {
		return forwardTo(forwards[0].Group)
	}
	return []types.Action{{Type: types.ActionTypeEnumForward, ForwardConfig: &types.ForwardActionConfig{
		TargetGroups: api.Convert(forwards, func(f model.Forward) types.TargetGroupTuple {
			return types.TargetGroupTuple{TargetGroupArn: aws.String(f.Group), Weight: aws.Int32(f.Weight)}
		}),
	}}}
}

func defaultCertificate(arns []string) []types.Certificate {
	if len(arns) == 0 {
		return nil
	}
	return certificates(arns[0])
}

func certificates(arn string) []types.Certificate {
	return []types.Certificate{{CertificateArn: aws.String(arn)}}
}
