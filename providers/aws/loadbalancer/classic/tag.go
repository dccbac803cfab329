package classic

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
	"github.com/unified-ccm/unified-ccm/providers/aws/loadbalancer/tags"
)

const kindTags = "tags"

// maxAddedTags is the number of tags of one call of AddTags, the number for which its API reference allows them.
const maxAddedTags = 10

// diffTags plans the tags. Removals come first: the list of the Service's tags must not lose a tag that still
// exists.
func (d *differ) diffTags(have map[string]string) {
	set, surplus := tags.Diff(have, d.want.Tags)
	var after []plan.Ref
	if len(surplus) > 0 {
		change := d.tagsRemove(surplus, have)
		d.add(change)
		after = []plan.Ref{change.Ref}
	}
	if len(set) > 0 {
		d.add(d.tagsSet(set, after))
	}
}

func (d *differ) tagsSet(set map[string]string, after []plan.Ref) plan.Change {
	return plan.Change{
		Ref:    plan.Ref{Kind: kindTags, Name: d.name, Action: plan.Update},
		Fields: []plan.Field{{Name: "tags", After: plan.ShowMap(set)}},
		Mark:   true,
		After:  after,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			for tags := range slices.Chunk(toTags(set), maxAddedTags) {
				_, err := d.cloud.options.API.AddTags(ctx, &elb.AddTagsInput{LoadBalancerNames: []string{d.name}, Tags: tags})
				if err != nil {
					return d.finishTags(awserr.Wrap("AddTags", err), nil)
				}
			}
			return d.finishTags(nil, func(tags map[string]string) { maps.Copy(tags, set) })
		},
	}
}

func (d *differ) tagsRemove(keys []string, have map[string]string) plan.Change {
	before := map[string]string{}
	list := make([]elbtypes.TagKeyOnly, len(keys))
	for i, key := range keys {
		before[key] = have[key]
		list[i] = elbtypes.TagKeyOnly{Key: aws.String(key)}
	}
	return plan.Change{
		Ref:    plan.Ref{Kind: kindTags, Name: d.name, Action: plan.Delete},
		Fields: []plan.Field{{Name: "tags", Before: plan.ShowMap(before)}},
		Mark:   true,
		Do: func(ctx context.Context, _ *plan.Handles) error {
			_, err := d.cloud.options.API.RemoveTags(ctx, &elb.RemoveTagsInput{LoadBalancerNames: []string{d.name}, Tags: list})
			return d.finishTags(awserr.Wrap("RemoveTags", err), func(tags map[string]string) {
				maps.DeleteFunc(tags, func(key, _ string) bool { return slices.Contains(keys, key) })
			})
		},
	}
}

// finishTags records a change of the tags in the snapshot.
func (d *differ) finishTags(err error, change func(tags map[string]string)) error {
	return d.finish(err, func(s *store) { s.updateTags(d.name, change) })
}
