package sim

import (
	"maps"
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/query"
)

func v2TagOperations() []operation {
	return []operation{
		read("DescribeTags", (*tx).describeV2Tags),
		write("AddTags", (*tx).addV2Tags),
		write("RemoveTags", (*tx).removeV2Tags),
	}
}

type v2TagsInput struct {
	ResourceArns []string
	Tags         []elbTag
	TagKeys      []string
}

// v2Resources refuses ARNs under which nothing exists.
func (t *tx) v2Resources(arns []string) error {
	if len(arns) == 0 {
		return validation("1 validation error detected: Value null at 'resourceArns' failed to satisfy constraint: Member " +
			"must not be null")
	}
	if len(arns) > maxDescribeV2 {
		return validation("No more than %d resources can be named at once", maxDescribeV2)
	}
	for _, arn := range arns {
		var err error
		switch {
		case strings.Contains(arn, ":loadbalancer/"):
			_, err = t.balancerOf(arn)
		case strings.Contains(arn, ":targetgroup/"):
			_, err = t.targetGroupOf(arn)
		default:
			_, err = t.listenerOf(arn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) addV2Tags(in v2TagsInput) (nothing, error) {
	if err := t.v2Resources(in.ResourceArns); err != nil {
		return nothing{}, err
	}
	return nothing{}, t.addELBTags(in.ResourceArns, in.Tags)
}

// addELBTags adds tags to all objects or none.
func (t *tx) addELBTags(ids []string, tags []elbTag) error {
	checked, err := checkELBTags(tags)
	if err != nil {
		return err
	}
	for _, id := range ids {
		after := maps.Clone(checked)
		maps.Copy(after, t.tags[id])
		if len(after) > maxTags {
			return refuse("TooManyTags", "The maximum number of tags has been reached on '%s'", id)
		}
	}
	for _, id := range ids {
		t.setTags(id, checked)
	}
	return nil
}

func (t *tx) removeV2Tags(in v2TagsInput) (nothing, error) {
	if err := t.v2Resources(in.ResourceArns); err != nil {
		return nothing{}, err
	}
	for _, arn := range in.ResourceArns {
		for _, key := range in.TagKeys {
			delete(t.tags[arn], key)
		}
	}
	return nothing{}, nil
}

type elbTagsView struct {
	ARN  string                `xml:"ResourceArn,omitempty"`
	Name string                `xml:"LoadBalancerName,omitempty"`
	Tags query.Members[elbTag] `xml:"Tags"`
}

type elbTagsOutput struct {
	Descriptions query.Members[elbTagsView] `xml:"TagDescriptions"`
}

func (t *tx) describeV2Tags(in v2TagsInput) (out elbTagsOutput, err error) {
	if err := t.v2Resources(in.ResourceArns); err != nil {
		return out, err
	}
	for _, arn := range in.ResourceArns {
		out.Descriptions.Member = append(out.Descriptions.Member, elbTagsView{ARN: arn, Tags: t.elbTags(arn)})
	}
	return out, nil
}

func (t *tx) elbTags(id string) query.Members[elbTag] {
	var out []elbTag
	for _, k := range sortedIDs(t.tags[id]) {
		out = append(out, elbTag{k, t.tags[id][k]})
	}
	return query.MembersOf(out)
}
