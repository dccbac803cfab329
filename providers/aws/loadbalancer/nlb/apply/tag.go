package apply

import (
	"context"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

// AddTags sets tags of at most model.MaxTagResources objects, by their ARNs. A failure is not recorded: tags of
// several Services share the call, and the next one sets them again.
func (a *Applier) AddTags(ctx context.Context, arns []string, set map[string]string) error {
	_, err := a.api.AddTags(ctx, &elbv2.AddTagsInput{ResourceArns: arns, Tags: toTags(set)})
	if err = awserr.Wrap("AddTags", err); err == nil {
		a.recordTags(arns, set, nil)
	}
	return err
}

// SetTags sets and removes tags of at most model.MaxTagResources objects, by their ARNs.
func (w Writer) SetTags(ctx context.Context, arns []string, set map[string]string, remove []string) error {
	if len(set) > 0 {
		if err := w.finish(w.AddTags(ctx, arns, set), func() {}); err != nil {
			return err
		}
	}
	if len(remove) == 0 {
		return nil
	}
	_, err := w.api.RemoveTags(ctx, &elbv2.RemoveTagsInput{ResourceArns: arns, TagKeys: remove})
	return w.finish(awserr.Wrap("RemoveTags", err), func() { w.recordTags(arns, nil, remove) })
}

func (a *Applier) recordTags(arns []string, set map[string]string, remove []string) {
	for _, arn := range arns {
		a.store.UpdateTags(arn, set, remove)
	}
}
