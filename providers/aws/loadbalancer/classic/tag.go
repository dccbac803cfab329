package classic

import (
	"context"
	"maps"
	"slices"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
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
		Step:   tagsSetting{set},
	}
}

// tagsSetting sets tags.
type tagsSetting struct{ set map[string]string }

// Do implements plan.Step.
func (s tagsSetting) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	for tags := range slices.Chunk(toTags(s.set), maxAddedTags) {
		_, err := w.api.AddTags(ctx, &elb.AddTagsInput{LoadBalancerNames: []string{w.name}, Tags: tags})
		if err != nil {
			return w.finishTags(awserr.Wrap("AddTags", err), nil)
		}
	}
	return w.finishTags(nil, func(tags map[string]string) { maps.Copy(tags, s.set) })
}

func (d *differ) tagsRemove(keys []string, have map[string]string) plan.Change {
	before := map[string]string{}
	for _, key := range keys {
		before[key] = have[key]
	}
	return plan.Change{
		Ref:    plan.Ref{Kind: kindTags, Name: d.name, Action: plan.Delete},
		Fields: []plan.Field{{Name: "tags", Before: plan.ShowMap(before)}},
		Mark:   true,
		Step:   tagsRemoval{keys},
	}
}

// tagsRemoval removes tags.
type tagsRemoval struct{ keys []string }

// Do implements plan.Step.
func (s tagsRemoval) Do(ctx context.Context, w writer, _ *plan.Handles) error {
	list := api.Convert(s.keys, func(key string) elbtypes.TagKeyOnly { return elbtypes.TagKeyOnly{Key: &key} })
	_, err := w.api.RemoveTags(ctx, &elb.RemoveTagsInput{LoadBalancerNames: []string{w.name}, Tags: list})
	return w.finishTags(awserr.Wrap("RemoveTags", err), func(tags map[string]string) {
		maps.DeleteFunc(tags, func(key, _ string) bool { return slices.Contains(s.keys, key) })
	})
}

// finishTags records a change of the tags in the snapshot.
func (w writer) finishTags(err error, change func(tags map[string]string)) error {
	return w.finish(err, func(s *store) { s.updateTags(w.name, change) })
}
