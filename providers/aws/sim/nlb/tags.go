package nlb

import (
	"strings"

	"github.com/unified-ccm/unified-ccm/providers/aws/sim/core"
	"github.com/unified-ccm/unified-ccm/providers/aws/sim/elb"
)

type tagsInput struct {
	ResourceArns []string
	Tags         []elb.Tag
	TagKeys      []string
}

// checkResources refuses ARNs under which nothing exists.
func (t *Tx) checkResources(arns []string) error {
	if len(arns) > elb.MaxDescribeV2 {
		return core.Validation("No more than %d resources can be named at once", elb.MaxDescribeV2)
	}
	for _, arn := range arns {
		var err error
		switch {
		case strings.Contains(arn, ":loadbalancer/"):
			_, err = t.findBalancer(arn)
		case strings.Contains(arn, ":targetgroup/"):
			_, err = t.findTargetGroup(arn)
		default:
			_, err = t.findListener(arn)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *Tx) addTags(in tagsInput) (core.Nothing, error) {
	if err := t.checkResources(in.ResourceArns); err != nil {
		return core.Nothing{}, err
	}
	return core.Nothing{}, t.AddELBTags(in.ResourceArns, in.Tags)
}

func (t *Tx) removeTags(in tagsInput) (core.Nothing, error) {
	if err := t.checkResources(in.ResourceArns); err != nil {
		return core.Nothing{}, err
	}
	for _, arn := range in.ResourceArns {
		for _, key := range in.TagKeys {
			delete(t.Tags[arn], key)
		}
	}
	return core.Nothing{}, nil
}

func (t *Tx) describeTags(in tagsInput) (out elb.TagsOutput, err error) {
	if err := t.checkResources(in.ResourceArns); err != nil {
		return out, err
	}
	for _, arn := range in.ResourceArns {
		out.Descriptions.Member = append(out.Descriptions.Member, elb.TagsView{ARN: arn, Tags: t.ELBTags(arn)})
	}
	return out, nil
}
