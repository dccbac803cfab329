package vpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/unified-ccm/unified-ccm/pkg/common/clocks"
	"github.com/unified-ccm/unified-ccm/pkg/common/cloudapi"
	"github.com/unified-ccm/unified-ccm/providers/aws/api"
	"github.com/unified-ccm/unified-ccm/providers/aws/awserr"
)

const (
	codeNoSuchGroup = "InvalidGroup.NotFound"
	codeNoSuchRule  = "InvalidPermission.NotFound"

	// A group that has just been created may be unknown to the next call for some seconds. After that the whole
	// Service is retried, so that no worker is blocked.
	settleTries = 4
	settlePause = time.Second

	// Backoff until a group is no longer in use: the network interfaces of a deleted load balancer use it for
	// seconds to some minutes, so the backoff grows with the elapsed time.
	minReleasePause = 2 * time.Second
	maxReleasePause = 15 * time.Second
)

// authorize adds rules to a group in one call. Existing rules count as added.
func (s *GroupStore) authorize(ctx context.Context, groupID string, rules []Rule) error {
	err := s.authorizeOnce(ctx, groupID, rules)
	for try := 1; awserr.Is(err, codeNoSuchGroup) && s.groups.Settling(groupID) && try < settleTries; try++ {
		if err := clocks.Sleep(ctx, s.options.Clock, settlePause); err != nil {
			return err
		}
		err = s.authorizeOnce(ctx, groupID, rules)
	}
	if cloudapi.Is(err, cloudapi.AlreadyExists) {
		// One of them exists, so EC2 has added none: an earlier reply was lost, or another client was faster.
		group, readErr := s.read(ctx, groupID)
		if readErr != nil {
			return fmt.Errorf("%w; reading the group failed: %w", err, readErr)
		}
		missing := difference(rules, group.Rules)
		if len(missing) == 0 {
			return nil
		}
		err = s.authorizeOnce(ctx, groupID, missing)
	}
	return err
}

func (s *GroupStore) authorizeOnce(ctx context.Context, groupID string, rules []Rule) error {
	_, err := s.options.API.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &groupID,
		IpPermissions: permissions(rules)})
	if err != nil {
		s.markUncertain()
		return adviseFullGroup(awserr.Wrap("AuthorizeSecurityGroupIngress", err), groupID)
	}
	s.groups.Update(groupID, func(g *Group) {
		g.Rules = slices.Clone(g.Rules)
		for _, r := range rules {
			r.GroupID = groupID
			g.Rules = append(g.Rules, r)
		}
	})
	return nil
}

// adviseFullGroup adds the fix to an error about a group without room for more rules.
func adviseFullGroup(err error, groupID string) error {
	if !cloudapi.Is(err, cloudapi.Quota) {
		return err
	}
	return fmt.Errorf("security group %s has no room for more rules; raise the quota \"Inbound or outbound rules per "+
		"security group\", or set NLBSecurityGroupMode=Managed, with which a network load balancer needs one rule: %w",
		groupID, err)
}

// revoke removes rules of a group in one call. Missing rules count as removed.
func (s *GroupStore) revoke(ctx context.Context, groupID string, rules []Rule) error {
	if len(rules) == 0 {
		return nil
	}
	err := s.revokeOnce(ctx, groupID, rules)
	if awserr.Is(err, codeNoSuchRule) {
		group, readErr := s.read(ctx, groupID)
		if readErr != nil {
			return fmt.Errorf("%w; reading the group failed: %w", err, readErr)
		}
		remaining := intersection(rules, group.Rules)
		if len(remaining) == 0 {
			return nil
		}
		err = s.revokeOnce(ctx, groupID, remaining)
	}
	if awserr.Is(err, codeNoSuchGroup) {
		s.forget(groupID)
		return nil
	}
	return err
}

func (s *GroupStore) revokeOnce(ctx context.Context, groupID string, rules []Rule) error {
	// Descriptions are omitted: EC2 finds a rule by its ports and source.
	undescribed := slices.Clone(rules)
	for i := range undescribed {
		undescribed[i].Description = ""
	}
	_, err := s.options.API.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{GroupId: &groupID,
		IpPermissions: permissions(undescribed)})
	if err != nil {
		s.markUncertain()
		return awserr.Wrap("RevokeSecurityGroupIngress", err)
	}
	s.groups.Update(groupID, func(g *Group) { g.Rules = difference(g.Rules, rules) })
	return nil
}

// read reads one group from EC2. A missing one is an error of class NotFound.
func (s *GroupStore) read(ctx context.Context, id string) (Group, error) {
	r := s.state.Begin()
	found, err := s.describe(ctx, api.Filter("group-id", id))
	if err != nil {
		return Group{}, err
	}
	if len(found) == 0 {
		s.markUncertain()
		return Group{}, &cloudapi.Error{Class: cloudapi.NotFound, Operation: "DescribeSecurityGroups",
			Err: fmt.Errorf("there is no security group %s", id)}
	}
	s.groups.Merge(r, id, found[0])
	return found[0], nil
}

func (s *GroupStore) tag(ctx context.Context, id string, tags map[string]string) error {
	_, err := s.options.API.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: api.EC2Tags(tags)})
	if err != nil {
		s.markUncertain()
		return awserr.Wrap("CreateTags", err)
	}
	s.groups.Update(id, func(g *Group) {
		merged := maps.Clone(g.Tags)
		if merged == nil {
			merged = map[string]string{}
		}
		maps.Copy(merged, tags)
		g.Tags = merged
	})
	return nil
}

func (s *GroupStore) untag(ctx context.Context, id string, keys []string) error {
	list := api.Convert(keys, func(key string) ec2types.Tag { return ec2types.Tag{Key: &key} })
	_, err := s.options.API.DeleteTags(ctx, &ec2.DeleteTagsInput{Resources: []string{id}, Tags: list})
	if err != nil {
		s.markUncertain()
		return awserr.Wrap("DeleteTags", err)
	}
	s.groups.Update(id, func(g *Group) {
		g.Tags = maps.Clone(g.Tags)
		for _, key := range keys {
			delete(g.Tags, key)
		}
	})
	return nil
}
