// Package tags computes the tags of objects in Octavia.
package tags

import (
	"slices"
	"strings"

	"github.com/unified-ccm/unified-ccm/pkg/common/plan"
	"github.com/unified-ccm/unified-ccm/providers/openstack/names"
)

// Merge returns the desired tags of an object: the wanted ones, and existing ones of other clients, without those that
// the Service requested before and no longer does. extra are the tags that the Service requests now.
func Merge(have, want, extra []string) []string {
	previous := strings.Split(names.Value(have, names.ExtraTagPrefix), ",")
	merged := []string{}
	for _, tag := range have {
		switch {
		case tag == "", strings.HasPrefix(tag, names.ExtraTagPrefix):
		case slices.Contains(previous, tag) && !slices.Contains(want, tag):
		case slices.Contains(merged, tag):
		default:
			merged = append(merged, tag)
		}
	}
	for _, tag := range want {
		if !slices.Contains(merged, tag) {
			merged = append(merged, tag)
		}
	}
	if mark := names.ExtraTagPrefix + strings.Join(slices.Sorted(slices.Values(extra)), ","); len(extra) > 0 &&
		len(mark) <= names.MaxTag {
		merged = append(merged, mark)
	}
	return merged
}

// Add returns tags with those of added that are missing.
func Add(tags, added []string) []string {
	for _, tag := range added {
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	return tags
}

// Diff adds a field if the tags of an object differ from the desired ones.
func Diff(f *plan.Fields, have, want []string) bool {
	return f.Diff("tags", Show(have), Show(want))
}

// Show formats tags for a plan. The empty tag, which another manager leaves, is omitted.
func Show(tags []string) string {
	return plan.ShowSet(slices.DeleteFunc(slices.Clone(tags), func(tag string) bool { return tag == "" }))
}

// WithoutRecord returns the tags without the applied record.
func WithoutRecord(tags []string) []string {
	return slices.DeleteFunc(slices.Clone(tags), func(tag string) bool {
		return strings.HasPrefix(tag, names.AppliedTagPrefix)
	})
}
