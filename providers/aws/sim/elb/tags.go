package elb

import (
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

// Tag is a tag as Elastic Load Balancing writes it.
type Tag struct {
	Key   string
	Value string
}

// CheckTags rejects tags that Elastic Load Balancing does not allow.
func CheckTags(tags []Tag) (map[string]string, error) {
	out := map[string]string{}
	for _, tag := range tags {
		if strings.HasPrefix(strings.ToLower(tag.Key), "aws:") {
			return nil, core.Validation("Tag keys cannot start with 'aws:'")
		}
		if core.Has(out, tag.Key) {
			return nil, core.Refuse("DuplicateTagKeys", "Duplicate tag key '%s' specified", tag.Key)
		}
		out[tag.Key] = tag.Value
	}
	if len(out) > core.MaxTags {
		return nil, core.Refuse("TooManyTags", "The maximum number of tags has been reached")
	}
	return out, nil
}

// AddELBTags adds tags to all objects or none.
func (t *Tx) AddELBTags(ids []string, tags []Tag) error {
	checked, err := CheckTags(tags)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !t.FitsTags(id, checked) {
			return core.Refuse("TooManyTags", "The maximum number of tags has been reached on '%s'", id)
		}
	}
	for _, id := range ids {
		t.SetTags(id, checked)
	}
	return nil
}

// TagsView is the tags of one load balancer, listener or target group.
type TagsView struct {
	ARN  string             `xml:"ResourceArn,omitempty"`
	Name string             `xml:"LoadBalancerName,omitempty"`
	Tags query.Members[Tag] `xml:"Tags"`
}

// TagsOutput is the response of DescribeTags.
type TagsOutput struct {
	Descriptions query.Members[TagsView] `xml:"TagDescriptions"`
}

// ELBTags returns the tags of an object, sorted by key.
func (t *Tx) ELBTags(id string) query.Members[Tag] {
	var out []Tag
	for _, k := range core.SortedIDs(t.Tags[id]) {
		out = append(out, Tag{k, t.Tags[id][k]})
	}
	return query.MembersOf(out)
}
