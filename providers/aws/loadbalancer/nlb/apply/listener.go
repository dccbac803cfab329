package apply

import (
	"context"
	"errors"
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
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
)

// codeDuplicateListener is the error for a port that has another listener.
const codeDuplicateListener = "DuplicateListener"

// codesOfTLS are the errors about TLS settings that no listener can have.
var codesOfTLS = []string{"CertificateNotFound", "UnsupportedCertificate", "SSLPolicyNotFound"}

// CreateListener creates a listener that forwards to a target group, and returns its ARN. Load balancer and target
// group are ARNs. If AWS refuses the listener, the port gets the one before, if that was deleted for it.
func (w Writer) CreateListener(ctx context.Context, balancer, group string, want model.DesiredListener,
	tags map[string]string) (string, error) {
	arn, err := w.addListener(ctx, toCreate(balancer, group, want, tags), tags)
	return arn, w.finishListener(ctx, balancer, want, err)
}

// ReplaceListener gives a listener another protocol, in place if AWS does that. Otherwise it deletes it and creates
// another one on its port, as CreateListener does. It is one step, because a plan ends between steps if another change
// fails or the process ends: the port would stay closed, and nobody would know what was there. It fails before it
// closes a port whose next listener AWS refused before.
func (w Writer) ReplaceListener(ctx context.Context, balancer, group string, before model.Listener,
	want model.DesiredListener, tags map[string]string) (arn string, err error) {
	unfinished := w.store.Unfinished()
	if !before.Removed { // else the port is closed
		if err := unfinished.Of(string(w.Key.UID), want.Place(), want.Text()); err != nil {
			return "", err
		}
		err = w.UpdateListener(ctx, balancer, before, want, group, "")
		if err == nil { // also if AWS refuses its tags: the port stays open
			return before.ARN, w.retag(ctx, before, tags)
		}
		if !isImpossible(err) {
			return "", err
		}
		unfinished.Remove(string(w.Key.UID), want.Place(), before)
		if err := w.DeleteListener(ctx, balancer, before.ARN); err != nil {
			return "", err
		}
	}
	err = refusal.Insist(ctx, w.clock, func(ctx context.Context) error {
		arn, err = w.addListener(ctx, toCreate(balancer, group, want, tags), tags)
		if awserr.Is(err, codeDuplicateListener) { // AWS still has the listener that it has deleted
			err = &cloudapi.Error{Class: cloudapi.Unavailable, Operation: "CreateListener", Err: err}
		}
		return err
	})
	return arn, w.finishListener(ctx, balancer, want, err)
}

// retag gives a listener the tags of a new one, if its tags are known.
func (w Writer) retag(ctx context.Context, before model.Listener, all map[string]string) error {
	if before.Tags == nil {
		return nil
	}
	set, remove := tags.Diff(before.Tags, all)
	return w.SetTags(ctx, []string{before.ARN}, set, remove)
}

// isImpossible reports whether AWS may have refused a change only because it is one in place, as with listeners of
// dual-stack load balancers, and those that were deleted meanwhile. It would refuse the creation with the other errors.
func isImpossible(err error) bool {
	return awserr.IsRefusal(err) && !cloudapi.Is(err, cloudapi.Denied, cloudapi.Quota) && !awserr.Is(err, codesOfTLS...)
}

func toCreate(balancer, group string, want model.DesiredListener, tags map[string]string) *elbv2.CreateListenerInput {
	return &elbv2.CreateListenerInput{
		LoadBalancerArn: &balancer, Port: aws.Int32(want.Port), Protocol: types.ProtocolEnum(want.Protocol),
		SslPolicy:    optional(want.Policy),
		Certificates: defaultCertificate(want.Certificates), DefaultActions: forwardTo(group), Tags: toTags(tags),
	}
}

// finishListener records whether a listener was created, and returns the error.
func (w Writer) finishListener(ctx context.Context, balancer string, want model.DesiredListener, err error) error {
	unfinished, name := w.store.Unfinished(), string(w.Key.UID)
	if err == nil {
		unfinished.Made(name, want.Place())
		return nil
	}
	before := unfinished.Removed(name, want.Place())
	if len(before) == 0 || !awserr.IsRefusal(err) {
		return err
	}
	err = unfinished.Add(name, map[string]string{want.Place(): want.Text()}, err)
	return w.restoreListener(ctx, balancer, before[0], err)
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

// restoreListener creates a deleted listener again, as it was, because AWS refused the next one. It returns the error
// of the refusal.
func (w Writer) restoreListener(ctx context.Context, balancer string, before model.Listener, refused error) error {
	in := &elbv2.CreateListenerInput{
		LoadBalancerArn: &balancer, Port: aws.Int32(before.Port), Protocol: types.ProtocolEnum(before.Protocol),
		SslPolicy:    optional(before.Policy),
		Certificates: defaultCertificate(before.Certificates), DefaultActions: forwardAgain(before.Forwards),
		Tags: toTags(before.Tags),
	}
	var arn string
	return refusal.Restore(ctx, w.clock, "listener", refused, func(ctx context.Context) (err error) {
		if arn == "" {
			arn, err = w.addListener(ctx, in, before.Tags)
		}
		if err != nil {
			return err
		}
		w.store.Unfinished().Restored(string(w.Key.UID), model.DesiredListener{Port: before.Port}.Place())
		return w.completeListener(ctx, balancer, arn, before)
	})
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
