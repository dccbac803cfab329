package vpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
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

// create creates a group. If one of that name exists and is not another cluster's, an earlier call created
// it, and its reply was lost.
func (s *GroupStore) create(ctx context.Context, want ManagedGroup) (string, error) {
	out, err := s.options.API.CreateSecurityGroup(ctx, &ec2.CreateSecurityGroupInput{
		GroupName: &want.Name, Description: &want.Description, VpcId: &s.options.VPC,
		TagSpecifications: []ec2types.TagSpecification{{ResourceType: ec2types.ResourceTypeSecurityGroup,
			Tags: api.EC2Tags(want.Tags)}},
	})
	if err = awserr.Wrap("CreateSecurityGroup", err); err == nil {
		id := aws.ToString(out.GroupId)
		s.groups.Create(id, Group{ID: id, Name: want.Name, Description: want.Description, Tags: want.Tags})
		return id, nil
	}
	s.markUncertain()
	if !cloudapi.Is(err, cloudapi.AlreadyExists) {
		return "", err
	}
	if readErr := s.readNamed(ctx, want.Name); readErr != nil {
		return "", fmt.Errorf("%w; reading it failed: %w", err, readErr)
	}
	found := s.groups.Lookup(want.Name)
	switch {
	case len(found) == 0:
		// EC2 does not show it yet
		return "", &cloudapi.Error{Class: cloudapi.Conflict, Operation: "CreateSecurityGroup", Err: err}
	case s.options.Cluster.Foreign(found[0].Tags):
		return "", refuseGroup(found[0])
	}
	return found[0].ID, nil
}

// delete deletes a group. If it is still in use, it searches once for rules that the snapshot lacks.
func (s *GroupStore) delete(ctx context.Context, group Group) error {
	err := s.deleteOnce(ctx, group.ID)
	if !cloudapi.Is(err, cloudapi.Conflict) {
		return err
	}
	referring, readErr := s.describe(ctx, inVPC(s.options.VPC), api.Filter("ip-permission.group-id", group.ID))
	if readErr != nil {
		return readErr
	}
	var foreignRules []string
	for _, other := range referring {
		if other.ID == group.ID {
			continue
		}
		var ownRules []Rule
		for _, r := range other.Rules {
			switch {
			case r.SourceGroup != group.ID:
			case other.AllowsLoadBalancer(r):
				ownRules = append(ownRules, r)
			default:
				foreignRules = append(foreignRules, other.String()+": "+r.String())
			}
		}
		if err := s.revoke(ctx, other.ID, ownRules); err != nil {
			return err
		}
	}
	if len(foreignRules) == 0 && len(referring) > 0 {
		err = s.deleteOnce(ctx, group.ID)
	}
	if cloudapi.Is(err, cloudapi.Conflict) {
		return inUseError(group, foreignRules, s.releasePause(group.ID), err)
	}
	return err
}

// releasePause returns the pause before the next attempt to delete a group that is still in use.
func (s *GroupStore) releasePause(id string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.options.Clock.Now()
	since, ok := s.releasing[id]
	if !ok {
		since = now
		s.releasing[id] = now
	}
	return min(max(now.Sub(since), minReleasePause), maxReleasePause)
}

func (s *GroupStore) deleteOnce(ctx context.Context, id string) error {
	_, err := s.options.API.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: &id})
	err = awserr.Wrap("DeleteSecurityGroup", err)
	switch {
	case err == nil || awserr.Is(err, codeNoSuchGroup):
		s.forget(id)
		return nil
	case !cloudapi.Is(err, cloudapi.Conflict): // EC2 reported that nothing was changed
		s.markUncertain()
	}
	return err
}

func inUseError(group Group, foreignRules []string, pause time.Duration, err error) error {
	slices.Sort(foreignRules)
	reason := "the network interfaces of the load balancer are released a while after it is deleted"
	if len(foreignRules) > 0 {
		reason = "rules of other groups refer to it, remove them: " + strings.Join(foreignRules, "; ")
	}
	return &cloudapi.Error{Class: cloudapi.Conflict, Operation: "DeleteSecurityGroup", RetryAfter: pause,
		Err: fmt.Errorf("security group %s is still in use (%s) and is tried again: %w", group, reason, err)}
}
